// SPDX-License-Identifier: Apache-2.0
#include "tools/command/run.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <istream>
#include <memory>
#include <new>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/version.h"
#include "tools/command/arguments.h"
#include "tools/command/gave_up.h"
#include "tools/json/json.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kReserve = std::size_t{1} << 16;

}  // namespace

void report(const Failure& failure, bool json, std::ostream& out, std::ostream& err) {
  if (json) {
    out << dump(error_json(failure.error)) << '\n';
  } else {
    err << render(failure.error, failure.source);
  }
}

bool has_switch(const std::vector<std::string>& args, std::string_view dashed) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::find(args.begin(), end, dashed) != end;
}

bool wants_json(const std::vector<std::string>& args) { return has_switch(args, "--json"); }

ParsedRequest read_request(const Verb& verb, const std::vector<std::string>& args,
                           std::istream& in) {
  ParsedRequest parsed;
  Result<Request> request = parse_arguments(verb, args);
  if (!request) {
    parsed.failure = {request.error(), ""};
    return parsed;
  }
  parsed.request = *std::move(request);
  if (parsed.request.has("help") || parsed.request.has("batch")) return parsed;
  for (const Positional& positional : verb.positionals) {
    const bool given = parsed.request.has(positional.name);
    if (positional.kind != Positional::Kind::kTensor || !given) continue;
    if (is_file_instead(positional, parsed.request.text(positional.name))) continue;
    Result<std::string> text = text_of(parsed.request.text(positional.name), in);
    if (!text) {
      parsed.failure = {text.error(), ""};
      return parsed;
    }
    parsed.texts.emplace_back(positional.name, *std::move(text));
  }
  const std::vector<Failure> failures = read_tensors(verb, parsed.texts, parsed.request);
  if (!failures.empty()) parsed.failure = failures.front();
  return parsed;
}

int exit_status(const Verb& verb, const Result<Verdict>& verdict) {
  if (verdict) return static_cast<int>(*verdict);
  const ErrorCode code = verdict.error().code;
  const bool refused = code == ErrorCode::kNotSupported || code == ErrorCode::kTooLarge;
  const bool is_no = code == ErrorCode::kDoesNotFit || (verb.refusal_is_no && refused);
  return is_no ? static_cast<int>(Verdict::kNo) : kExitBadInput;
}

namespace {

bool wants_mpi(const Verb& verb, const std::vector<std::string>& args) {
  return verb.run_with_mpi != nullptr && has_switch(args, "--mpi") && !has_switch(args, "--help") &&
         !has_switch(args, "-h");
}

int run_verb(const Verb& verb, const std::vector<std::string>& args, std::istream& in,
             std::ostream& out, std::ostream& err, const Terminal& terminal) {
  if (wants_mpi(verb, args)) return verb.run_with_mpi(verb, args, out, err, terminal);
  const bool json = wants_json(args);
  std::int64_t left = 0;
  ParsedRequest parsed;
  {
    const Work reading(kQuestionSteps);
    parsed = read_request(verb, args, in);
    left = kQuestionSteps - reading.used();
  }
  if (parsed.failure) {
    report(*parsed.failure, json, out, err);
    return kExitBadInput;
  }
  if (parsed.request.has("help")) {
    out << verb_help(verb, terminal);
    return 0;
  }
  if (parsed.request.has("batch")) {
    run_batch(verb, in, out);
    return 0;
  }
  Console console{in, out, err, json, terminal};
  const bool moves_files = !parsed.request.text("in").empty();
  const Work work(verb.is_question && !moves_files ? left : INT64_MAX);
  const Result<Verdict> verdict = verb.run(parsed.request, console);
  if (!verdict) report({verdict.error(), ""}, json, out, err);
  return exit_status(verb, verdict);
}

/// Also when not even the report gets memory.
void report_exception(const std::exception& exception, bool json, std::ostream& out,
                      std::ostream& err) {
  try {
    report({gave_up(exception, "ask for less at once"), ""}, json, out, err);
  } catch (const std::exception&) {
    if (json) {
      out << R"({"error":{"code":"out_of_memory","message":"out of memory","span":null,"help":""}})"
          << '\n';
    } else {
      err << "error[out_of_memory]: out of memory\n";
    }
  }
}

int run_arguments(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                  std::ostream& err, const Terminal& terminal) {
  if (args.empty()) {
    err << general_help(terminal);
    return kExitBadInput;
  }
  if (args[0] == "--help" || args[0] == "-h") {
    out << general_help(terminal);
    return 0;
  }
  if (args[0] == "--version" || args[0] == "-V") {
    out << "tessera " << kVersion << '\n';
    return 0;
  }
  const Result<const Verb*> verb = find_verb(args[0]);
  if (!verb) {
    report({verb.error(), ""}, wants_json(args), out, err);
    return kExitBadInput;
  }
  return run_verb(**verb, {args.begin() + 1, args.end()}, in, out, err, terminal);
}

}  // namespace

int run_command(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                std::ostream& err, const Terminal& terminal) {
  int status = kExitBadInput;
  // Kept for the report of an error when there is no other memory left.
  std::unique_ptr<std::byte[]> reserve(new (std::nothrow) std::byte[kReserve]);
  try {
    status = run_arguments(args, in, out, err, terminal);
  } catch (const std::exception& exception) {
    reserve.reset();
    report_exception(exception, wants_json(args), out, err);
  }
  out.flush();
  return out ? status : kExitBadInput;
}

}  // namespace tessera::tools

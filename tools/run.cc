// SPDX-License-Identifier: Apache-2.0
#include "tools/run.h"

#include <algorithm>
#include <exception>
#include <istream>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/version.h"
#include "tools/arguments.h"
#include "tools/json.h"

namespace tessera::tools {
namespace {

/// Errors go where the answer would have gone when it was to be JSON, else to the reader.
int report(const Failure& failure, bool json, std::ostream& out, std::ostream& err) {
  if (json) {
    out << dump(error_json(failure.error)) << '\n';
  } else {
    err << render(failure.error, failure.source);
  }
  return kExitBadInput;
}

bool wants_json(const std::vector<std::string>& args) {
  const auto end = std::find(args.begin(), args.end(), "--");
  return std::find(args.begin(), end, "--json") != end;
}

int run_verb(const Verb& verb, const std::vector<std::string>& args, std::istream& in,
             std::ostream& out, std::ostream& err, const Terminal& terminal) {
  const bool json = wants_json(args);
  Result<Request> request = parse_arguments(verb, args);
  if (!request) return report({request.error(), ""}, json, out, err);
  if (request->has("help")) {
    out << verb_help(verb, terminal);
    return 0;
  }
  if (request->has("batch")) {
    run_batch(verb, in, out);
    return 0;
  }
  std::vector<std::pair<std::string, std::string>> texts;
  for (const Positional& positional : verb.positionals) {
    if (positional.kind != Positional::Kind::kTensor || !request->has(positional.name)) continue;
    Result<std::string> text = text_of(request->text(positional.name), in);
    if (!text) return report({text.error(), ""}, json, out, err);
    texts.emplace_back(positional.name, *std::move(text));
  }
  const std::vector<Failure> failures = read_tensors(verb, texts, *request);
  if (!failures.empty()) return report(failures.front(), json, out, err);
  Console console{in, out, err, json, terminal};
  const Result<Verdict> verdict = verb.run(*request, console);
  if (verdict) return static_cast<int>(*verdict);
  const int status = report({verdict.error(), ""}, json, out, err);
  const ErrorCode code = verdict.error().code;
  const bool refused = code == ErrorCode::kNotSupported || code == ErrorCode::kTooLarge;
  const bool is_no = code == ErrorCode::kDoesNotFit || (verb.refusal_is_no && refused);
  return is_no ? static_cast<int>(Verdict::kNo) : status;
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
  if (args[0] == "--version") {
    out << "tessera " << kVersion << '\n';
    return 0;
  }
  const Result<const Verb*> verb = find_verb(args[0]);
  if (!verb) return report({verb.error(), ""}, wants_json(args), out, err);
  return run_verb(**verb, {args.begin() + 1, args.end()}, in, out, err, terminal);
}

}  // namespace

int run_command(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
                std::ostream& err, const Terminal& terminal) {
  int status = kExitBadInput;
  // The library does not throw; what is left is memory that could not be had.
  try {
    status = run_arguments(args, in, out, err, terminal);
  } catch (const std::exception& exception) {
    const Error error{ErrorCode::kTooLarge, cat("gave up: ", exception.what()), std::nullopt,
                      "ask for less at once"};
    status = report({error, ""}, wants_json(args), out, err);
  }
  out.flush();
  return out ? status : kExitBadInput;
}

}  // namespace tessera::tools

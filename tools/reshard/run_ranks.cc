// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/run_ranks.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <ostream>
#include <sstream>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement.h"
#include "tessera/exchange/fingerprint.h"
#include "tessera/version.h"
#include "tools/command/gave_up.h"
#include "tools/command/run.h"
#include "tools/reshard/mpi_module.h"
#include "tools/reshard/reshard_files.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::string_view kFlag = "--mpi";

/// The value of a flag as a user would write it; "not given" without one.
std::string value_text(const Request& request, const Flag& flag) {
  if (!request.has(flag.name)) return "not given";
  switch (flag.kind) {
    case ValueKind::kSwitch:
      return "given";
    case ValueKind::kText:
      return request.text(flag.name);
    case ValueKind::kNumber:
      return std::to_string(request.number(flag.name));
    case ValueKind::kNumbers:
      return join(request.numbers(flag.name), ",");
    case ValueKind::kTexts:
      return join(request.texts(flag.name), " ");
  }
  return "";
}

exchange::Fact fact(std::string name, const std::string& text) {
  exchange::Fingerprint print;
  print.add(text);
  return {std::move(name), print.value(), quote(text)};
}

/// What must be the same on all ranks: everything but --threads, which may differ per machine.
std::vector<exchange::Fact> facts_of(const Verb& verb, const ParsedRequest& parsed) {
  std::vector<exchange::Fact> facts = {fact("version", std::string(kVersion))};
  for (const auto& [name, text] : parsed.texts) facts.push_back(fact(upper_case(name), text));
  for (const Flag& flag : flags_of(verb)) {
    if (flag.name == "threads" || flag.name == "help" || flag.name == "batch") continue;
    facts.push_back(fact(cat("--", flag.name), value_text(parsed.request, flag)));
  }
  return facts;
}

/// mpirun connects its standard input to rank 0 only.
Status check_input(const Verb& verb, const Request& request) {
  for (const Positional& positional : verb.positionals) {
    if (request.text(positional.name) != "-") continue;
    return Error{ErrorCode::kUsage,
                 cat(upper_case(positional.name), " is -, but with ", kFlag,
                     " only rank 0 has standard input"),
                 std::nullopt, "write it to a file and name that: @a.txt"};
  }
  return ok_status();
}

ParsedRequest read_alone(const Verb& verb, const std::vector<std::string>& args) {
  std::istringstream no_input;
  ParsedRequest parsed = read_request(verb, args, no_input);
  const Status status = check_input(verb, parsed.request);
  if (!status) parsed.failure = Failure{status.error(), ""};
  return parsed;
}

/// How long ranks wait for each other; the verb checks --timeout once all have read it.
exchange::Timeouts timeouts_of(const Request& request) {
  const bool is_given = request.has("timeout");
  const std::int64_t seconds = request.number("timeout");
  return is_given && seconds >= 1 && seconds <= kLongestTimeout ? timeouts_for(seconds)
                                                                : exchange::Timeouts();
}

}  // namespace

mpi::MpiOptions watched_mpi(exchange::Timeouts timeouts, bool json, std::ostream& out,
                            std::ostream& err) {
  mpi::MpiOptions options;
  options.timeouts = timeouts;
  options.timeouts.silence += rank_here() * timeouts.answer;
  options.on_silence = [json, &out, &err](const Error& error) {
    report({error, ""}, json, out, err);
    out.flush();
    err.flush();
    std::_Exit(kExitBadInput);
  };
  return options;
}

exchange::Timeouts timeouts_for(std::int64_t seconds) {
  exchange::Timeouts timeouts;
  timeouts.silence = std::chrono::seconds(seconds);
  timeouts.answer = std::min(timeouts.answer, timeouts.silence);
  return timeouts;
}

RankedStatus run_on_ranks(const Verb& verb, const std::vector<std::string>& args,
                          exchange::Exchange& exchange, std::ostream& out, std::ostream& err,
                          const Terminal& terminal) {
  const bool json = wants_json(args);
  const ParsedRequest parsed = read_alone(verb, args);
  exchange::Agreement agreement(exchange, timeouts_of(parsed.request));
  const auto answer = [&]() -> Result<Verdict> {
    TESSERA_CHECK_OK(
        agreement.settle(parsed.failure ? Status(parsed.failure->error) : ok_status()));
    TESSERA_CHECK_OK(agreement.same(facts_of(verb, parsed)));
    std::istringstream no_input;
    std::ostream nowhere(nullptr);
    const bool prints = agreement.rank() == 0;
    Console console{no_input,  prints ? out : nowhere, prints ? err : nowhere, json, terminal,
                    &agreement};
    return verb.run(parsed.request, console);
  };
  // A rank that throws takes part in no decision any more; the others must not wait for it.
  const Result<Verdict> verdict = [&]() -> Result<Verdict> {
    try {
      return answer();
    } catch (const std::exception& exception) {
      return agreement.give_up(gave_up(exception, "use more ranks, or machines with more memory"));
    }
  }();
  RankedStatus status{exit_status(verb, verdict), false};
  if (verdict) return status;
  if (agreement.speaks()) {
    // Rank 0 shows an error of its own with its own text, and without the rank number.
    const bool is_own = agreement.rank() == 0 && parsed.failure;
    Failure failure = is_own ? *parsed.failure : Failure{verdict.error(), ""};
    if (!is_own) failure.error.span.reset();  // refers to a text of another rank
    report(failure, json, out, err);
    out.flush();
    err.flush();
  }
  status.is_abandoned = agreement.is_over();
  if (status.is_abandoned && agreement.speaks()) exchange.abandon(status.exit);
  return status;
}

int run_with_mpi(const Verb& verb, const std::vector<std::string>& args, std::ostream& out,
                 std::ostream& err, const Terminal& terminal) {
  const Result<Request> request = parse_arguments(verb, args);
  mpi::MpiOptions options = watched_mpi(request ? timeouts_of(*request) : exchange::Timeouts(),
                                        wants_json(args), out, err);
  options.shared_memory = !has_switch(args, "--no-shared-memory");
  Result<std::unique_ptr<exchange::Exchange>> exchange = load_mpi_exchange(options);
  if (!exchange) {
    if (!is_first_here()) wait_to_be_ended(kExitBadInput);
    report({exchange.error(), ""}, wants_json(args), out, err);
    return kExitBadInput;
  }
  const RankedStatus status = run_on_ranks(verb, args, **exchange, out, err, terminal);
  out.flush();  // the answer is known before MPI ends
  if (!status.is_abandoned) return status.exit;
  // The processes cannot disconnect as usual, because one of them is missing.
  err.flush();
  wait_to_be_ended(status.exit);
}

}  // namespace tessera::tools

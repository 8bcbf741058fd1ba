// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <ostream>

#include "tessera/base/text.h"
#include "tessera/plan/choose/read_problem.h"
#include "tessera/plan/choose/validate.h"
#include "tools/choose/choose_print.h"
#include "tools/choose/choose_search.h"
#include "tools/command/bug.h"
#include "tools/command/command.h"
#include "tools/command/search_input.h"
#include "tools/command/thread_count.h"
#include "tools/files/gzip.h"
#include "tools/files/text_file.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 30;
constexpr int kUsedThreads = 2;

Result<std::int64_t> read_count(const Request& request, std::string_view name,
                                std::int64_t otherwise) {
  const std::int64_t number = request.has(name) ? request.number(name) : otherwise;
  if (number >= 0) return number;
  return Error{ErrorCode::kOutOfRange, cat("--", name, " ", number, " is negative"), std::nullopt,
               "give 0 or more"};
}

Result<choose::SolveOptions> read_options(const Request& request) {
  choose::SolveOptions options;
  if (request.has("seconds")) {
    TESSERA_TRY(options.seconds, read_seconds(request.text("seconds")));
  }
  TESSERA_TRY(options.rounds, read_count(request, "rounds", options.rounds));
  TESSERA_TRY(const std::int64_t seed, read_count(request, "seed", 1));
  options.seed = static_cast<std::uint64_t>(seed);
  TESSERA_TRY(const std::int64_t threads, read_count(request, "threads", 0));
  TESSERA_TRY(const int available, thread_count(threads));
  options.threads = std::min(available, kUsedThreads);
  return options;
}

Result<std::string> read_text(const Request& request, const std::string& name, Console& console) {
  const std::string& argument = request.text("file");
  TESSERA_TRY(std::string text, argument == "-" ? read_text_stream(console.in, kMostBytes)
                                                : read_text_file(argument, kMostBytes));
  if (!is_gzip(text)) return text;
  return gunzip(text, kMostBytes, name);
}

/// Every answer is validated before it is printed.
Status check_answer(const choose::Problem& problem, const choose::Solution& solution) {
  if (solution.outcome != choose::Outcome::kChosen) return ok_status();
  const std::vector<choose::Finding> findings =
      choose::validate(problem, solution.choices, {solution.cost, solution.lower_bound}, 1);
  if (findings.empty()) return ok_status();
  return Error{ErrorCode::kContradiction,
               cat("the choice that was found is invalid: ", findings.front().message),
               std::nullopt, kBugHelp};
}

Result<Verdict> run(const Request& request, Console& console) {
  const auto begin = std::chrono::steady_clock::now();
  TESSERA_TRY(choose::SolveOptions options, read_options(request));
  const std::string name = request.text("file") == "-" ? "<stdin>" : request.text("file");
  TESSERA_TRY(std::string text, read_text(request, name, console));
  const Result<choose::Problem> problem = choose::read_problem(text);
  if (!problem) return report_error_in(name, text, problem.error(), console);
  text = {};
  // The time limit includes reading the file.
  const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - begin;
  options.seconds = std::max(0.0, options.seconds - reading.count());
  ChooseOutcome found = search_for_choice(*problem, options, console);
  if (!found.solution) return found.solution.error();
  choose::Solution& solution = *found.solution;
  TESSERA_CHECK_OK(check_answer(*problem, solution));
  solution.seconds += reading.count();
  solution.first_seconds += reading.count();
  const ChooseAnswer answer{*problem, solution, found.interrupted};
  console.out << (console.json ? choose_json(answer) + "\n" : choose_text(answer));
  return solution.outcome == choose::Outcome::kChosen ? Verdict::kYes : Verdict::kNo;
}

}  // namespace

Verb choose_verb() {
  Verb verb;
  verb.name = "choose";
  verb.is_question = false;
  verb.summary = "choose a strategy for every node of a graph within a memory limit";
  verb.description =
      "Reads a problem from a JSON file, which may be compressed by gzip: nodes with strategies "
      "(a cost, and the memory that is used while the node is alive), edges with a cost for each "
      "pair of strategies, and a limit of the memory in use at any moment. Finds a choice of one "
      "strategy per node with a low total cost within the limit, and a proven lower bound. Costs "
      "of "
      "10^18 and more are not allowed. docs/planning.md describes the file and the search. Every "
      "choice is validated by code that is independent of the search. Exit status: 0 when there is "
      "a choice, 1 when there is none or the search ended before that was known, 2 when the file "
      "cannot be read. Ctrl-C ends the search with the best choice so far. With --json: cost, "
      "lower_bound, gap ((cost - lower_bound) / cost), optimal, choices, seconds, found_by, "
      "outcome "
      "(chosen, infeasible, unknown), first_seconds, rounds, interrupted, obstacle.";
  verb.positionals = {{"file",
                       Positional::Kind::kFile,
                       "a JSON file, or one compressed by gzip; or -, for standard input",
                       {},
                       false}};
  verb.flags = {
      {"seconds", ValueKind::kText, "S",
       "time limit of reading and searching, in seconds; default 10. The search ends sooner when "
       "it has "
       "proven that no choice costs less"},
      {"seed", ValueKind::kNumber, "N", "seed of random decisions; default 1"},
      {"rounds", ValueKind::kNumber, "N",
       "stop after N rounds of the search; the same choice on every machine unless --seconds ends "
       "it first"},
      {"threads", ValueKind::kNumber, "N", "1 or 2; default 2, where the machine has them"}};
  verb.examples = {"tessera choose examples/choices.json",
                   "tessera choose examples/choices.json --seconds 60 --seed 7 --json"};
  verb.answers_json = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "tessera/base/text.h"
#include "tools/bench/bench_alloc.h"
#include "tools/bench/bench_mpi.h"
#include "tools/bench/bench_plan.h"
#include "tools/bench/bench_propagate.h"
#include "tools/bench/bench_ranks.h"
#include "tools/bench/bench_relayout.h"
#include "tools/bench/bench_report.h"
#include "tools/bench/bench_reshard.h"
#include "tools/bench/bench_run.h"
#include "tools/command/command.h"
#include "tools/json/json.h"

namespace tessera::tools {
namespace {

Json pairs_json(const std::vector<std::pair<std::string, double>>& pairs) {
  Json json = Json::object();
  for (const auto& [name, value] : pairs) json[name] = value;
  return json;
}

Json report_json(const BenchReport& report) {
  Json json;
  json["suite"] = report.suite;
  json["cases"] = Json::array();
  for (const BenchCase& c : report.cases) {
    Json item;
    item["name"] = c.name;
    item["dtype"] = c.dtype;
    item["threads"] = c.threads;
    if (c.elements > 0) item["elements"] = c.elements;
    item["seconds"] = c.seconds;
    item["peers"] = pairs_json(c.peers);
    if (c.ratio) item["ratio"] = *c.ratio;
    if (c.peak_bytes) item["peak_bytes"] = *c.peak_bytes;
    if (!c.outcome.empty()) item["outcome"] = c.outcome;
    for (const auto& [name, value] : c.figures) {
      const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
      item[name] = whole ? Json(static_cast<std::int64_t>(value)) : Json(value);
    }
    if (c.met) {
      item["goal"] = c.goal;
      item["met"] = *c.met;
    }
    json["cases"].push_back(std::move(item));
  }
  json["geometric_means"] = pairs_json(report.geometric_means);
  json["growth"] = pairs_json(report.growth);
  return json;
}

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g", value);
  return buffer.data();
}

std::string time_text(double seconds) {
  return seconds < 1e-6   ? cat(number_text(seconds * 1e9), " ns")
         : seconds < 1e-3 ? cat(number_text(seconds * 1e6), " us")
         : seconds < 1    ? cat(number_text(seconds * 1e3), " ms")
                          : cat(number_text(seconds), " s");
}

/// Columns as wide as their widest cell; the first is left-aligned, the others right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - row[c].size(), ' ');
      line += c == 0 ? cat(row[c], space) : cat("  ", space, row[c]);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += cat(line, "\n");
  }
  return out;
}

/// "fits, nodes 127, gap 0".
std::string more_text(const BenchCase& bench_case) {
  std::string text = bench_case.outcome;
  for (const auto& [name, value] : bench_case.figures) {
    text += cat(text.empty() ? "" : ", ", name, " ", number_text(value));
  }
  return text;
}

std::string report_text(const BenchReport& report) {
  std::vector<std::vector<std::string>> rows = {{"case", "time", "time per element", "against",
                                                 "peer time", "ratio", "peak bytes", "goal", "",
                                                 ""}};
  for (const BenchCase& c : report.cases) {
    const auto elements = static_cast<double>(c.elements);
    rows.push_back(
        {c.name, time_text(c.seconds), c.elements > 0 ? time_text(c.seconds / elements) : "",
         c.peers.empty() ? "" : c.peers[0].first,
         c.peers.empty() ? "" : time_text(c.peers[0].second), c.ratio ? number_text(*c.ratio) : "",
         c.peak_bytes ? std::to_string(*c.peak_bytes) : "", c.goal,
         !c.met   ? ""
         : *c.met ? "met"
                  : "missed",
         more_text(c)});
    for (std::size_t i = 1; i < c.peers.size(); ++i) {
      rows.push_back({"", "", "", c.peers[i].first, time_text(c.peers[i].second),
                      number_text(c.seconds / c.peers[i].second), "", "", "", ""});
    }
  }
  std::string out = table(rows);
  for (const auto& [name, value] : report.geometric_means) {
    out += cat("geometric mean of the ratios of ", name, ": ", number_text(value), "\n");
  }
  for (const auto& [name, value] : report.growth) {
    out += cat("growth of ", name, " from the smallest to the largest case: ", number_text(value),
               " times\n");
  }
  return out;
}

Verdict print(const BenchReport& report, Console& console) {
  console.out << (console.json ? cat(dump(report_json(report)), "\n") : report_text(report));
  return Verdict::kYes;
}

/// The flags that only some suites have.
struct SuiteFlag {
  std::string_view name;
  std::vector<std::string_view> suites;
};

Status check_flags(const Request& request) {
  static const std::vector<SuiteFlag> kSuiteFlags = {
      {"only", {"relayout", "moves", "propagate", "plan", "mpi", "ranks", "memory", "run"}},
      {"data", {"memory"}},
      {"size", {"relayout"}},
      {"threads", {"relayout", "mpi"}},
      {"no-peers", {"relayout", "mpi"}},
      {"extent", {"mpi"}},
      {"ranks", {"ranks"}}};
  const std::string& suite = request.text("suite");
  for (const auto& [flag, suites] : kSuiteFlags) {
    if (!request.has(flag) || std::find(suites.begin(), suites.end(), suite) != suites.end()) {
      continue;
    }
    std::string owners;
    for (const std::string_view owner : suites) owners += cat(owners.empty() ? "" : " or ", owner);
    return Error{ErrorCode::kUsage, cat("suite ", suite, " has no --", flag), std::nullopt,
                 cat("omit --", flag, ", or measure suite ", owners)};
  }
  return ok_status();
}

Result<RelayoutOptions> relayout_options(const Request& request) {
  RelayoutOptions options;
  options.quick = request.has("quick");
  options.peers = !request.has("no-peers");
  options.only = request.text("only");
  options.sizes = request.numbers("size");
  options.threads = request.numbers("threads");
  TESSERA_CHECK_OK(check_range(options.sizes, "size", 1 << 14, std::int64_t{1} << 34));
  TESSERA_CHECK_OK(check_range(options.threads, "threads", 1, 256));
  if (options.threads.empty()) options.threads = {1, 2};
  if (options.sizes.empty()) {
    options.sizes = options.quick ? std::vector<std::int64_t>{1 << 16}
                                  : std::vector<std::int64_t>{256 << 20, 4 << 20};
  }
  return options;
}

Result<Verdict> run_relayout(const Request& request, Console& console) {
  TESSERA_TRY(const RelayoutOptions options, relayout_options(request));
  if (console.json) {
    TESSERA_TRY(const RelayoutReport report, bench_relayout(options));
    console.out << dump(relayout_json(report)) << "\n";
    return Verdict::kYes;
  }
  console.out << relayout_head() << std::flush;
  TESSERA_TRY(const RelayoutReport report, bench_relayout(options, [&](const RelayoutRow& row) {
                console.out << relayout_line(row) << std::flush;
              }));
  console.out << relayout_tail(report);
  return Verdict::kYes;
}

Result<RanksOptions> ranks_options(const Request& request) {
  RanksOptions options;
  options.quick = request.has("quick");
  options.only = request.text("only");
  options.ranks = request.numbers("ranks");
  if (options.ranks.empty()) {
    for (std::int64_t ranks = 4; ranks <= (options.quick ? 64 : 16384); ranks *= 4) {
      options.ranks.push_back(ranks);
    }
  }
  for (const std::int64_t ranks : options.ranks) {
    std::int64_t power = 4;
    while (power < ranks && power < kMostRanks) power *= 4;
    if (power == ranks) continue;
    return Error{ErrorCode::kOutOfRange, cat("--ranks ", ranks, " is invalid"), std::nullopt,
                 cat("give powers of 4 from 4 to ", kMostRanks)};
  }
  return options;
}

Result<Verdict> run_ranks(const Request& request, Console& console) {
  TESSERA_TRY(const RanksOptions options, ranks_options(request));
  if (console.json) {
    TESSERA_TRY(const RanksReport report, bench_ranks(options));
    console.out << dump(ranks_json(report)) << "\n";
    return Verdict::kYes;
  }
  console.out << ranks_head() << std::flush;
  TESSERA_TRY(const RanksReport report, bench_ranks(options, [&](const RanksRow& row) {
                console.out << ranks_line(row) << std::flush;
              }));
  console.out << ranks_tail(report);
  return Verdict::kYes;
}

Result<Verdict> run(const Request& request, Console& console) {
  TESSERA_CHECK_OK(check_flags(request));
  if (request.text("suite") == "relayout") return run_relayout(request, console);
  if (request.text("suite") == "mpi") return run_bench_mpi(request, console);
  if (request.text("suite") == "ranks") return run_ranks(request, console);
  if (request.text("suite") == "memory") {
    TESSERA_TRY(const BenchReport report,
                bench_memory({request.has("quick"), request.text("only"), request.text("data")}));
    return print(report, console);
  }
  const BenchOptions options{request.has("quick"), request.text("only")};
  const std::string& suite = request.text("suite");
  TESSERA_TRY(const BenchReport report, suite == "reshard"     ? bench_reshard(options)
                                        : suite == "moves"     ? bench_moves(options)
                                        : suite == "propagate" ? bench_propagate(options)
                                        : suite == "plan"      ? bench_plan(options)
                                        : suite == "run"       ? bench_run(options)
                                                               : bench_layout(options));
  return print(report, console);
}

}  // namespace

Status check_range(const std::vector<std::int64_t>& numbers, std::string_view flag,
                   std::int64_t low, std::int64_t high) {
  for (const std::int64_t number : numbers) {
    if (number >= low && number <= high) continue;
    return Error{ErrorCode::kOutOfRange, cat("--", flag, " ", number, " is invalid"), std::nullopt,
                 cat("give numbers from ", low, " to ", high)};
  }
  return ok_status();
}

void set_ratio(BenchCase& bench_case) {
  if (bench_case.peers.empty() || bench_case.peers[0].second <= 0) return;
  bench_case.ratio = bench_case.seconds / bench_case.peers[0].second;
}

double geometric_mean(const std::vector<double>& values) {
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  return values.empty() ? 1 : std::exp(logs / static_cast<double>(values.size()));
}

Result<BenchReport> bench_layout(const BenchOptions& options) {
  BenchReport report;
  report.suite = "layout";
  TESSERA_CHECK_OK(bench_layout_access(options, report));
  TESSERA_CHECK_OK(bench_layout_mesh(options, report));
  return report;
}

Verb bench_verb() {
  Verb verb;
  verb.name = "bench";
  verb.is_question = false;
  verb.summary = "measure the speed of tessera";
  verb.description =
      "Runs a suite and prints medians of rounds in which the peers take turns in one process. "
      "ratio is the time divided by that of the first peer. Suite layout: random access to "
      "elements, compared with divisions written by hand for the same layout; all elements in "
      "bulk, compared with one query per element; and the time and memory of queries about a whole "
      "layout on meshes from 99x75 to 994x750. Suite relayout: changes of layout in memory as a "
      "share of the speed of memcpy of as many bytes with as many threads, compared with oneDNN "
      "and Eigen where the module with them is found next to the command; every result is compared "
      "with plain loops, bit for bit, before it is timed. Suite reshard: the time and memory "
      "needed to compute the cost of a change of places on meshes from 10x8 to 994x750, compared "
      "with a program that keeps a map of all pairs of places (on meshes that are small enough for "
      "it, and not in turns); transfers listed per second; wavelet-hops simulated per second. "
      "Suite moves: the time to price everyday moves on every machine that is built in. "
      "Suite run: kernels of one place on one thread, matmul as a share of the speed of oneDNN "
      "where the module with it is found, the others as a share of the speed of memcpy of as many "
      "bytes, read and written; transfers between host and device as a share of memcpy; a run of "
      "an MLP, and what a run takes for each op and place. "
      "Suite propagate: the time to ask which layouts an op of a transformer allows, on 8x8 and on "
      "994x750 places. Suite plan: the time to plan models on several machines, with what their "
      "plans take beside simpler ways, and how that time grows with nodes and with places. "
      "Suite mpi, under mpirun: reshards of a matrix between processes, from private and from "
      "shared memory, relative to the floor (a copy of what crosses, a bare MPI_Alltoallv, a copy "
      "out of it, and a copy of what stays) and compared with ScaLAPACK, in turns; times are those "
      "of the slowest rank, and every element of every result is compared. Suite ranks: the time "
      "and memory that one rank needs to plan its part of a reshard, on 4 to 16384 ranks, and "
      "their growth; plans are compared with each other. Suite memory: plans for a graph of 100 "
      "tensors on meshes from 10x8 to 994x750, compared with a program that keeps a plan for every "
      "place in a map; hard instances and, with --data, those of a folder, solved exactly and by "
      "heuristics alone; traces of 100,000 buffers; and the pool of host memory compared with "
      "malloc and a mutex. Every plan is validated by code that is independent of the planner.";
  verb.positionals = {{"suite",
                       Positional::Kind::kWord,
                       "what to measure",
                       {"layout", "relayout", "reshard", "moves", "propagate", "plan", "mpi",
                        "ranks", "memory", "run"},
                       false}};
  verb.flags = {
      {"quick", ValueKind::kSwitch, "", "only show that everything runs; the numbers mean nothing"},
      {"only", ValueKind::kText, "TEXT",
       "relayout, moves, propagate, plan, mpi, ranks, memory, run: only cases whose name, such as "
       "tile/8192x8192/f32, contains this"},
      {"size", ValueKind::kNumbers, "BYTES",
       "relayout: approximate bytes to move; default 268435456,4194304"},
      {"threads", ValueKind::kNumbers, "N",
       "relayout: numbers of threads, default 1,2; mpi: threads per rank, default 1"},
      {"no-peers", ValueKind::kSwitch, "", "relayout, mpi: without other libraries"},
      {"extent", ValueKind::kNumber, "N", "mpi: rows and columns of the matrix; default 8192"},
      {"ranks", ValueKind::kNumbers, "N",
       "ranks: numbers of ranks, powers of 4; default 4,16,64,256,1024,4096,16384"},
      {"data", ValueKind::kText, "FOLDER",
       "memory: also plan the CSV files of this folder; NAME.CAPACITY.csv within that capacity"}};
  verb.examples = {"tessera bench layout --json",
                   "tessera bench relayout --only transpose --size 4194304 --threads 1",
                   "mpirun -n 4 tessera bench mpi"};
  verb.answers_json = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools

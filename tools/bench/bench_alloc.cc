// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_alloc.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "bench/hard_instance.h"
#include "bench/host_pool.h"
#include "bench/transformer_trace.h"
#include "tessera/base/text.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tools/alloc/alloc_buffers.h"
#include "tools/bench/measure.h"
#include "tools/command/bug.h"
#include "tools/files/text_file.h"

namespace tessera::tools {
namespace {

constexpr double kMostSearchSeconds = 10;
constexpr double kMostFamilySeconds = 20;
constexpr double kMostQuickSeconds = 10e-3;  // with heuristics alone
constexpr double kMostQuickGap = 0.2;
constexpr double kMostTraceSeconds = 2;
constexpr double kMostTraceGap = 0.01;

Error wrong(std::string_view name, std::string_view what) {
  return Error{ErrorCode::kContradiction, cat(name, ": ", what), std::nullopt, kBugHelp};
}

/// Solves once, as programs do, and validates the answer.
Result<BenchCase> solve_once(std::string name, const memory::Problem& problem,
                             const memory::SolveOptions& options) {
  BenchCase result;
  result.name = std::move(name);
  result.dtype = "";
  Result<memory::Solution> solved = Error{};
  result.seconds = seconds_of([&] { solved = memory::solve(problem, options); }, 1);
  if (!solved) return solved.error();
  const memory::Solution& solution = *solved;
  const bool fits = solution.outcome == memory::Outcome::kFits;
  const std::vector<memory::Finding> findings = memory::validate(
      problem, solution.offsets, fits ? options.capacity : std::optional<std::int64_t>{}, 1);
  if (!findings.empty()) return wrong(result.name, findings.front().message);
  result.outcome = memory::outcome_name(solution.outcome);
  result.figures = {{"buffers", static_cast<double>(problem.buffers.size())},
                    {"nodes", static_cast<double>(solution.nodes)},
                    {"gap", solution.gap()}};
  return result;
}

/// One instance twice: with all techniques, and with heuristics alone. `goals` are for instances
/// from real programs, not for those that are made to be hard.
Status add_instance(const std::string& name, const memory::Problem& problem,
                    std::optional<std::int64_t> capacity, bool goals,
                    const BenchMemoryOptions& options, BenchReport& report) {
  memory::SolveOptions exact;
  exact.capacity = capacity;
  exact.minimize = !capacity;
  exact.seconds = options.quick ? 0.1 : kMostSearchSeconds;
  memory::SolveOptions thumb = exact;
  thumb.techniques.exact = false;
  if (options.selects(cat(name, "/exact"))) {
    TESSERA_TRY(BenchCase solved, solve_once(cat(name, "/exact"), problem, exact));
    if (goals && capacity) {
      solved.goal = "fits, <= 10 s";
      solved.met = solved.outcome == "fits" && solved.seconds <= kMostSearchSeconds;
    }
    report.cases.push_back(std::move(solved));
  }
  if (options.selects(cat(name, "/greedy"))) {
    TESSERA_TRY(BenchCase quick, solve_once(cat(name, "/greedy"), problem, thumb));
    if (goals) {
      quick.goal = "<= 10 ms, gap <= 0.2";
      quick.met =
          quick.seconds <= kMostQuickSeconds && quick.figures.back().second <= kMostQuickGap;
    }
    report.cases.push_back(std::move(quick));
  }
  return ok_status();
}

/// 1048576 of "A.1048576.csv".
std::optional<std::int64_t> capacity_in(const std::string& file) {
  const std::string stem = std::filesystem::path(file).stem().string();
  const std::size_t dot = stem.rfind('.');
  if (dot == std::string::npos) return std::nullopt;
  std::int64_t capacity = 0;
  const char* const last = stem.data() + stem.size();
  const auto [end, error] = std::from_chars(stem.data() + dot + 1, last, capacity);
  if (error != std::errc() || end != last || capacity < 0) return std::nullopt;
  return capacity;
}

Status add_folder(const BenchMemoryOptions& options, BenchReport& report) {
  std::vector<std::string> files;
  std::error_code failed;
  std::filesystem::directory_iterator entries(options.data, failed);
  for (; !failed && entries != std::filesystem::directory_iterator(); entries.increment(failed)) {
    if (entries->path().extension() == ".csv") files.push_back(entries->path().string());
  }
  if (failed) {
    return file_error("cannot read", options.data, failed.value(), "--data names a folder");
  }
  if (files.empty()) {
    return Error{ErrorCode::kUsage, cat("'", printable(options.data), "' has no .csv files"),
                 std::nullopt, "--data names a folder of buffers as `tessera alloc` reads them"};
  }
  std::sort(files.begin(), files.end());
  const std::size_t before = report.cases.size();
  for (const std::string& file : files) {
    TESSERA_TRY(const std::string text, read_text_file(file, kMostBufferBytes));
    Result<BufferFile> buffers = read_buffers(text);
    if (!buffers) {
      Error error = buffers.error();
      error.message = cat("'", printable(file), "': ", error.message);
      error.span.reset();
      return error;
    }
    const std::string name = cat("data/", std::filesystem::path(file).stem().string());
    TESSERA_CHECK_OK(
        add_instance(name, buffers->problem, capacity_in(file), /*goals=*/true, options, report));
  }
  BenchCase all;
  all.name = "data/all/exact";
  all.dtype = "";
  for (std::size_t i = before; i < report.cases.size(); ++i) {
    if (report.cases[i].name.ends_with("/exact")) all.seconds += report.cases[i].seconds;
  }
  all.goal = "<= 20 s";
  all.met = all.seconds <= kMostFamilySeconds;
  if (options.selects(all.name)) report.cases.push_back(std::move(all));
  return ok_status();
}

}  // namespace

Status bench_memory_hard(const BenchMemoryOptions& options, BenchReport& report) {
  // As many buffers as the members of the public family have.
  const std::vector<std::int64_t> sizes =
      options.quick ? std::vector<std::int64_t>{40} : std::vector<std::int64_t>{154, 203, 296, 454};
  for (const std::int64_t size : sizes) {
    for (const std::uint64_t seed : {1U, 2U}) {
      const std::string name = cat("hard/", size, "/", seed);
      if (!options.selects(cat(name, "/exact")) && !options.selects(cat(name, "/greedy"))) continue;
      bench::HardOptions hard;
      hard.buffers = size;
      hard.seed = seed;
      const bench::HardInstance instance = bench::hard_instance(hard);
      TESSERA_CHECK_OK(add_instance(name, instance.problem, instance.capacity, /*goals=*/false,
                                    options, report));
    }
  }
  if (!options.data.empty()) TESSERA_CHECK_OK(add_folder(options, report));
  return ok_status();
}

Status bench_memory_traces(const BenchMemoryOptions& options, BenchReport& report) {
  struct Trace {
    std::string_view name;
    bench::TraceKind kind;
  };
  for (const Trace& trace : {Trace{"training", bench::TraceKind::kTraining},
                             Trace{"inference", bench::TraceKind::kInference},
                             Trace{"mixture", bench::TraceKind::kMixture}}) {
    bench::TraceOptions made;
    made.kind = trace.kind;
    made.jitter = 3;
    if (options.quick) made.buffers = 1000;
    const std::string name = cat("trace/", trace.name, "/", made.buffers);
    if (!options.selects(name)) continue;
    const memory::Problem problem = bench::transformer_trace(made);
    TESSERA_TRY(const memory::MaxLive bound, memory::max_live(problem));
    // Within 1 % is good enough; the search ends there.
    memory::SolveOptions solve;
    solve.capacity = bound.bytes + bound.bytes / 100;
    solve.seconds = kMostTraceSeconds;
    TESSERA_TRY(BenchCase solved, solve_once(name, problem, solve));
    solved.goal = "<= 2 s, gap <= 0.01";
    solved.met =
        solved.seconds <= kMostTraceSeconds && solved.figures.back().second <= kMostTraceGap;
    solved.peak_bytes = peak_bytes_of([&] { keep(memory::solve(problem, solve).ok()); });
    report.cases.push_back(std::move(solved));
  }
  return ok_status();
}

Status bench_memory_pool(const BenchMemoryOptions& options, BenchReport& report) {
  bench::PoolLoad load;
  if (options.quick) {
    load.pairs = 1000;
    load.rounds = 1;
  }
  for (const int threads : {1, 2, 4, 8}) {
    BenchCase result;
    result.name = cat("pool/", threads);
    if (!options.selects(result.name)) continue;
    TESSERA_TRY(const bench::PoolTimes times, bench::time_pool(threads, load));
    result.dtype = "";
    result.threads = threads;
    result.seconds = times.pool_ns * 1e-9;
    result.peers = {{"one_mutex", times.one_mutex_ns * 1e-9}, {"malloc", times.malloc_ns * 1e-9}};
    set_ratio(result);
    report.cases.push_back(std::move(result));
  }
  return ok_status();
}

Result<BenchReport> bench_memory(const BenchMemoryOptions& options) {
  BenchReport report;
  report.suite = "memory";
  TESSERA_CHECK_OK(bench_memory_mesh(options, report));
  TESSERA_CHECK_OK(bench_memory_hard(options, report));
  TESSERA_CHECK_OK(bench_memory_traces(options, report));
  TESSERA_CHECK_OK(bench_memory_pool(options, report));
  if (report.cases.empty()) {
    return Error{ErrorCode::kUsage, cat("no case name contains '", printable(options.only), "'"),
                 std::nullopt,
                 "case names are for example mesh/own_grids/994x750, hard/203/1/exact, pool/8"};
  }
  return report;
}

}  // namespace tessera::tools

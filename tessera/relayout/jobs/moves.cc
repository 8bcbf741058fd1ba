// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/jobs/moves.h"

#include <atomic>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {
namespace {

/// Runs the share of `worker` of every job.
void run_jobs(const Jobs& jobs, int worker, int workers, const Arrays& arrays) {
  for (const auto& job : jobs) {
    const auto [from, to] = ThreadPool::share(job->items(workers), worker, workers);
    if (from < to) job->run(from, to, workers, arrays);
  }
}

}  // namespace

Result<bool> Moves::run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool,
                        const PlanPart& part) const {
  // The workers of all parts divide the work, as if they ran at the same time.
  const int threads = pool.threads();
  const int workers = threads * part.parts;
  const int before = threads * part.number;
  std::atomic<bool> misfit = false;
  std::atomic<bool> no_memory = false;
  const auto arrays_for = [&](bool stream) {
    return Arrays{from.data(), static_cast<std::int64_t>(from.size()), to.data(), stream, nullptr,
                  &misfit};
  };
  // Fills that cover data must finish before any copy starts; other fills never write the positions
  // of copies.
  if (fills_cover_data && part.number == 0) {
    TESSERA_CHECK_OK(
        pool.run([&](int worker) { run_jobs(fills, worker, threads, arrays_for(false)); }));
  }
  const Status ran = pool.run([&](int worker) {
    Arrays arrays = arrays_for(streaming);
    arrays.scratch = Scratch::mine();
    if (arrays.scratch == nullptr) {
      no_memory = true;
      return;
    }
    run_jobs(copies, before + worker, workers, arrays);
    if (streaming) finish_streaming();
    if (!fills_cover_data) run_jobs(fills, before + worker, workers, arrays);
  });
  if (!ran.ok()) return ran.error();
  if (no_memory) {
    return Error{ErrorCode::kOutOfMemory,
                 cat("not enough memory for ", Scratch::kBytes, " bytes of scratch per thread"),
                 std::nullopt, "use fewer threads"};
  }
  return !misfit;
}

std::vector<std::string> Moves::describe() const {
  std::vector<std::string> lines;
  for (const auto& job : fills) lines.push_back(job->describe());
  for (const auto& job : copies) lines.push_back(job->describe());
  return lines;
}

Status check_sizes(const Program& program, std::size_t from, std::size_t to) {
  const auto wrong_size = [](std::string_view which, std::size_t has, std::int64_t needed) {
    return Error{ErrorCode::kOutOfRange,
                 cat("the ", which, " has ", has, " bytes, but its layout ", needed), std::nullopt,
                 "give memory of exactly the layout's size"};
  };
  if (std::cmp_not_equal(from, program.from.bytes)) {
    return wrong_size("source", from, program.from.bytes);
  }
  if (std::cmp_not_equal(to, program.to.bytes)) {
    return wrong_size("destination", to, program.to.bytes);
  }
  return ok_status();
}

void add_fills(const Program& program, std::int64_t bits, const std::vector<std::byte>& value,
               Moves& moves) {
  for (const FillNest& fill : program.fills) {
    moves.fills.push_back(make_fill_job(fill, program.to, bits, value));
  }
  moves.fills_cover_data = program.fills_cover_data;
}

}  // namespace tessera::relayout

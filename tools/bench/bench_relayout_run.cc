// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "tessera/base/text.h"
#include "tools/bench/bench_relayout.h"
#include "tools/bench/measure.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

/// A contender that performs the move, or copies as many bytes.
struct Mover {
  std::string name;
  std::function<bool()> work;  ///< false when it failed
  bool is_peer = false;
  std::int64_t repeats = 1;  ///< calls of one sample
  std::int64_t rounds = 1;
  std::vector<double> samples = {};

  double median() {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end());
    return *middle;
  }
};

/// How long to measure. Many short samples avoid interference from other work on the machine, which
/// runs every few milliseconds. A sample is repeated until it is long enough for the clock. A slow
/// peer takes part in fewer rounds, at least one, or the time of its check is used.
struct Timing {
  std::int64_t rounds = 7;
  double sample_seconds = 2e-3;
  double peer_seconds = 0.5;
};

double sample_of(const Mover& mover, std::int64_t repeats) {
  return seconds_of([&] { keep(mover.work()); }, repeats);
}

/// The first byte that differs, or nothing.
std::optional<std::size_t> first_difference(std::span<const std::byte> a,
                                            std::span<const std::byte> b) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return std::nullopt;
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
}

/// Runs `mover` once, keeps the time as a sample, and compares the content of `to`.
Status check_result(const RelayoutCase& bench_case, Mover& mover, int threads,
                    std::span<std::byte> to, std::span<const std::byte> expected) {
  std::memset(to.data(), static_cast<int>(kUntouched), to.size());
  bool worked = false;
  mover.samples = {seconds_of([&] { worked = mover.work(); }, 1)};
  const std::optional<std::size_t> at = first_difference(to, expected);
  if (worked && !at) return ok_status();
  return Error{ErrorCode::kContradiction,
               worked ? cat(mover.name, " with ", threads, " threads does not move ",
                            bench_case.name, " of ", dtype_name(bench_case.dtype),
                            " correctly: byte ", *at, " of the result differs")
                      : cat(mover.name, " with ", threads, " threads fails to move ",
                            bench_case.name, " of ", dtype_name(bench_case.dtype)),
               std::nullopt, kBugHelp};
}

/// Medians of all movers, which take turns.
void measure(std::vector<Mover>& movers, const Timing& timing) {
  for (Mover& mover : movers) {
    if (mover.is_peer && mover.samples.front() > timing.peer_seconds) {
      mover.rounds = 0;
      continue;
    }
    mover.samples.clear();
    double first = sample_of(mover, 1);
    while (first < timing.sample_seconds && mover.repeats < (1 << 20)) {
      mover.repeats *= 2;
      first = sample_of(mover, mover.repeats);
    }
    mover.rounds = timing.rounds;
    if (mover.is_peer) {
      const auto affordable = static_cast<std::int64_t>(timing.peer_seconds / first);
      mover.rounds = std::clamp<std::int64_t>(affordable, 1, timing.rounds);
    }
  }
  for (std::int64_t round = 0; round < timing.rounds; ++round) {
    for (Mover& mover : movers) {
      if (round >= mover.rounds) continue;
      mover.samples.push_back(sample_of(mover, mover.repeats) / static_cast<double>(mover.repeats));
      // Lets the threads of peers become idle.
      if (mover.is_peer) std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  }
}

Mover copier(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) {
  return {"memcpy", [=, &pool] {
            const Status copied = pool.run([&](int worker) {
              const auto [begin, end] =
                  ThreadPool::share(static_cast<std::int64_t>(to.size()), worker, pool.threads());
              std::memcpy(to.data() + begin, from.data() + begin,
                          static_cast<std::size_t>(end - begin));
            });
            return copied.ok();
          }};
}

/// The peers that support the move, prepared.
std::vector<Mover> peer_movers(const Peers& peers, const PeerMove& move) {
  std::vector<Mover> movers;
  for (const Peer& peer : peers.list) {
    void* prepared = peer.prepare(&move);
    if (prepared == nullptr) continue;
    const std::shared_ptr<void> owner(prepared, peer.forget);
    movers.push_back({peer.name, [owner, &peer] { return peer.run(owner.get()) == 0; }, true});
  }
  return movers;
}

double median_of(const std::function<void()>& work) {
  return median_seconds({{"", work}}, {5, 1e-5}).front();
}

}  // namespace

Status run_relayout_case(const RelayoutCase& bench_case, const RelayoutOptions& options,
                         const Peers& peers, std::span<const BenchBuffer> buffers,
                         const std::function<void(RelayoutRow row)>& measured) {
  const std::span<const std::byte> from = buffers[0].first(bench_case.from.allocated_bytes());
  const std::span<std::byte> to = buffers[1].first(bench_case.to.allocated_bytes());
  const std::span<std::byte> expected = buffers[2].first(bench_case.to.allocated_bytes());
  TESSERA_TRY(const relayout::Program program,
              relayout::make_program(bench_case.from, bench_case.to));
  TESSERA_TRY(const relayout::Plan plan, relayout::Plan::make(program));
  const double program_seconds =
      median_of([&] { keep(relayout::make_program(bench_case.from, bench_case.to)); });
  const double plan_seconds = median_of([&] { keep(relayout::Plan::make(program)); });
  {
    ThreadPool pool(static_cast<int>(std::thread::hardware_concurrency()));
    TESSERA_CHECK_OK(make_reference(bench_case, program, from, expected, pool));
  }
  for (const std::int64_t threads : options.threads) {
    ThreadPool pool(static_cast<int>(threads));
    if (pool.threads() != threads) {
      return Error{ErrorCode::kTooLarge, cat("the system cannot provide ", threads, " threads"),
                   std::nullopt, "give fewer --threads"};
    }
    std::vector<Mover> movers = {{"tessera", [&] { return plan.run(from, to, pool).ok(); }}};
    if (options.peers) {
      PeerMove move = peer_move(bench_case, program);
      move.threads = pool.threads();
      move.from = from.data();
      move.to = to.data();
      for (Mover& mover : peer_movers(peers, move)) movers.push_back(std::move(mover));
    }
    for (Mover& mover : movers) {
      TESSERA_CHECK_OK(check_result(bench_case, mover, pool.threads(), to, expected));
    }
    movers.insert(movers.begin(), copier(buffers[0].first(bench_case.bytes()),
                                         buffers[1].first(bench_case.bytes()), pool));
    const bool small = bench_case.bytes() < (std::int64_t{16} << 20);
    measure(movers, options.quick ? Timing{1, 1e-6, 1e-3}
                    : small       ? Timing{61, 3e-4, 0.1}
                                  : Timing{});
    RelayoutRow row;
    row.name = bench_case.name;
    row.group = bench_case.group;
    row.dtype = dtype_name(bench_case.dtype);
    row.threads = pool.threads();
    row.bytes = bench_case.bytes();
    row.memcpy_seconds = movers[0].median();
    row.seconds = movers[1].median();
    for (std::size_t i = 2; i < movers.size(); ++i) {
      row.peers.emplace_back(movers[i].name, movers[i].median());
    }
    row.goal = bench_case.goal;
    row.program_seconds = program_seconds;
    row.plan_seconds = plan_seconds;
    row.plan = plan.describe();
    row.jobs = static_cast<std::int64_t>(row.plan.size());
    row.plan.resize(std::min<std::size_t>(row.plan.size(), 4));
    measured(std::move(row));
  }
  return ok_status();
}

}  // namespace tessera::tools

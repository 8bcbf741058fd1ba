// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "tessera/base/text.h"
#include "tessera/exchange/resharder.h"
#include "tools/bench/bench_mpi.h"
#include "tools/bench/bench_relayout.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

constexpr int kRounds = 7;
constexpr int kPlans = 3;

Status worked(int status, std::string_view what) {
  if (status == 0) return ok_status();
  return Error{ErrorCode::kIo, cat(what, " of MPI failed with status ", status)};
}

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

std::int64_t sum(std::span<const std::int64_t> numbers) {
  std::int64_t total = 0;
  for (const std::int64_t number : numbers) total += number;
  return total;
}

/// The memory of one rank for a case, and the ranks it exchanges bytes with.
struct Scene {
  const MpiCase& bench_case;
  Crew& crew;
  BenchBuffer from;
  BenchBuffer to;
  BenchBuffer packed;
  BenchBuffer unpacked;
  std::int64_t from_bytes = 0;
  std::int64_t to_bytes = 0;
  std::vector<std::int64_t> send;
  std::vector<std::int64_t> receive;

  std::span<const std::byte> source() const { return from.first(from_bytes); }
  std::span<std::byte> destination() const { return to.first(to_bytes); }
  std::int64_t staying() const { return send[static_cast<std::size_t>(crew.rank())]; }
  std::int64_t leaving() const { return sum(send) - staying(); }
  std::int64_t arriving() const { return sum(receive) - staying(); }
};

Result<Scene> make_scene(const MpiCase& bench_case, Crew& crew, const exchange::RankSide& from,
                         const exchange::RankSide& to) {
  std::vector<std::int64_t> send = bytes_to(bench_case, crew.rank());
  std::vector<std::int64_t> receive = bytes_from(bench_case, crew.rank());
  TESSERA_TRY(BenchBuffer source, BenchBuffer::make(from.bytes()));
  TESSERA_TRY(BenchBuffer destination, BenchBuffer::make(to.bytes()));
  TESSERA_TRY(BenchBuffer packed, BenchBuffer::make(std::max<std::int64_t>(1, sum(send))));
  TESSERA_TRY(BenchBuffer unpacked, BenchBuffer::make(std::max<std::int64_t>(1, sum(receive))));
  std::memset(source.first(from.bytes()).data(), static_cast<int>(kUntouched),
              static_cast<std::size_t>(from.bytes()));
  write_shard(bench_case, bench_case.from, crew.rank(), source.first(from.bytes()));
  return Scene{bench_case,        crew,
               std::move(source), std::move(destination),
               std::move(packed), std::move(unpacked),
               from.bytes(),      to.bytes(),
               std::move(send),   std::move(receive)};
}

/// The plan and the distributions must move the same bytes; otherwise the floor is that of another
/// move.
Status check_totals(const Scene& scene, const exchange::RankTotals& totals) {
  if (totals.sent_bytes == scene.leaving() && totals.received_bytes == scene.arriving() &&
      totals.local_bytes == scene.staying()) {
    return ok_status();
  }
  return Error{ErrorCode::kContradiction,
               cat("the plan of ", scene.bench_case.name, " on rank ", scene.crew.rank(), " sends ",
                   totals.sent_bytes, " bytes, receives ", totals.received_bytes, " and keeps ",
                   totals.local_bytes, ", not ", scene.leaving(), ", ", scene.arriving(), " and ",
                   scene.staying()),
               std::nullopt, kBugHelp};
}

/// A contender that performs the move, or copies as many bytes.
struct Mover {
  std::string name;
  std::function<Status()> work;
  bool moves = true;  ///< leaves the result in the destination
  std::vector<double> samples = {};
};

Status check_mover(const Scene& scene, const Mover& mover) {
  std::memset(scene.destination().data(), static_cast<int>(kUntouched), scene.destination().size());
  TESSERA_CHECK_OK(scene.crew.settle(mover.work()));
  Status right =
      check_shard(scene.bench_case, scene.bench_case.to, scene.crew.rank(), scene.destination());
  if (!right.ok()) {
    Error error = right.error();
    error.message = cat(mover.name, " does not move ", scene.bench_case.name, " of ",
                        dtype_name(scene.bench_case.dtype), " correctly: ", error.message);
    right = error;
  }
  return scene.crew.settle(right);
}

Mover floor_of(const Scene& scene) {
  return {"floor",
          [&scene] {
            MpiFloorMove move;
            move.send = scene.send.data();
            move.receive = scene.receive.data();
            move.source = scene.source().data();
            move.destination = scene.destination().data();
            move.packed = scene.packed.first(1).data();
            move.unpacked = scene.unpacked.first(1).data();
            return worked(scene.crew.peers().floor(&move), "MPI_Alltoallv");
          },
          false};
}

Mover copy_of(const Scene& scene) {
  return {"memcpy",
          [&scene] {
            const std::int64_t bytes = std::min(sum(scene.send), scene.to_bytes);
            std::memcpy(scene.destination().data(), scene.source().data(),
                        static_cast<std::size_t>(bytes));
            return ok_status();
          },
          false};
}

/// Nothing where the module has no such library, or it does not support this move.
std::optional<Mover> matrix_peer(const Scene& scene) {
  const MpiMatrixPeer* peer = scene.crew.peers().matrices;
  if (peer == nullptr) return std::nullopt;
  const MpiMatrixMove move{scene.bench_case.extent, scene.bench_case.element_bytes(),
                           scene.bench_case.from,   scene.bench_case.to,
                           scene.source().data(),   scene.destination().data()};
  void* prepared = peer->prepare(&move);
  if (prepared == nullptr) return std::nullopt;
  const std::shared_ptr<void> owner(prepared, peer->forget);
  return Mover{peer->name, [owner, peer] {
                 peer->run(owner.get());
                 return ok_status();
               }};
}

/// A plan, and the time to make it: the median of a few runs, because the first one also allocates
/// pages.
struct Planned {
  exchange::Resharder resharder;
  double seconds = 0;
};

Result<Planned> plan(const MpiCase& bench_case, int threads, bool quick, Crew& crew) {
  const auto reshard = mpi_reshard(bench_case);
  TESSERA_CHECK_OK(crew.settle(reshard ? ok_status() : Status(reshard.error())));
  TESSERA_TRY(const exchange::RankMap map, exchange::RankMap::blocks(crew.ranks(), crew.ranks()));
  exchange::ResharderOptions options;
  options.threads = threads;
  options.timeouts = kBenchTimeouts;
  std::optional<exchange::Resharder> made;
  std::vector<double> samples;
  for (int i = 0; i < (quick ? 1 : kPlans); ++i) {
    made.reset();
    TESSERA_TRY(const double seconds, crew.seconds_of([&] {
      auto resharder = exchange::Resharder::make(crew.exchange(), *reshard, map, map, options);
      if (!resharder) return Status(resharder.error());
      made.emplace(std::move(*resharder));
      return ok_status();
    }));
    samples.push_back(seconds);
  }
  return Planned{std::move(*made), median(std::move(samples))};
}

Status run_with_threads(const MpiCase& bench_case, int threads, const MpiBenchOptions& options,
                        Crew& crew, const std::function<void(const MpiRow& row)>& measured) {
  TESSERA_TRY(Planned planned, plan(bench_case, threads, options.quick, crew));
  exchange::Resharder& resharder = planned.resharder;
  auto made = make_scene(bench_case, crew, resharder.from(), resharder.to());
  TESSERA_CHECK_OK(crew.settle(made ? ok_status() : Status(made.error())));
  const Scene& scene = *made;
  TESSERA_CHECK_OK(crew.settle(check_totals(scene, resharder.totals())));
  TESSERA_TRY(const std::unique_ptr<exchange::SharedArray> shared, resharder.share_source());
  std::memcpy(shared->mine().data(), scene.source().data(), scene.source().size());

  std::vector<Mover> movers = {
      {"tessera", [&] { return resharder.run(scene.source(), scene.destination()); }},
      {"tessera on shared memory",
       [&] {
         const std::span<const std::byte> source = shared->mine().first(scene.source().size());
         return resharder.run(source, scene.destination());
       }},
      floor_of(scene),
      copy_of(scene)};
  if (options.peers) {
    if (std::optional<Mover> peer = matrix_peer(scene)) movers.push_back(std::move(*peer));
  }
  for (const Mover& mover : movers) {
    if (mover.moves) TESSERA_CHECK_OK(check_mover(scene, mover));
  }
  for (int round = 0; round < (options.quick ? 1 : kRounds); ++round) {
    for (Mover& mover : movers) {
      TESSERA_TRY(const double seconds, crew.seconds_of(mover.work));
      mover.samples.push_back(seconds);
    }
  }
  MpiRow row;
  row.name = bench_case.name;
  row.dtype = dtype_name(bench_case.dtype);
  row.ranks = crew.ranks();
  row.threads = threads;
  row.bytes = bench_case.bytes();
  for (int rank = 0; rank < crew.ranks(); ++rank) {
    const std::vector<std::int64_t> to = bytes_to(bench_case, rank);
    row.crossing_bytes += sum(to) - to[static_cast<std::size_t>(rank)];
  }
  TESSERA_TRY(row.staged_bytes, crew.largest(resharder.totals().staged_bytes));
  row.plan_seconds = planned.seconds;
  row.seconds = median(movers[0].samples);
  row.shared_seconds = median(movers[1].samples);
  row.floor_seconds = median(movers[2].samples);
  row.memcpy_seconds = median(movers[3].samples);
  for (std::size_t i = 4; i < movers.size(); ++i) {
    row.peers.emplace_back(movers[i].name, median(movers[i].samples));
  }
  measured(row);
  return ok_status();
}

}  // namespace

Result<std::int64_t> Crew::largest(std::int64_t mine) {
  TESSERA_TRY(const std::vector<std::int64_t> numbers, agreement_.largest({&mine, 1}));
  return numbers.front();
}

Result<double> Crew::seconds_of(const std::function<Status()>& work) {
  const Status ready = worked(peers_.barrier(), "MPI_Barrier");
  const auto begin = std::chrono::steady_clock::now();
  const Status done = ready.ok() ? work() : ready;
  const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - begin;
  TESSERA_CHECK_OK(settle(done));
  TESSERA_TRY(const std::int64_t nanoseconds, largest(elapsed.count()));
  return static_cast<double>(nanoseconds) * 1e-9;
}

Status run_mpi_case(const MpiCase& bench_case, const MpiBenchOptions& options, Crew& crew,
                    const std::function<void(const MpiRow& row)>& measured) {
  for (const std::int64_t threads : options.threads) {
    TESSERA_CHECK_OK(
        run_with_threads(bench_case, static_cast<int>(threads), options, crew, measured));
  }
  return ok_status();
}

}  // namespace tessera::tools

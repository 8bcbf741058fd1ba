// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_move.h"

#include <array>
#include <chrono>
#include <span>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/same_places.h"
#include "tessera/reshard/reshard.h"
#include "tools/files/shard_files.h"
#include "tools/files/shard_names.h"
#include "tools/reshard/rank_maps.h"
#include "tools/reshard/while_answering.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// What every rank computes identically before they communicate.
struct Prepared {
  ShardNames in;
  ShardNames out;
  reshard::Reshard reshard;
  Tensor to;  ///< B, on its new places with --relabel
  RankMaps maps;
  std::optional<reshard::Relabelled> relabelled;
};

Result<reshard::PhysicalMesh> physical_of(const SamePlaces& places, const std::string& target) {
  if (target.empty()) return reshard::PhysicalMesh::around(places.a, places.b);
  TESSERA_TRY(const Machine machine, read_target(target));
  return reshard::PhysicalMesh::of(machine);
}

Result<Prepared> prepare(const Tensor& a, const Tensor& b, const ShardMove& move, int ranks) {
  TESSERA_TRY(ShardNames in, ShardNames::parse(move.in, "--in", a.placement.places()));
  TESSERA_TRY(ShardNames out, ShardNames::parse(move.out, "--out", b.placement.places()));
  if (in.pattern() == out.pattern()) {
    return Error{ErrorCode::kIo, cat("--in and --out are the same files, ", quote(move.in)),
                 std::nullopt, "name other files for --out"};
  }
  TESSERA_TRY(const SamePlaces places, same_places(a, b, !move.target.empty()));
  TESSERA_TRY(const reshard::PhysicalMesh physical, physical_of(places, move.target));
  TESSERA_TRY(reshard::Reshard reshard, reshard::Reshard::make(places.a, places.b, physical));
  std::optional<reshard::Relabelled> relabelled;
  Tensor to = b;
  if (move.relabel) {
    if (!PlaceNames::of(b).are_places()) {
      return Error{ErrorCode::kNotSupported,
                   "--relabel gives B other devices, and its files are named by the listed devices",
                   std::nullopt, "leave out --relabel, or the list of devices"};
    }
    TESSERA_TRY(relabelled, reshard::relabel(reshard));
  }
  if (relabelled && relabelled->changed) {
    TESSERA_TRY(to, parse_tensor(print_native(relabelled->to)));
    TESSERA_TRY(reshard, reshard::Reshard::make(places.a, to.placement, physical));
  }
  TESSERA_TRY(RankMaps maps, rank_maps_of(move.ranks_of_places, reshard, ranks));
  return Prepared{std::move(in), std::move(out),  std::move(reshard),
                  std::move(to), std::move(maps), std::move(relabelled)};
}

/// Microseconds since the last call.
class Stopwatch {
 public:
  std::int64_t lap() {
    const auto now = std::chrono::steady_clock::now();
    const auto passed = std::chrono::duration_cast<std::chrono::microseconds>(now - last_);
    last_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Work that may take long, and whose outcome is agreed on by all ranks.
Status settled(exchange::Agreement& agreement, const std::function<Status()>& work) {
  return agreement.settle(while_answering(agreement, work));
}

/// Combines the figures of all ranks.
Status add_up(exchange::Agreement& agreement, ShardMoved& moved) {
  ShardMoved::Largest& largest = moved.largest;
  const std::array<std::int64_t*, 6> sums = {&moved.sent_bytes,    &moved.local_bytes,
                                             &moved.packets,       &moved.files_read,
                                             &moved.files_written, &moved.file_bytes};
  const std::array<std::int64_t*, 8> tops = {
      &largest.sent_bytes,  &largest.received_bytes, &largest.partners,  &largest.staged_bytes,
      &largest.planning_us, &largest.reading_us,     &largest.moving_us, &largest.writing_us};
  std::vector<std::int64_t> mine;
  for (const std::int64_t* number : sums) mine.push_back(*number);
  TESSERA_TRY(const std::vector<std::int64_t> all, agreement.sums(mine));
  for (std::size_t i = 0; i < sums.size(); ++i) *sums[i] = all[i];
  mine.clear();
  for (const std::int64_t* number : tops) mine.push_back(*number);
  TESSERA_TRY(const std::vector<std::int64_t> most, agreement.largest(mine));
  for (std::size_t i = 0; i < tops.size(); ++i) *tops[i] = most[i];
  return ok_status();
}

/// The files of A and B that this rank reads and writes.
struct RankFiles {
  std::optional<ShardSource> source;
  std::optional<ShardOutput> output;
};

Status commit_all(exchange::Agreement& agreement, RankFiles& files) {
  Status committed = settled(agreement, [&] { return files.output->commit(); });
  if (committed) return committed;
  Error error = committed.error();
  error.help += cat(error.help.empty() ? "" : "; ",
                    "other files may already exist, each of them complete: run it again");
  return error;
}

/// Moves the data and shows the progress.
Status run_shown(exchange::Resharder& resharder, RankFiles& files, bool progress,
                 Console& console) {
  ProgressBar bar(console.err, progress, /*total=*/0, console.terminal.width);
  resharder.on_progress([&bar](std::int64_t done, std::int64_t all) {
    bar.total().store(all);
    bar.done().store(done);
  });
  const Status ran = resharder.run(files.source->bytes(), files.output->bytes());
  resharder.on_progress({});
  return ran;
}

/// The figures of this rank.
void note_totals(const exchange::RankTotals& totals, const RankFiles& files, ShardMoved& moved) {
  moved.sent_bytes = moved.largest.sent_bytes = totals.sent_bytes;
  moved.largest.received_bytes = totals.received_bytes;
  moved.largest.partners = totals.partners;
  moved.largest.staged_bytes = totals.staged_bytes;
  moved.local_bytes = totals.local_bytes;
  moved.packets = totals.packets_sent;
  moved.files_read = files.source->files();
  moved.files_written = files.output->files();
  moved.file_bytes = files.output->file_bytes();
  moved.array = files.output->array();
}

}  // namespace

Result<ShardMoved> move_shards(const Tensor& a, const Tensor& b, const ShardMove& move,
                               exchange::Agreement& agreement, Console& console) {
  Stopwatch watch;
  ShardMoved moved;
  moved.ranks = agreement.ranks();
  std::optional<Prepared> prepared;
  const Status planned = settled(agreement, [&]() -> Status {
    TESSERA_TRY(prepared, prepare(a, b, move, agreement.ranks()));
    return ok_status();
  });
  if (!planned.ok()) return planned.error();
  TESSERA_TRY(exchange::Resharder resharder,
              exchange::Resharder::make(agreement.exchange(), prepared->reshard,
                                        prepared->maps.from, prepared->maps.to, move.options));
  moved.largest.planning_us = watch.lap();

  RankFiles files;
  const ShardFiles in{a, prepared->in, resharder.from(), agreement.rank(), move.raw};
  const ShardFiles out{prepared->to, prepared->out, resharder.to(), agreement.rank(), move.raw};
  const Status was_read = settled(agreement, [&]() -> Status {
    TESSERA_TRY(files.source, ShardSource::read(in));
    const bool by_rank = prepared->in.key() == ShardKey::kRank;
    return check_apart(prepared->in, by_rank ? agreement.ranks() : a.placement.places(), out);
  });
  if (!was_read.ok()) return was_read.error();
  moved.largest.reading_us = watch.lap();
  const Status created = settled(agreement, [&]() -> Status {
    TESSERA_TRY(files.output, ShardOutput::create(out));
    return ok_status();
  });
  if (!created.ok()) return created.error();
  moved.largest.writing_us = watch.lap();

  TESSERA_CHECK_OK(run_shown(resharder, files, move.progress, console));
  moved.largest.moving_us = watch.lap();

  const Status finished = settled(agreement, [&]() -> Status {
    TESSERA_CHECK_OK(files.source->check());
    return files.output->finish();
  });
  if (!finished.ok()) return finished.error();
  TESSERA_CHECK_OK(commit_all(agreement, files));
  moved.largest.writing_us += watch.lap();

  moved.from_places = a.placement.places();
  moved.to_places = b.placement.places();
  moved.relabelled = std::move(prepared->relabelled);
  note_totals(resharder.totals(), files, moved);
  TESSERA_CHECK_OK(add_up(agreement, moved));
  return moved;
}

}  // namespace tessera::tools

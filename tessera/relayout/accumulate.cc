// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/accumulate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"
#include "tessera/relayout/jobs/moves.h"
#include "tessera/relayout/jobs/run_table.h"
#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {

struct Accumulate::Body {
  Program program;
  Moves moves;
};

namespace {

/// All nests of a copy together, row by row.
class CombineRows final : public Job {
 public:
  /// `scatters`: the destination is the larger side; its lines are prefetched.
  CombineRows(RunTable table, Combiner combiner, std::int64_t width, bool scatters)
      : blocks_(std::move(table)), combiner_(combiner), width_(width), scatters_(scatters) {
    constexpr std::int64_t kAheadBytes = 8192;
    const auto columns = static_cast<std::int64_t>(blocks_.table().columns.size());
    const std::int64_t average = blocks_.table().column_bytes / columns;
    ahead_ = static_cast<std::size_t>(std::clamp<std::int64_t>(kAheadBytes / average, 1, columns));
  }

  std::int64_t items(int) const override { return blocks_.items(); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    const std::vector<Stretch>& columns = blocks_.table().columns;
    const auto ask = [&](const Offsets& at, const Stretch& column) {
      prefetch(scatters_ ? arrays.to + at.dst + column.to : arrays.from + at.src + column.from,
               column.bytes);
    };
    blocks_.for_each(
        first, last,
        [&](const Offsets& at, const Offsets& next, std::size_t begin, std::size_t end) {
          for (std::size_t c = begin; c < end; ++c) {
            const std::size_t soon = c + ahead_;
            const bool here = soon < columns.size();
            ask(here ? at : next, columns[here ? soon : soon - columns.size()]);
            combiner_.combine_all(arrays.to + at.dst + columns[c].to,
                                  arrays.from + at.src + columns[c].from,
                                  columns[c].bytes / width_);
          }
        });
  }

  std::string describe() const override {
    return cat("combine_runs: ", blocks_.table().columns.size(), " runs per row, ", blocks_.rows(),
               " rows");
  }

 private:
  RowBlocks blocks_;
  Combiner combiner_;
  std::int64_t width_;
  bool scatters_;
  std::size_t ahead_;  ///< columns between prefetching bytes and combining them
};

/// One nest, for copies whose tables would be too long. Steps in elements.
class CombineNest final : public Job {
 public:
  CombineNest(FlatNest nest, Combiner combiner, std::int64_t width)
      : nest_(std::move(nest)), combiner_(combiner), width_(width) {
    if (nest_.axes.empty()) return;
    last_ = nest_.axes.back();
    nest_.axes.pop_back();
  }

  std::int64_t items(int) const override { return nest_.steps(); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    const bool run = last_.src == 1 && last_.dst == 1;
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(nest_.axes, i);
      const std::byte* from = arrays.from + (nest_.src + at.src) * width_;
      std::byte* to = arrays.to + (nest_.dst + at.dst) * width_;
      if (run) {
        combiner_.combine_all(to, from, last_.extent);
        continue;
      }
      for (std::int64_t k = 0; k < last_.extent; ++k) {
        combiner_.combine_all(to + k * last_.dst * width_, from + k * last_.src * width_, 1);
      }
    }
  }

  std::string describe() const override {
    return cat("combine_nest: ", nest_.steps() * last_.extent, " elements");
  }

 private:
  FlatNest nest_;
  Combiner combiner_;
  std::int64_t width_;
  Axis last_;
};

}  // namespace

Result<Accumulate> Accumulate::make(Program program, Reduction reduction) {
  const DType type = program.to.storage();
  if (program.from.storage() != type) {
    return Error{ErrorCode::kNotSupported,
                 cat("shares of type ", dtype_name(program.from.storage()),
                     " cannot be combined with ", dtype_name(type)),
                 std::nullopt, "cast them first"};
  }
  if (!program.fills.empty()) {
    return Error{ErrorCode::kNotSupported,
                 cat("a program with ", program.fills.size(), " fills cannot combine"),
                 std::nullopt, "make the program with PaddingRule::kLeave"};
  }
  TESSERA_TRY(const Combiner combiner, combiner_of(reduction, type));
  const std::int64_t width = *dtype_bits(type) / 8;
  auto body = std::make_shared<Body>();
  // Rows in the order of the side that is less likely to be in the caches.
  const bool scatters = program.to.bytes >= program.from.bytes;
  const auto by = scatters ? &Offsets::dst : &Offsets::src;
  for (const Refinement& copy : program.copies) {
    if (copy.nests() == 0) continue;
    if (auto table = RunTable::make(copy, program.from, program.to, width, by)) {
      body->moves.copies.push_back(
          std::make_unique<CombineRows>(*std::move(table), combiner, width, scatters));
      continue;
    }
    for (std::int64_t i = 0; i < copy.nests(); ++i) {
      body->moves.copies.push_back(std::make_unique<CombineNest>(
          flatten(copy.nest(i), program.from, program.to), combiner, width));
    }
  }
  body->program = std::move(program);
  return Accumulate(std::move(body));
}

const Program& Accumulate::program() const { return body_->program; }

Status Accumulate::run(std::span<const std::byte> from, std::span<std::byte> to,
                       ThreadPool& pool) const {
  TESSERA_CHECK_OK(check_sizes(body_->program, from.size(), to.size()));
  TESSERA_TRY(const bool fits, body_->moves.run(from, to, pool));
  static_cast<void>(fits);  // nothing is cast
  return ok_status();
}

}  // namespace tessera::relayout

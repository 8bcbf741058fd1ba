// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/pyflame/deal.h"

#include <algorithm>
#include <cassert>

#include "tessera/base/checked.h"

namespace tessera::notation {

Result<PyflameDeal> PyflameDeal::make(int axis, std::int64_t extent, std::int64_t pes,
                                      std::int64_t block) {
  assert(extent >= 0 && pes >= 1 && block >= 1);
  PyflameDeal deal;
  deal.axis = axis;
  deal.extent = extent;
  deal.pes = pes;
  deal.block = std::clamp<std::int64_t>(block, 1, std::max<std::int64_t>(extent, 1));
  TESSERA_TRY(deal.tile, (Checked(deal.rounds()) * deal.block).value("the extent of a tile"));
  return deal;
}

PyflameDeal PyflameDeal::local(std::int64_t extent) {
  PyflameDeal deal;
  deal.extent = extent;
  deal.block = std::max<std::int64_t>(extent, 1);
  deal.tile = extent;
  return deal;
}

Result<PyflameDeal> PyflameDeal::over_both(std::int64_t extent, std::int64_t rows,
                                           std::int64_t cols) {
  TESSERA_TRY(const std::int64_t pes, (Checked(rows) * cols).value("the number of PEs"));
  const int axis = static_cast<int>(PyflameLayout::kBothAxes);
  TESSERA_TRY(PyflameDeal deal,
              make(axis, extent, pes, std::max<std::int64_t>(ceil_div(extent, pes), 1)));
  deal.cols = cols;
  return deal;
}

bool PyflameDeal::uses(int pe_axis) const {
  return axis == pe_axis || axis == PyflameLayout::kBothAxes;
}

std::int64_t PyflameDeal::blocks() const { return ceil_div(extent, block); }

std::int64_t PyflameDeal::rounds() const { return ceil_div(blocks(), pes); }

std::int64_t PyflameDeal::pe_of(std::int64_t x) const { return x / block % pes; }

std::int64_t PyflameDeal::local_of(std::int64_t x) const {
  return x / block / pes * block + x % block;
}

std::int64_t PyflameDeal::held_by(std::int64_t pe) const {
  const std::int64_t all = blocks();
  const std::int64_t mine = all / pes + (pe < all % pes ? 1 : 0);
  if (mine == 0) return 0;
  // Only the very last block may be short.
  const bool has_last = pe == (all - 1) % pes;
  const std::int64_t missing = has_last && extent % block != 0 ? block - extent % block : 0;
  return mine * block - missing;
}

Result<Fold> PyflameDeal::fold(int dim, std::int64_t slot_stride) const {
  Fold fold;
  fold.terms = {{dim, 1}};
  if (rounds() > 1) {
    TESSERA_TRY(const std::int64_t width, (Checked(block) * pes).value("a round of blocks"));
    TESSERA_TRY(const std::int64_t stride, (Checked(slot_stride) * block).value("a tile's stride"));
    fold.cuts.push_back({width, rounds(), Target::memory(), stride, Cause::kGrid});
  }
  const bool both = axis == PyflameLayout::kBothAxes;
  if (both && pes > cols) {
    TESSERA_TRY(const std::int64_t width, (Checked(block) * cols).value("a row of blocks"));
    fold.cuts.push_back({width, pes / cols, Target::mesh(0), 1, Cause::kGrid});
  }
  if (both && cols > 1) fold.cuts.push_back({block, cols, Target::mesh(1), 1, Cause::kGrid});
  if (!both && pes > 1) fold.cuts.push_back({block, pes, Target::mesh(axis), 1, Cause::kGrid});
  fold.cuts.push_back(
      {1, std::min(block, extent), Target::memory(), slot_stride, Cause::kAlignment});
  return fold;
}

}  // namespace tessera::notation

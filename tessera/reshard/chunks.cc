// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/chunks.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/slice.h"
#include "tessera/reshard/costs/flow_cost.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {

namespace {

/// The time of a trial grows with the places along the axes, so long axes get fewer trials.
constexpr std::int64_t kMaxTrials = std::int64_t{1} << 15;
constexpr std::int64_t kPlacesOfATrial = 1024;

Result<Form> sliced(const Form& form, const ChunkSlice& slice) {
  Form part = form;
  for (std::size_t dim = 0; dim < slice.start.size(); ++dim) {
    TESSERA_TRY(part, slice_dim(part, static_cast<int>(dim), slice.start[dim], slice.count[dim],
                                slice.step[dim]));
  }
  return part;
}

Result<Layout> sliced(const Layout& layout, const ChunkSlice& slice) {
  LayoutSpec spec = layout.spec();
  TESSERA_TRY(spec.form, sliced(layout.form(), slice));
  spec.slots = layout.slots();
  return Layout::make(std::move(spec));
}

/// The part of a slice inside a box, counted from the box's corner; `from` and `to` are the box in
/// the slice's own indices.
struct SliceInBox {
  ChunkSlice slice;
  Box box;
};
std::optional<SliceInBox> meet(const ChunkSlice& slice, const Box& box) {
  SliceInBox in{slice, {slice.start, slice.start}};
  for (std::size_t dim = 0; dim < slice.start.size(); ++dim) {
    const std::int64_t start = slice.start[dim];
    const std::int64_t step = slice.step[dim];
    const auto first = [&](std::int64_t index) {
      return index <= start ? 0 : std::min(slice.count[dim], ceil_div(index - start, step));
    };
    in.box.from[dim] = first(box.from[dim]);
    in.box.to[dim] = first(box.to[dim]);
    if (in.box.from[dim] >= in.box.to[dim]) return std::nullopt;
    in.slice.start[dim] = start + step * in.box.from[dim] - box.from[dim];
    in.slice.count[dim] = in.box.to[dim] - in.box.from[dim];
  }
  return in;
}

Result<Placement> sliced(const Placement& placement, const ChunkSlice& slice) {
  if (const Layout* layout = placement.layout()) {
    TESSERA_TRY(Layout part, sliced(*layout, slice));
    return Placement(std::move(part));
  }
  if (const View* view = placement.view()) {
    TESSERA_TRY(Form form, sliced(view->form(), slice));
    TESSERA_TRY(View part, View::make(std::move(form), view->dtype(), view->atom(), view->slots()));
    return Placement(std::move(part));
  }
  std::vector<LayoutPiece> pieces;
  for (const LayoutPiece& piece : placement.pieces()->pieces()) {
    const std::optional<SliceInBox> in = meet(slice, piece.box);
    if (!in) continue;
    TESSERA_TRY(Layout part, sliced(piece.layout, in->slice));
    pieces.push_back({in->box, std::move(part)});
  }
  TESSERA_TRY(Shape shape, Shape::make(slice.count));
  // The slots are those of the whole placement, where pieces do not overlap.
  TESSERA_TRY(Piecewise part, Piecewise::by_rule(std::move(shape), std::move(pieces)));
  return Placement(std::move(part));
}

/// Searches for cuts that keep the incoming bytes within a budget.
class CutSearch {
 public:
  CutSearch(const Reshard& reshard, std::int64_t budget) : reshard_(reshard), budget_(budget) {}

  Result<Chunks> run() {
    Chunks chunks;
    TESSERA_TRY(const MostReceived whole, most_received(reshard_));
    chunks.whole_bytes = chunks.staging_bytes = whole.bytes;
    if (whole.bytes <= budget_) return chunks;
    if (budget_ < reshard_.bytes(1)) return one_element_is_too_much(reshard_.bytes(1));
    // Rounds divide what a place receives, so there are at least this many.
    std::int64_t least = 1;
    TESSERA_CHECK_OK(multiply(least, ceil_div(whole.bytes, budget_)));
    const std::size_t rank = reshard_.to().shape().rank();
    std::vector<bool> is_cut(rank, false);
    std::int64_t arriving = whole.bytes;
    while (true) {
      TESSERA_TRY(std::optional<Chunks> found, cut_one_more(chunks, is_cut, arriving));
      if (found) return *std::move(found);
      // No single dim is enough: the one that helps most is cut into single indices.
      std::optional<int> best;
      Status few_enough = ok_status();
      for (std::size_t dim = 0; dim < rank; ++dim) {
        if (is_cut[dim] || extent(dim) == 1) continue;
        std::int64_t rounds = chunks.rounds;
        if (Status status = multiply(rounds, extent(dim)); !status) {
          few_enough = std::move(status);
          continue;
        }
        TESSERA_TRY(const std::int64_t bytes, most_bytes(with(chunks, single_indices(dim))));
        if (best && bytes >= arriving) continue;
        best = static_cast<int>(dim);
        arriving = bytes;
      }
      if (!best && !few_enough) return few_enough.error();
      if (!best) return one_element_is_too_much(arriving);
      const auto dim = static_cast<std::size_t>(*best);
      is_cut[dim] = true;
      chunks.cuts.push_back(single_indices(dim));
      TESSERA_CHECK_OK(multiply(chunks.rounds, extent(dim)));
    }
  }

 private:
  std::int64_t extent(std::size_t dim) const { return reshard_.to().shape()[dim]; }
  ChunkCut single_indices(std::size_t dim) const {
    return {static_cast<int>(dim), extent(dim), false};
  }

  Status multiply(std::int64_t& rounds, std::int64_t by) const {
    const std::int64_t product = (Checked(rounds) * by).saturated();
    if (product > kMaxRounds) {
      return Error{
          ErrorCode::kTooLarge,
          cat("with ", budget_, " bytes of staging more than ", kMaxRounds, " rounds are needed"),
          std::nullopt, "use more staging per place"};
    }
    rounds = product;
    return ok_status();
  }

  Error one_element_is_too_much(std::int64_t bytes) const {
    return Error{
        ErrorCode::kDoesNotFit,
        cat("a single element brings ", bytes, " bytes to a place, and its staging has ", budget_),
        std::nullopt, "use more staging per place"};
  }

  /// The bytes that arrive in round `round`.
  Result<std::int64_t> bytes_in(const Chunks& chunks, std::int64_t round) {
    std::int64_t along_axes = 0;
    for (const std::int64_t extent : reshard_.physical().mesh.extents()) along_axes += extent;
    trials_ += 1 + along_axes / kPlacesOfATrial;
    if (trials_ > kMaxTrials) {
      return Error{
          ErrorCode::kTooLarge,
          cat("no schedule with ", budget_, " bytes of staging was found within the limit"),
          std::nullopt, "use more staging per place"};
    }
    const ChunkSlice slice = slice_of(chunks, reshard_.to().shape(), round);
    TESSERA_TRY(const Reshard part, restricted(reshard_, slice));
    TESSERA_TRY(const MostReceived most, most_received(part));
    return most.bytes;
  }
  /// The most that arrives in any round.
  Result<std::int64_t> most_bytes(const Chunks& chunks) {
    std::int64_t most = 0;
    for (std::int64_t round = 0; round < chunks.rounds; ++round) {
      TESSERA_TRY(const std::int64_t bytes, bytes_in(chunks, round));
      most = std::max(most, bytes);
    }
    return most;
  }

  static Chunks with(Chunks chunks, const ChunkCut& cut) {
    chunks.cuts.push_back(cut);
    chunks.rounds *= cut.parts;
    return chunks;
  }

  /// `chunks` with the most that arrives in a round; empty when that is over the budget.
  Result<std::optional<Chunks>> within_budget(Chunks chunks) {
    chunks.staging_bytes = 0;
    for (std::int64_t round = 0; round < chunks.rounds; ++round) {
      TESSERA_TRY(const std::int64_t bytes, bytes_in(chunks, round));
      if (bytes > budget_) return std::optional<Chunks>();
      chunks.staging_bytes = std::max(chunks.staging_bytes, bytes);
    }
    return std::optional(std::move(chunks));
  }

  /// The fewest parts of one more dim. A part that holds only index 0 receives no more than any
  /// other part that contains index 0, so a dim for which even that is too much is skipped.
  Result<std::optional<Chunks>> cut_one_more(const Chunks& base, const std::vector<bool>& is_cut,
                                             std::int64_t arriving) {
    std::vector<std::size_t> dims;
    std::int64_t longest = 0;
    for (std::size_t dim = 0; dim < is_cut.size(); ++dim) {
      if (is_cut[dim] || extent(dim) == 1) continue;
      TESSERA_TRY(const std::int64_t bytes, bytes_in(with(base, single_indices(dim)), 0));
      if (bytes > budget_) continue;
      dims.push_back(dim);
      longest = std::max(longest, extent(dim));
    }
    if (dims.empty()) return std::optional<Chunks>();
    const std::int64_t least = std::max<std::int64_t>(1, ceil_div(arriving, budget_));
    for (std::int64_t parts = least; parts <= longest; ++parts) {
      std::int64_t rounds = base.rounds;
      TESSERA_CHECK_OK(multiply(rounds, parts));
      for (const std::size_t dim : dims) {
        if (parts > extent(dim)) continue;
        const std::int64_t block = ceil_div(extent(dim), parts);
        for (const bool dealt : {false, true}) {
          if (!dealt && ceil_div(extent(dim), block) != parts) continue;
          TESSERA_TRY(std::optional<Chunks> found,
                      within_budget(with(base, {static_cast<int>(dim), parts, dealt})));
          if (found) return found;
        }
      }
    }
    return std::optional<Chunks>();
  }

  const Reshard& reshard_;
  std::int64_t budget_;
  std::int64_t trials_ = 0;
};

}  // namespace

std::int64_t ChunkSlice::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t n : count) product *= n;
  return product;
}

ChunkSlice slice_of(const Chunks& chunks, const Shape& shape, std::int64_t round) {
  ChunkSlice slice;
  slice.start.assign(shape.rank(), 0);
  slice.step.assign(shape.rank(), 1);
  slice.count = shape.extents();
  for (std::size_t i = chunks.cuts.size(); i-- > 0;) {
    const ChunkCut& cut = chunks.cuts[i];
    const auto dim = static_cast<std::size_t>(cut.dim);
    const std::int64_t part = round % cut.parts;
    round /= cut.parts;
    if (cut.dealt) {
      slice.start[dim] = part;
      slice.step[dim] = cut.parts;
      slice.count[dim] = ceil_div(shape[dim] - part, cut.parts);
    } else {
      const std::int64_t block = ceil_div(shape[dim], cut.parts);
      slice.start[dim] = part * block;
      slice.count[dim] = std::min(block, shape[dim] - part * block);
    }
  }
  return slice;
}

Result<Reshard> restricted(const Reshard& reshard, const ChunkSlice& slice) {
  TESSERA_TRY(const Placement from, sliced(reshard.from(), slice));
  TESSERA_TRY(const Placement to, sliced(reshard.to(), slice));
  return Reshard::make(from, to, reshard.physical());
}

Result<Chunks> chunk(const Reshard& reshard, std::int64_t staging_bytes) {
  return CutSearch(reshard, staging_bytes).run();
}

Result<MostReceived> most_received(const Reshard& reshard) {
  constexpr std::int64_t kMaxPairs = std::int64_t{1} << 22;
  PlaceLoad most;
  TESSERA_TRY(const std::optional<FlowTables> tables, flow_tables(reshard));
  if (tables) {
    most = busiest_destination(*tables, rows_and_columns(reshard.physical()));
  } else {
    TESSERA_TRY(const std::vector<PairBytes> pairs, pairs_of(reshard, kMaxPairs));
    std::unordered_map<std::int64_t, std::int64_t> received;
    for (const PairBytes& pair : pairs) received[pair.destination] += pair.elements;
    for (const PairBytes& pair : pairs) most.see(received[pair.destination], pair.destination);
  }
  return MostReceived{reshard.bytes(most.load), most.place};
}

}  // namespace tessera::reshard

// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/halo_exchange.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/ops/blocks.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

Result<View> window(const View& view, int dim, std::int64_t tiles, std::int64_t extent,
                    std::int64_t step, std::int64_t start) {
  const auto rank = static_cast<int>(view.shape().rank());
  if (dim < 0 || dim >= rank) {
    return Error{ErrorCode::kBadView, cat("dim ", dim, " of a view of rank ", rank), std::nullopt,
                 "dims count from 0"};
  }
  if (tiles < 0 || extent < 0 || step < 0 || start < 0) {
    return Error{ErrorCode::kBadView,
                 cat(tiles, " tiles of ", extent, " elements, ", step, " apart, from ", start)};
  }
  const std::int64_t size = view.shape()[static_cast<std::size_t>(dim)];
  const Checked last = Checked(step) * (tiles - 1) + start + extent;
  if (tiles > 0 && extent > 0 && (last.overflowed() || last.raw() > size)) {
    return Error{ErrorCode::kBadView,
                 cat("the last of ", tiles, " tiles ends at ", last.saturated(), " of ", size),
                 std::nullopt, "tiles lie inside the dim; cut those at the end off"};
  }
  Access access;
  std::vector<Range> ranges;
  int next = 0;
  for (int d = 0; d < rank; ++d) {
    if (d == dim) {
      access.dims.push_back(at(next, step) + at(next + 1) + start);
      ranges.insert(ranges.end(), {{0, tiles}, {0, extent}});
      next += 2;
    } else {
      access.dims.push_back(at(next++));
      ranges.push_back({0, view.shape()[static_cast<std::size_t>(d)]});
    }
  }
  TESSERA_TRY(Form form, pull_back(view.form(), access, ranges));
  return View::make(std::move(form), view.dtype(), view.atom(), view.slots());
}

namespace {

/// Neighbouring tiles of a dim that are cut off alike: x = start + step·k + j.
struct Tiles {
  std::int64_t first = 0;  ///< mesh coordinate of the first, in units of the digit
  std::int64_t count = 1;
  std::int64_t start = 0;    ///< the first element of the first tile
  std::int64_t extent = 0;   ///< elements of each
  std::int64_t skipped = 0;  ///< elements of the extended block before the first
};

std::vector<Tiles> tiles_of(const Blocks& blocks, std::int64_t extent, const Halo& halo,
                            std::int64_t readers) {
  std::vector<Tiles> all;
  const std::int64_t first_block = blocks.start / blocks.width;
  const std::int64_t last_block = (extent - 1 + blocks.start) / blocks.width;
  const std::int64_t first = readers > 0 ? 0 : first_block;
  for (std::int64_t c = first; c <= std::max(last_block, readers - 1); ++c) {
    const bool is_empty = c < first_block || c > last_block;
    const std::int64_t block =
        is_empty ? blocks.of(c, extent).from : c * blocks.width - blocks.start;
    const std::int64_t from = block - halo.before;
    const std::int64_t to = block + (is_empty ? 0 : blocks.width) + halo.after;
    const std::int64_t begin = std::max<std::int64_t>(from, 0);
    const std::int64_t end = std::min(to, extent);
    if (begin >= end) continue;
    const Tiles tile{c, 1, begin, end - begin, begin - from};
    const bool whole = from >= 0 && to <= extent && !is_empty;
    const bool joins = whole && !all.empty() && all.back().skipped == 0 &&
                       all.back().extent == to - from &&
                       all.back().start + all.back().count * blocks.width == begin;
    if (joins) {
      ++all.back().count;
    } else {
      all.push_back(tile);
    }
  }
  return all;
}

/// A dim of the operand that has a halo.
struct Divided {
  std::size_t dim = 0;
  Blocks blocks;
  Halo halo;
  std::vector<Tiles> tiles;
};

class Exchange {
 public:
  Exchange(const Layout& operand, std::vector<Divided> divided)
      : operand_(operand), divided_(std::move(divided)) {}

  /// The part with these tiles of each divided dim.
  Result<HaloPart> part(const std::vector<std::size_t>& choice) const {
    View from = View::of(operand_);
    for (std::size_t n = divided_.size(); n-- > 0;) {
      const Tiles& tiles = divided_[n].tiles[choice[n]];
      TESSERA_TRY(from, window(from, static_cast<int>(divided_[n].dim), tiles.count, tiles.extent,
                               divided_[n].blocks.width, tiles.start));
    }
    TESSERA_TRY(Layout to, destination(choice, from.shape()));
    return HaloPart{std::move(from), std::move(to)};
  }

 private:
  const Divided* divided_at(std::size_t dim, std::size_t& number) const {
    for (number = 0; number < divided_.size(); ++number) {
      if (divided_[number].dim == dim) return &divided_[number];
    }
    return nullptr;
  }

  /// The extended blocks, row-major on each place. Dims without a halo lie over the mesh as before.
  Result<Layout> destination(const std::vector<std::size_t>& choice, const Shape& shape) const {
    const Form& before = operand_.form();
    Form form;
    form.shape = shape;
    form.mesh = before.mesh;
    form.fills = before.fills;
    Checked stride(1);
    Checked offset(0);
    int position = static_cast<int>(shape.rank());
    for (std::size_t d = operand_.shape().rank(); d-- > 0;) {
      std::size_t number = 0;
      if (const Divided* divided = divided_at(d, number)) {
        const Tiles& tiles = divided->tiles[choice[number]];
        const Blocks& blocks = divided->blocks;
        TESSERA_TRY(const std::int64_t step, stride.value("a stride"));
        position -= 2;
        form.folds.push_back(
            {{Term{position + 1, 1}}, 0, {{1, tiles.extent, Target::memory(), step}}});
        form.folds.push_back({{Term{position, 1}},
                              tiles.first,
                              {{1, tiles.first + tiles.count, Target::mesh(blocks.axis),
                                blocks.stride, Cause::kGrid}}});
        offset += stride * tiles.skipped;
        stride *= Checked(blocks.width) + divided->halo.before + divided->halo.after;
        continue;
      }
      --position;
      for (const Fold& fold : before.folds) {
        if (fold.terms.size() != 1 || fold.terms[0].dim != static_cast<int>(d)) continue;
        Fold made = fold;
        made.terms[0].dim = position;
        const std::vector<std::int64_t> needed = fold.needed(operand_.shape());
        for (std::size_t k = made.cuts.size(); k-- > 0;) {
          Cut& cut = made.cuts[k];
          cut.count = needed[k];
          if (!cut.target.is_memory()) continue;
          TESSERA_TRY(cut.stride, stride.value("a stride"));
          stride *= std::max<std::int64_t>(cut.count, 1);
        }
        form.folds.push_back(std::move(made));
      }
    }
    TESSERA_TRY(form.offset, offset.value("an offset"));
    LayoutSpec spec;
    TESSERA_TRY(spec.slots, stride.value("the slots of the new buffer"));
    spec.form = std::move(form);
    spec.dtype = operand_.dtype();
    spec.atom = Atom::scalar(operand_.atom().storage);
    spec.device_map = operand_.spec().device_map;
    spec.space = operand_.spec().space;
    return Layout::make(std::move(spec));
  }

  const Layout& operand_;
  std::vector<Divided> divided_;
};

Error not_supported(std::string message) {
  return {ErrorCode::kNotSupported, std::move(message), std::nullopt,
          "cut the dim into contiguous blocks along one mesh axis"};
}

}  // namespace

Result<std::vector<HaloPart>> halo_exchange(const Layout& operand, const std::vector<Halo>& halos,
                                            const std::vector<std::int64_t>& readers) {
  if (halos.size() != operand.shape().rank()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat(halos.size(), " halos for a tensor of rank ", operand.shape().rank()),
                 std::nullopt, "one for each dim"};
  }
  const Form& form = operand.form();
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kPartial && fill.count > 1) {
      return not_supported(cat("mesh axis ", fill.axis, " holds shares"));
    }
  }
  for (const Fold& fold : form.folds) {
    if (fold.terms.size() > 1) return not_supported("a fold joins several dims");
  }
  std::vector<HaloPart> parts;
  if (operand.shape().empty()) return parts;
  std::vector<Divided> divided;
  for (std::size_t d = 0; d < halos.size(); ++d) {
    if (halos[d] == Halo{}) continue;
    Divided one{d, {}, halos[d], {}};
    if (division_of(form, static_cast<int>(d), one.blocks) != HowDivided::kBlocks) {
      return not_supported(cat("dim ", d, " has a halo but is not divided into blocks"));
    }
    one.tiles =
        tiles_of(one.blocks, operand.shape()[d], halos[d], readers.empty() ? 0 : readers[d]);
    divided.push_back(std::move(one));
  }
  const Exchange exchange(operand, divided);
  std::vector<std::size_t> choice(divided.size());
  while (true) {
    TESSERA_TRY(HaloPart part, exchange.part(choice));
    parts.push_back(std::move(part));
    std::size_t n = divided.size();
    while (n > 0 && ++choice[n - 1] == divided[n - 1].tiles.size()) choice[--n] = 0;
    if (n == 0) return parts;
  }
}

}  // namespace tessera::ops

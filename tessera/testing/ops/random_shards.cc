// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/random_shards.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"

namespace tessera::test {
namespace {

/// A layout while it is drawn: first what each mesh axis does, then the order of memory.
class Shards {
 public:
  Shards(Dice& dice, const graph::TensorType& type, const Shape& mesh) : dice_(dice), type_(type) {
    form_.shape = type.shape;
    form_.mesh = mesh;
    for (std::size_t d = 0; d < type.shape.rank(); ++d) {
      form_.folds.push_back({{Term{static_cast<int>(d), 1}}, 0, {}});
    }
  }

  void axis(int a) {
    const std::int64_t places = form_.mesh[static_cast<std::size_t>(a)];
    const std::int64_t way = dice_.below(100);
    if (way < 60 && divided(a, places)) return;
    if (way < 72) {
      form_.fills.push_back(Fill::replicate(a, places));
    } else if (way < 80) {
      const Range range = some_of(places);
      form_.fills.push_back(Fill::replicate(a, range.count, range.stride));
      form_.fills.push_back(Fill::fixed(a, range.origin));
    } else if (way < 84) {
      form_.fills.push_back(Fill::partial(a, places, Reduction::kSum));
    } else {
      form_.fills.push_back(Fill::fixed(a, dice_.below(places)));
    }
  }
  void told(const Fill& fill) { form_.fills.push_back(fill); }

  Layout in_memory() && {
    const std::size_t rank = form_.folds.size();
    const std::int64_t kind = dice_.below(100);
    Atom atom = Atom::scalar(type_.dtype);
    std::vector<std::int64_t> inside(rank, 1);  // elements of a dim in one tile or stick
    if (kind < 25 && rank >= 2) {
      atom = Atom::tile(2, dice_.between(2, 3), type_.dtype);
      inside[rank - 2] = atom.rows;
      inside[rank - 1] = atom.cols;
    } else if (kind < 50 && rank >= 1) {
      const auto d = static_cast<std::size_t>(dice_.below(static_cast<std::int64_t>(rank)));
      inside[d] = dice_.between(2, 4);
    }
    std::vector<Cut*> inner;
    std::vector<std::vector<Cut*>> outer(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      Fold& fold = form_.folds[d];
      if (inside[d] > 1) fold.cuts.push_back({inside[d], 1, Target::memory(), 1, Cause::kTile});
      const bool ends = !fold.cuts.empty() && fold.cuts.back().width == 1;
      if (!ends) fold.cuts.push_back({1, 1, Target::memory(), 1, Cause::kAlignment});
      const std::vector<std::int64_t> needed = fold.needed(form_.shape);
      for (std::size_t k = 0; k < needed.size(); ++k) {
        Cut& cut = fold.cuts[k];
        const bool of_tile = inside[d] > 1 && k + 1 == needed.size();
        cut.count = of_tile ? inside[d] : needed[k];
        if (cut.target.is_memory()) (of_tile ? inner : outer[d]).push_back(&cut);
      }
    }
    std::vector<std::size_t> order = dice_.order(rank);
    if (dice_.chance(50)) std::ranges::sort(order);
    std::vector<Cut*> digits;
    for (const std::size_t d : order) digits.insert(digits.end(), outer[d].begin(), outer[d].end());
    digits.insert(digits.end(), inner.begin(), inner.end());
    std::int64_t stride = 1;
    for (std::size_t k = digits.size(); k-- > 0;) {
      digits[k]->stride = stride;
      stride *= std::max<std::int64_t>(digits[k]->count, 1);
    }
    return *Layout::make({std::move(form_), type_.dtype, atom, {}, {}, "", {}});
  }

 private:
  /// Some coordinates of an axis.
  struct Range {
    std::int64_t origin = 0;
    std::int64_t count = 1;
    std::int64_t stride = 1;
  };
  Range some_of(std::int64_t places) {
    Range range;
    range.origin = dice_.below(places);
    range.stride = dice_.chance(20) ? 2 : 1;
    range.count = dice_.between(1, ceil_div(places - range.origin, range.stride));
    return range;
  }

  /// False if the dice choose a dim that is divided already.
  bool divided(int a, std::int64_t places) {
    if (form_.folds.empty()) return false;
    const auto d = dice_.below(static_cast<std::int64_t>(form_.folds.size()));
    Fold& fold = form_.folds[static_cast<std::size_t>(d)];
    if (!fold.cuts.empty()) return false;
    const Range range = dice_.chance(40) ? some_of(places) : Range{0, places, 1};
    if (range.count == 1 || range.origin > 0) form_.fills.push_back(Fill::fixed(a, range.origin));
    if (range.count == 1) return true;
    const std::int64_t extent = form_.shape[static_cast<std::size_t>(d)];
    const Target there = Target::mesh(a);
    if (dice_.chance(20)) {  // dealt: cycles, then places, then what is left
      const std::int64_t block = dice_.between(1, 2);
      const std::int64_t cycle = block * range.count;
      fold.cuts = {{cycle, 1, Target::memory(), 1, Cause::kGrid},
                   {block, 1, there, range.stride, Cause::kGrid}};
      if (dice_.chance(30)) fold.start = dice_.below(cycle);
      return true;
    }
    const std::int64_t even = std::max<std::int64_t>(ceil_div(extent, range.count), 1);
    const std::int64_t block =
        dice_.chance(60) ? even : dice_.between(even, std::max(even, extent));
    fold.cuts = {{block, 1, there, range.stride, Cause::kGrid}};
    if (dice_.chance(50)) fold.start = dice_.between(0, block * range.count - extent);
    return true;
  }

  Dice& dice_;
  const graph::TensorType& type_;
  Form form_;
};

}  // namespace

Layout random_shards(Dice& dice, const graph::TensorType& type, const Shape& mesh,
                     const std::optional<Fill>& told) {
  Shards shards(dice, type, mesh);
  for (std::size_t a = 0; a < mesh.rank(); ++a) {
    if (told && told->axis == static_cast<int>(a)) {
      shards.told(*told);
    } else {
      shards.axis(static_cast<int>(a));
    }
  }
  return std::move(shards).in_memory();
}

}  // namespace tessera::test

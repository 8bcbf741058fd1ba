// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/slots/fold_classes.h"
#include "tools/show/show_notation.h"

namespace tessera::tools {
namespace {

using Counts = std::map<std::vector<std::int64_t>, std::int64_t, std::greater<>>;
constexpr std::size_t kMostKinds = std::size_t{1} << 12;

/// Settings of the fold's mesh digits in this class.
std::int64_t settings(const Fold& fold, const FoldClass& kind) {
  std::int64_t total = 0;
  for (const std::vector<DigitRange>& box : kind.boxes) {
    std::int64_t volume = 1;
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target.is_mesh()) volume *= box[k].to - box[k].from;
    }
    total += volume;
  }
  return total;
}

}  // namespace

Result<std::vector<TileShape>> tile_shapes(const Layout& layout) {
  const Form& form = layout.form();
  const std::size_t rank = layout.shape().rank();
  Counts counts = {{std::vector<std::int64_t>(rank, 0), 1}};
  for (const Fold& fold : form.folds) {
    if (fold.terms.size() != 1) {
      return Error{
          ErrorCode::kNotSupported, "a line of several dims has no tile shape", std::nullopt, {}};
    }
    TESSERA_TRY(const std::vector<FoldClass> kinds, fold_classes(fold, layout.shape()));
    Counts next;
    for (const auto& [shape, places] : counts) {
      for (const FoldClass& kind : kinds) {
        std::vector<std::int64_t> longer = shape;
        longer[static_cast<std::size_t>(fold.terms.front().dim)] = kind.elements;
        next[longer] += places * settings(fold, kind);
      }
    }
    if (next.size() > kMostKinds) {
      return Error{
          ErrorCode::kTooLarge, cat("more than ", kMostKinds, " kinds of tiles"), std::nullopt, {}};
    }
    counts = std::move(next);
  }
  std::int64_t with_data = 0;
  std::vector<TileShape> tiles;
  for (const auto& [shape, places] : counts) {
    tiles.push_back({places * form.replicas(), shape});
    with_data += tiles.back().places;
  }
  // Places next to a fixed coordinate belong to no tile.
  if (with_data < layout.places()) {
    tiles.push_back({layout.places() - with_data, std::vector<std::int64_t>(rank, 0)});
  }
  return tiles;
}

}  // namespace tessera::tools

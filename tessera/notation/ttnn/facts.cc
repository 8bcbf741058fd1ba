// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/checked.h"
#include "tessera/notation/ttnn/rule.h"
#include "tessera/notation/ttnn/terms.h"

namespace tessera::notation {
namespace {

/// The stride of each dim in the physical tensor, row-major over the map's lines; the volume comes
/// first.
Result<std::vector<std::int64_t>> strides_of_lines(const AffineMap& map,
                                                   const std::vector<std::int64_t>& physical) {
  std::vector<Checked> strides(static_cast<std::size_t>(map.dims), Checked(0));
  Checked below = 1;
  for (std::size_t line = physical.size(); line-- > 0;) {
    for (const Term& term : map.results[line].terms) {
      strides[static_cast<std::size_t>(term.dim)] += Checked(term.coef) * below;
    }
    below *= physical[line];
  }
  std::vector<std::int64_t> list;
  TESSERA_TRY(const std::int64_t volume, below.value("the physical volume"));
  list.push_back(volume);
  for (const Checked& stride : strides) {
    TESSERA_TRY(const std::int64_t step, stride.value("a stride"));
    list.push_back(step);
  }
  return list;
}

}  // namespace

Result<TtnnFacts> facts_of(const TtnnLayout& words, const Shape& shape) {
  TESSERA_TRY(const TtnnNumbers numbers, ttnn_numbers(words, shape));
  TtnnFacts facts;
  facts.grid_shape = words.is_sharded() ? words.grid : std::vector<std::int64_t>{1, 1};
  TESSERA_TRY(facts.stride, strides_of_lines(words.linear, numbers.physical));
  facts.physical_shape = numbers.physical;
  facts.shard_shape = numbers.shard;
  for (std::size_t line = 0; line < numbers.tile.size(); ++line) {
    const std::int64_t atoms = words.is_sharded() ? numbers.memref[line] : numbers.atoms[line];
    TESSERA_TRY(const std::int64_t padded, (Checked(atoms) * numbers.tile[line]).value("a shard"));
    facts.physical_shard_shape.push_back(padded);
  }
  return facts;
}

Result<TtnnFacts> facts_of(const TtnnTerms& words, const Shape& shape) {
  TESSERA_TRY(const TermsNumbers numbers, terms_numbers(words, shape));
  const auto list = [](const std::array<std::int64_t, 2>& pair) {
    return std::vector<std::int64_t>{pair[0], pair[1]};
  };
  return TtnnFacts{list(numbers.grid), words.stride, list(numbers.physical),
                   list(words.shard_shape), list(numbers.physical_shard)};
}

std::int64_t share_bytes(const TtnnLayout& words) {
  Checked slots = words.memref.element.elements();
  for (const std::int64_t extent : words.memref.shape) slots *= extent;
  return words.memref.element.bytes(slots.saturated()).value_or(INT64_MAX);
}

}  // namespace tessera::notation

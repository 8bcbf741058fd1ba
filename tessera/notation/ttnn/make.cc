// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/notation/ttnn/rule.h"

namespace tessera::notation {

Result<TtnnLayout> make_ttnn(const Shape& shape, const Atom& element, std::string_view space,
                             TtnnLayout::Memory memory, const std::vector<std::int64_t>& grid,
                             std::int64_t device_width) {
  TtnnLayout words;
  TESSERA_TRY(words.linear, ttnn_collapse(shape, element));
  words.grid = grid;
  words.memref.element = element;
  words.memref.space = space;
  words.memref.attribute = ttnn_buffer_type(space);
  words.memory = memory;
  TESSERA_TRY(const TtnnNumbers numbers, ttnn_numbers(words, shape));
  words.memref.shape = numbers.memref;
  if (words.is_sharded()) {
    const std::int64_t places = grid[0] * grid[1];
    const std::int64_t width = memory == TtnnLayout::Memory::kBlockSharded ? grid[1]
                               : space == "dram"                           ? places
                                                                           : device_width;
    words.core_ranges = canonical_core_ranges(places, std::max<std::int64_t>(width, 1));
  }
  return words;
}

}  // namespace tessera::notation

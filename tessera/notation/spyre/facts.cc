// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/facts.h"

#include <utility>

namespace tessera::notation {

Result<SpyreFacts> facts_of(const SpyreLayout& words, const Shape& shape, DType dtype) {
  SpyreFacts facts;
  SpyreLayout undivided = words;
  undivided.cores.clear();
  TESSERA_TRY(const Layout layout, lower(undivided, shape, dtype));
  facts.device_bytes = layout.allocated_bytes();
  TESSERA_TRY(SpyreLayout spelled, spelled_out(undivided, shape, dtype));
  facts.device_size = std::move(spelled.device_size);
  TESSERA_TRY(facts.elements_per_stick, elements_per_stick(dtype));
  TESSERA_TRY(facts.stride_map, stride_map_of(undivided, shape, dtype));
  Result<std::vector<std::int64_t>> dims = dim_map_of(undivided, shape, dtype);
  if (dims) facts.dim_map = *std::move(dims);
  Result<std::vector<SpyreNest>> nests = transfer_nests(undivided, shape, dtype);
  if (!nests) {
    if (nests.error().code != ErrorCode::kTooLarge) return nests.error();
    return facts;
  }
  facts.nest_count = static_cast<std::int64_t>(nests->size());
  facts.nests = *std::move(nests);
  if (facts.nests.size() > SpyreFacts::kMaxNests) facts.nests.resize(SpyreFacts::kMaxNests);
  return facts;
}

}  // namespace tessera::notation

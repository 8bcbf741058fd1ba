// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// Sections [from, to) that no block leaves: a problem of its own.
struct Part {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t peak = 0;          ///< of the plan that there is
  std::int64_t proven_bound = 0;  ///< what no plan of the part can go below
};

/// The parts of a packing, in the order of time (all of it as one unless `cut`), with their peaks
/// under a plan. False when memory is refused.
[[nodiscard]] bool parts_of(const Packing& packing, const Array<std::int64_t>& offsets, bool cut,
                            Array<Part>& parts);

/// A part as a packing, and which block of the whole each of its blocks is.
struct PartPacking {
  Packing packing;
  Array<std::int32_t> blocks;

  [[nodiscard]] bool take(const Packing& whole, const Part& part);
  /// The offsets of the part's blocks, out of the whole's and back.
  [[nodiscard]] bool get(const Array<std::int64_t>& whole, Array<std::int64_t>& offsets) const;
  void put(const Array<std::int64_t>& offsets, Array<std::int64_t>& whole) const;
};

}  // namespace tessera::memory

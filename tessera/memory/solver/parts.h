// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {

/// Sections [from, to) that no block leaves: an independent problem.
struct Part {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t peak = 0;          ///< of the current plan
  std::int64_t proven_bound = 0;  ///< no plan of the part has a lower peak
};

/// The parts of a packing, in the order of time (one part for everything unless `cut`), with their
/// peaks under a plan. False when memory is refused.
[[nodiscard]] bool parts_of(const Packing& packing, const Array<std::int64_t>& offsets, bool cut,
                            Array<Part>& parts);

/// A part as a packing, and the block of the whole for each of its blocks.
struct PartPacking {
  Packing packing;
  Array<std::int32_t> blocks;

  [[nodiscard]] bool take(const Packing& whole, const Part& part);
  /// Copies the offsets of the part's blocks out of those of the whole, and back.
  [[nodiscard]] bool get(const Array<std::int64_t>& whole, Array<std::int64_t>& offsets) const;
  void put(const Array<std::int64_t>& offsets, Array<std::int64_t>& whole) const;

 private:
  [[nodiscard]] bool take_strips(const Packing& whole, const Part& part);
};

}  // namespace tessera::memory

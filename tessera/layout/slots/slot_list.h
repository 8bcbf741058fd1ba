// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"

namespace tessera {

/// What every slot of every place holds, listed from the elements. Only slots without an element
/// are asked why.
/// Law: the same as contents_at for each slot, in order of places, then slots.
class SlotList {
 public:
  /// Error kTooLarge if there are more than `most` slots, or elements with their replicas, or when
  /// the budget of `Work` is spent.
  static Result<SlotList> make(const Placement& placement, std::int64_t most);

  /// Row-major numbers of the elements in slot number `at` (place·slots + slot), in increasing
  /// order.
  std::span<const std::pair<std::int64_t, std::int64_t>> elements(std::int64_t at) const;
  /// The cause of slot number `at`, which holds no element.
  Cause cause(std::int64_t at) const { return causes_[static_cast<std::size_t>(at)]; }
  /// The number of slots without element, by cause.
  const PaddingCount& padding() const { return padding_; }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> held_;  // slot number, element; sorted
  std::vector<Cause> causes_;                                // of every slot, where it has one
  PaddingCount padding_;
};

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

/// The number of slots, over all places, that hold at least one element.
/// Law: equals the number of different (place, slot) of all elements and their replicas.
///
/// Cost: strides are added as progressions. Those that continue or overlap each other join into
/// one, those that nest multiply, and two that remain are counted in closed form, so the cost does
/// not grow with the tensor for broadcasts, windows and any two strides. Other sets are kept as
/// runs of slots; kTooLarge beyond 2^22 of them, or when the budget of `Work` is spent.
/// Example: 8192x8192 with the strides [1, 1] uses 16383 slots.
Result<std::int64_t> used_slots(const Form& form);

/// Two elements in one slot of one place.
struct SharedSlot {
  Index first;  ///< smaller than `second`, row-major
  Index second;
  Place place;
  std::int64_t slot = 0;
  friend bool operator==(const SharedSlot&, const SharedSlot&) = default;
};

/// Two elements that share a slot although every dim has an effect on where elements are: windows
/// that overlap, or strides with a typo. A dim without effect (stride 0) repeats elements on
/// purpose and is left out, and so is a form with a digit that is placed nowhere.
/// Law: both elements of the result have this place and slot; empty if the form is injective.
/// Errors: those of `is_injective`.
/// Example: 4x6 with the strides [1, 1]: [0, 1] and [1, 0] share slot 1.
Result<std::optional<SharedSlot>> overlapping_elements(const Form& form);

}  // namespace tessera

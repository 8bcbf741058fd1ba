// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/layout/regions.h"

namespace tessera {

/// The number of allocated slots, over all places, that hold no element, by cause.
struct PaddingCount {
  std::int64_t total = 0;
  std::array<std::int64_t, kCauses> by_cause{};
  std::int64_t operator[](Cause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
  friend bool operator==(const PaddingCount&, const PaddingCount&) = default;
};

/// Law: equals counting element_at over every slot of every place. Closed form: the cost does not
/// grow with the tensor or the mesh, except for folds with an unplaced digit or entangled strides.
/// Those are enumerated, up to 2^22 slots; kTooLarge beyond.
Result<PaddingCount> padding(const Layout& layout);

/// The same for one place. All places of one class (`place_classes`) have the same padding.
Result<PaddingCount> padding_at(const Layout& layout, const Place& place);

/// Whether every allocated slot of every place holds an element.
Result<bool> is_exhaustive(const Layout& layout);

/// A loop over slots: `count` steps of `stride`.
struct Stride {
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const Stride&, const Stride&) = default;
};

/// A box of padding: the same slots on each place of a set, all with one cause.
struct PaddingRegion {
  Cause cause = Cause::kGap;
  PlaceSet places;
  std::int64_t first_slot = 0;
  std::vector<Stride> slots;
  std::int64_t slots_per_place() const;
};

/// Calls `visit` with disjoint boxes whose union is exactly the padding, one at a time, without
/// storing them all. Stops early if `visit` returns false. The data of a fold of n cuts without
/// gaps is at most n boxes if widths divide each other (2^(n-1) if not), and padding is the
/// complement of their product. Gaps inside a fold are enumerated run by run.
/// Law: each padding slot of each place is in exactly one region, with the cause of element_at.
Status padding_regions(const Layout& layout,
                       const std::function<bool(const PaddingRegion&)>& visit);

}  // namespace tessera

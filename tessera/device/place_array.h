// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "tessera/base/result.h"
#include "tessera/device/device.h"
#include "tessera/layout/placement.h"
#include "tessera/relayout/program.h"

namespace tessera::device {

/// The memory of all places of a buffer as one array that begins with slot 0 of place 0, where
/// places are at regular distances: place (i, j) of a grid is i·a + j·b bytes further. A program
/// between this array and one on the host then moves a whole tensor, in the order that is best for
/// the memories of both.
///
/// Example: 64x64 places of a wafer of 994x750 whose memories are 48 KiB apart in the process: the
/// element in slot s of place (i, j) is element (750·i + j)·12288 + s of the array, for f32.
class PlaceArray {
 public:
  /// Nothing where distances are not regular, or no multiples of an element, and for elements that
  /// have no address.
  static std::optional<PlaceArray> find(const PinnedBuffer& buffer, const Placement& placement);

  /// Programs that read or write only the elements of the tensor. Errors: those of
  /// relayout::make_program.
  Result<relayout::Program> from_host(const Placement& host) const;
  Result<relayout::Program> to_host(const Placement& host) const;

 private:
  relayout::Memory memory_;  // from the first place to the end of the last
  std::int64_t place_slots_ = 0;
  std::optional<Placement> placement_;  // on a mesh as wide as the distances
};

/// The placement with each of its layouts changed.
Result<Placement> with_changed_layouts(const Placement& placement,
                                       const std::function<void(LayoutSpec&)>& change);

}  // namespace tessera::device

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/device/cells.h"
#include "tessera/device/copy_list.h"
#include "tessera/device/device.h"
#include "tessera/layout/layout.h"
#include "tessera/relayout/plan.h"

namespace tessera::device {

enum class Direction : std::uint8_t { kToDevice, kToHost };

// =================================================================================================
// How a tensor crosses the border
//
// A call at the border (BorderCall) has the same slots on all of its places. So places are grouped:
// those that need equally many slots and are next to each other on the machine's mesh form a
// *rectangle*. A ragged grid has at most 4: inner places, the last row, the last column, and the
// corner; a block-cyclic layout at most 9. A rectangle goes through the border in *chunks* that fit
// a block of staging memory: some of its rows, a part of a row, or some slots of one place.
//
// The host has the tensor row-major, in its own element type. A chunk is packed from it, or
// unpacked to it, box by box (CopyList). Where that is not possible - casts, elements smaller than
// a byte, tiles of block floats, partial sums that are combined - a plan or list makes an *image*
// of all places on the host, from which chunks are cut.
//
// Where the host addresses the memory of the device, there is no border to cross. A tensor without
// an image then moves *in place*, straight between the host's array and the places.
// =================================================================================================

/// A place that takes part: its copies and fills in the list.
struct CrossingPlace {
  std::int64_t place = 0;
  std::uint32_t first_copy = 0;
  std::uint32_t copies = 0;
  std::uint32_t first_fill = 0;
  std::uint32_t fills = 0;
};

/// One call at the border.
struct Chunk {
  std::size_t first = 0;  ///< in Crossing::places
  std::size_t places = 1;
  std::int64_t first_slot = 0;
  std::int64_t slots = 0;
  bool has_gaps = false;  ///< slots without an element
  /// Of one place whose slots are divided: which of its copies and fills are in this chunk.
  std::optional<CrossingPlace> part = std::nullopt;
};

/// Of a device whose memory the host addresses: the tensor moves without staging memory, by one
/// plan between the host's array and the places as one array (place_array.h), or box by box.
struct InPlace {
  std::optional<relayout::Plan> plan;
  int parts = 1;              ///< between which a transfer may be cancelled
  bool is_streaming = false;  ///< boxes that are more than the caches hold
};

/// See the essay above. Immutable once made; the same for all buffers of one placement.
struct Crossing {
  Direction direction = Direction::kToDevice;
  Cells cells;
  bool words = false;                 ///< elements of 16 bits, each in a word of 32 bits
  std::int64_t host_bytes = 0;        ///< of the tensor on the host
  CopyList list;                      ///< between the host and the places
  std::vector<CrossingPlace> places;  ///< in the order of the chunks
  std::vector<Chunk> chunks;
  std::int64_t rectangles = 0;
  std::int64_t wire_bytes = 0;

  bool by_image = false;
  relayout::Memory image;              ///< all places, as programs see them
  std::optional<relayout::Plan> plan;  ///< between the host and the image
  std::vector<Copy> in_order;          ///< instead of a plan: the list in the order of the shares

  std::optional<InPlace> in_place;  ///< otherwise staged

  /// `words`: wanted for elements of 16 bits. `block_bytes`: of one block of staging memory.
  /// Errors: those of CopyList and Plan.
  static Result<Crossing> make(const Device& device, const BufferFacts& buffer, Direction direction,
                               bool words, std::int64_t block_bytes, relayout::Rounding rounding);

  /// Decides how the tensor moves in place, for a crossing without an image.
  /// Errors: those of Device::in_place.
  Status add_in_place(Device& device, BufferId buffer, std::int64_t part_bytes);

  /// The bit of the image at which a slot of a place begins.
  std::int64_t image_bit(std::int64_t place, std::int64_t slot) const {
    return cells.bit(place * image.slots + slot);
  }
  /// Bytes of one place of a chunk on the wire.
  std::int64_t bytes_of_place(const Chunk& chunk) const {
    return words ? chunk.slots * 4 : cells.bytes(chunk.slots);
  }
  std::int64_t bytes(const Chunk& chunk) const {
    return bytes_of_place(chunk) * static_cast<std::int64_t>(chunk.places);
  }
};

/// The host's array of a tensor: row-major, in the element type of the tensor (f32 for tensors of
/// block floats).
Result<Layout> host_layout(const Placement& placement);

}  // namespace tessera::device

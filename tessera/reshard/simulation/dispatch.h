// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {

/// The elements that leave one place for the same set of other places: a message, or a multicast.
struct Dispatch {
  std::int64_t source = 0;  ///< physical
  std::uint32_t set = 0;    ///< in Dispatches::sets
  std::int64_t elements = 0;
  std::vector<std::uint32_t> boxes;  ///< in Dispatches::boxes, in the order of the elements
};

/// Elements of a dispatch with plain strides, and the virtual places that receive them: all those
/// of its set, or several per place where virtual places are stacked.
struct DispatchBox {
  std::int64_t source_virtual = 0;
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::int64_t elements = 0;
  std::int64_t share = 0;
  std::uint32_t part = 0;  ///< index of the part of the reshard
  std::uint32_t first_loop = 0;
  std::uint32_t loop_count = 0;
  std::uint32_t first_target = 0;
  std::uint32_t target_count = 0;
};

/// Everything that crosses, grouped as it travels (reshard.h, "multicast").
/// Law: for each source and destination, the elements of the dispatches between them add up to
/// those of the message in pairs_of.
struct Dispatches {
  std::vector<Dispatch> list;                   ///< in no particular order
  std::vector<std::vector<std::int64_t>> sets;  ///< physical places, ascending
  std::vector<DispatchBox> boxes;
  std::vector<BoxLoop> loops;
  std::vector<std::int64_t> targets;  ///< virtual places of B
};

struct DispatchChoice {
  bool boxes = true;            ///< list the contents of each dispatch; otherwise only its size
  std::int64_t most = 1 << 22;  ///< limit for dispatches, for boxes, and for the destinations of
                                ///< all of them
};

/// Error kTooLarge beyond `most`.
Result<Dispatches> dispatches_of(const Reshard& reshard, const DispatchChoice& choice);

}  // namespace tessera::reshard

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfers.h"

namespace tessera::reshard {

/// What leaves one place for the same set of other places: a message, or a multicast to several.
struct Dispatch {
  std::int64_t source = 0;  ///< physical
  std::uint32_t set = 0;    ///< in Dispatches::sets
  std::int64_t elements = 0;
  std::vector<std::uint32_t> boxes;  ///< in Dispatches::boxes, in the order of its elements
};

/// Elements of a dispatch along plain strides, and the virtual places that get them: all those of
/// its set, or more than one of a place where virtual places are stacked.
struct DispatchBox {
  std::int64_t source_virtual = 0;
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::int64_t elements = 0;
  std::int64_t share = 0;
  std::uint32_t part = 0;  ///< of the reshard
  std::uint32_t first_loop = 0;
  std::uint32_t loop_count = 0;
  std::uint32_t first_target = 0;
  std::uint32_t target_count = 0;
};

/// All that crosses, as it travels (reshard.h, "multicast").
/// Law: for each source and destination, the elements of the dispatches between them add up to
/// those of the message in pairs_of.
struct Dispatches {
  std::vector<Dispatch> list;                   ///< in no particular order
  std::vector<std::vector<std::int64_t>> sets;  ///< rising physical places
  std::vector<DispatchBox> boxes;
  std::vector<BoxLoop> loops;
  std::vector<std::int64_t> targets;  ///< virtual places of B
};

struct DispatchChoice {
  bool boxes = true;            ///< what is in each, or else only how much
  std::int64_t most = 1 << 22;  ///< dispatches, boxes, and destinations of all of them
};

/// Error kTooLarge beyond `most`.
Result<Dispatches> dispatches_of(const Reshard& reshard, const DispatchChoice& choice);

}  // namespace tessera::reshard

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/memory/advice.h"
#include "tessera/memory/solve.h"
#include "tools/alloc/alloc_buffers.h"
#include "tools/alloc/alloc_profile.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The result of `alloc`.
struct AllocAnswer {
  const BufferFile& file;
  const memory::Solution& solution;
  std::optional<std::int64_t> capacity;
  bool interrupted = false;
  std::vector<PlacedBlock> blocks;
  std::vector<TimeRange> ranges;
  bool lists_blocks = false;                        ///< alloc_json also has blocks and ranges
  std::optional<memory::Shortfall> shortfall = {};  ///< when no plan within the capacity was found
};

/// {peak, lower_bound, optimal, seconds, outcome, proven_bound, gap, found_by, nodes, capacity,
/// interrupted, shortfall or null, offsets: {id: offset}} on one line; with lists_blocks also
/// blocks:
/// [{id, others, lower, upper, offset, size}] and ranges: [{from, to, live, count, top}].
std::string alloc_json(const AllocAnswer& answer);

/// The same for a reader: whether it fits, how good it is, the fullest moments, and a picture when
/// there is room for one. The search time is printed only from one second on.
std::string alloc_text(const AllocAnswer& answer, const Terminal& terminal);

/// The plan as a picture: address over time, one rectangle per buffer (dashed for parts of others;
/// several for a buffer with gaps), the peak, the capacity and the live bytes over time. Ids
/// determine the colours and appear as labels, where there is room, and as tooltips. When there are
/// many buffers, the largest are drawn one by one and the others together in grey; the picture
/// states this. So no picture is larger than about a megabyte.
std::string alloc_svg(const AllocAnswer& answer);

}  // namespace tessera::tools

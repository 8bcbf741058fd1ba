// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/fabric/networks/line_loads.h"

namespace tessera::fabric {

/// The bytes that cross the links of an inner network. The sum of all bytes must fit an int64.
class InnerLoads : public LineLoads<std::int64_t> {
 public:
  using LineLoads::LineLoads;

  /// Adds the bytes of an entry of the network's PairTable, on device 0.
  void add_pair(const PairTable::Pair& pair, std::int64_t bytes) {
    const LinkLines::Lines& own = pair.along ? lines().cols : lines().rows;
    if (own.extent > 1) add_line(own, 0, pair.line, pair.from, pair.to, bytes);
  }

  /// Ends adding. The largest load of a link, and its number, the first of several; 0 and -1 if
  /// nothing was added.
  struct Largest {
    std::int64_t bytes = 0;
    std::int64_t link = -1;
  };
  Largest largest();
};

}  // namespace tessera::fabric

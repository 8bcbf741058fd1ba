// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fabric/networks/line_loads.h"

namespace tessera::fabric {

/// The bytes that cross the links of an inner network. The sum of all bytes must fit an int64.
class InnerLoads : public LineLoads<std::int64_t> {
 public:
  using LineLoads::LineLoads;

  /// The links of every entry of the network's PairTable.
  std::vector<Interval> intervals(const PairTable& pairs) const;

  /// Ends adding. The largest load of a link, and its number, the first of several; 0 and -1 if
  /// nothing was added.
  struct Largest {
    std::int64_t bytes = 0;
    std::int64_t link = -1;
  };
  Largest largest();
};

}  // namespace tessera::fabric

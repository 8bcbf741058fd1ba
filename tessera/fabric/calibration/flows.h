// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fabric/calibration/parties.h"
#include "tessera/fabric/topology.h"

namespace tessera::fabric {

/// What a measurement asks of the network, from the routes of all its pairs. A stream is what one
/// master sends to or receives from one other endpoint; a multicast is one stream per master, over
/// the union of the routes to its receivers. Data go one way, and a request or an acknowledgement
/// of one header per packet goes the other way.
struct Flows {
  /// Streams over one link or port.
  struct Load {
    std::int64_t data = 0;
    std::int64_t control = 0;
    LinkFacts link;
  };

  std::int64_t masters = 1;
  std::int64_t streams = 1;              ///< of one master; of a multicast: its receivers
  std::int64_t hops_there = 0;           ///< the longest route of data
  std::int64_t hops_there_and_back = 0;  ///< the longest, there plus back
  std::int64_t most_data = 0;            ///< streams of data over the busiest link or port
  std::int64_t most_at_bank = 0;         ///< streams of the busiest bank; 0 without banks
  /// The loads of links and ports, without those that another one exceeds in every respect.
  std::vector<Load> loads;
};

/// Law: equal to walking every route and adding 1 to every link on it.
/// Example: 4 places of a corner that each write to all 4: every port carries 4 streams.
/// Errors: those of parties_of; kTooLarge when the budget of the question is spent.
Result<Flows> flows_of(const Topology& topology, const Machine& machine, std::int64_t network,
                       const Measurement& measurement);

}  // namespace tessera::fabric

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/fabric/networks/message_sums.h"
#include "tessera/fabric/networks/parts.h"
#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::fabric {

/// What decides about the cost of a set of messages: of the sums over their routes those of the
/// parts that have the most to do.
struct Peaks {
  std::int64_t bytes = 0;
  std::int64_t wire = 0;  ///< with headers
  std::int64_t messages = 0;
  std::int64_t transactions = 0;
  std::int64_t hops = 0;
  std::int64_t longest_distance = 0;
  RouteCycles routes;
  std::int64_t most_sent = 0;  ///< by one endpoint, headers not included
  std::int64_t most_received = 0;
  std::int64_t most_issued = 0;  ///< transactions of one processor

  /// The port that carries the most in one direction, of several the first.
  struct Port {
    std::int64_t number = -1;
    std::int64_t bytes = 0;  ///< with headers
    bool sends = false;
  };
  Port port;
  /// The place that takes longest to issue its transactions, of several the first.
  struct Issuer {
    std::int64_t number = -1;
    std::int64_t issued = 0;
    std::int64_t bytes = 0;
  };
  Issuer issuer;
  struct MemoryLoad {
    std::int64_t number = 0;  ///< of the endpoint
    std::int64_t sent = 0;
    std::int64_t received = 0;
  };
  std::vector<MemoryLoad> memories;  ///< ascending
  InnerLoads::Largest inner;
  struct OuterPeak {
    std::int64_t link = 0;
    std::size_t level = 0;  ///< in Parts::outer
    OuterLoad load;
  };
  std::vector<OuterPeak> outer;  ///< links between devices that carry something, ascending

  /// `mechanism` may be null: then nothing is issued. Ends the adding of `sums`.
  static Peaks of(MessageSums& sums, const target::Mechanism* mechanism);

  /// Those of messages of `message.bytes` bytes in `message.transactions` transactions each, if
  /// these are those of messages of one byte in one transaction. Empty if a sum does not fit.
  std::optional<Peaks> scaled(const Topology::Parts& parts, const InnerNetwork& own,
                              const Message& message) const;
};

/// How long an exchange takes, and what decides.
struct PeakCost {
  double cycles = 0;
  Term dominated_by = Term::kLatency;
  std::int64_t carrier = -1;  ///< a link, or an endpoint; -1: latency
};
/// By the rules of topology.h.
PeakCost cost_of(const Topology::Parts& parts, const target::Machine& machine, const Travel& travel,
                 const Peaks& peaks);

}  // namespace tessera::fabric

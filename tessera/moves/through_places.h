// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// What goes from bank to bank, or changes its order inside a bank, passes a place: banks have no
/// processors, so a place reads it and writes it back. The places of the source's device take
/// turns.
class ThroughPlaces {
 public:
  ThroughPlaces(const Machine& machine, const fabric::Topology& routes);

  /// Replaces each message between two banks by one to a place and one from it. Others stay.
  /// Law: what each bank sends and receives is as before.
  void apply(std::vector<fabric::Message>& messages);

  /// Appends what reads `bytes` of the banks of a memory and writes them back, at most `most` of
  /// one bank: as many banks as that takes, with as many places each as there are for them.
  void add_inside(std::size_t memory, std::int64_t bytes, std::int64_t most,
                  std::vector<fabric::Message>& messages);

 private:
  std::int32_t next_place(std::int64_t device);

  const Machine& machine_;
  const fabric::Topology& routes_;
  std::vector<std::vector<std::int32_t>> places_;  ///< of each device, without dead ones
  std::vector<std::size_t> next_;                  ///< of each device
};

}  // namespace tessera::moves

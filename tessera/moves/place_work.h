// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tessera/fabric/multicast.h"
#include "tessera/fabric/topology.h"
#include "tessera/moves/price_tables.h"
#include "tessera/target/machine.h"

namespace tessera::moves {

/// What the places of a machine do themselves in an exchange: their memories read what they send
/// and write what they receive.
class PlaceWork {
 public:
  /// Data come from memory_a and go to memory_b, as indices in Machine::memory.
  PlaceWork(const Machine& machine, std::size_t memory_a, std::size_t memory_b);

  /// The cycles of the place whose memory has the most to do. 0 where its bandwidth is not known:
  /// then it limits nothing. Banks and shared memories are part of fabric::network_cost.
  double memory_cycles(std::span<const fabric::Message> messages, PriceTables& tables) const;
  /// A multicast is read once.
  double memory_cycles(std::span<const fabric::Multicast> multicasts, PriceTables& tables) const;
  /// Of a place that sends and receives so many bytes.
  double memory_cycles(std::int64_t sent, std::int64_t received) const {
    return places_ == 0 ? 0 : cycles({sent, received, false});
  }

 private:
  using Load = PriceTables::PlaceLoad;
  double cycles(const Load& load) const;
  double busiest(PriceTables& tables) const;

  const Machine& machine_;
  const std::size_t memory_a_;
  const std::size_t memory_b_;
  std::int64_t places_ = 0;  ///< 0 if both memories belong to no place
};

}  // namespace tessera::moves

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/fabric/topology.h"
#include "tessera/target/machine.h"
#include "tessera/testing/generate.h"

/// Moves as programs make them, to hold the cost formula against the packet simulator.
namespace tessera::test {

/// The machines of such moves.
enum class MoveMachine : std::uint8_t {
  kOneWayTorus,  ///< like Wormhole: 8x8 places among 12x10 routers, reads and writes
  kTorus,        ///< 8x8, both ways
  kRing,         ///< like Spyre: 32 places
  kMesh,         ///< 8x8
  kTwoLevels,    ///< 2x2 devices of 4x4 places, two slower links between neighbours
  kBanks,        ///< kOneWayTorus, to and from its 12 banks
};
inline constexpr MoveMachine kMoveMachines[] = {
    MoveMachine::kOneWayTorus, MoveMachine::kTorus,     MoveMachine::kRing,
    MoveMachine::kMesh,        MoveMachine::kTwoLevels, MoveMachine::kBanks,
};
std::string_view machine_name(MoveMachine kind);
Machine machine_of(MoveMachine kind);

struct RealisticMove {
  std::string_view pattern;  ///< "all gather"
  std::vector<fabric::Message> messages;
  fabric::Travel travel;
};

/// A random pattern with messages from small to large.
RealisticMove random_move(Dice& dice, const fabric::Topology& topology, MoveMachine kind);

}  // namespace tessera::test

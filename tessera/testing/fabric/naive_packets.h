// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "tessera/fabric/packets.h"
#include "tessera/target/machine.h"
#include "tessera/testing/generate.h"

/// The machine of fabric/packets.h, implemented literally: every station has a list of packets, and
/// every station is examined in every cycle. It shares nothing with the simulator but its inputs.
namespace tessera::test {

/// Gives a machine figures that are whole numbers of cycles, so that every start is in a whole
/// cycle.
void make_whole(Dice& dice, Machine& machine);

struct NaivePackets {
  bool finished = false;
  double cycles = 0;
  std::vector<fabric::PacketTimes> messages;
};

/// Only for machines of make_whole, and messages with at least one byte per transaction.
NaivePackets naive_packets(const Machine& machine, std::span<const fabric::Message> messages,
                           const fabric::Travel& travel, fabric::IssueOrder order);

}  // namespace tessera::test

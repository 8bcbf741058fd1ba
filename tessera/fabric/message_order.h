// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/traffic.h"

namespace tessera::fabric {

/// For each entry of the `after` lists, message by message: which destination of the awaited
/// message is the source of the waiting message. kOutOfRange if there is none. Example: message 1
/// leaves router 0 after message 0, which goes to {4, 0}: the entry is 1.
Result<std::vector<std::int64_t>> awaited_destinations(const Traffic& traffic);

/// All messages in an order in which each comes after the previous message of its source and after
/// the messages that it waits for; without such waits, the listed order. kContradiction if messages
/// wait for each other.
///
/// A cycle of messages never completes: "word 0 of x before word 0 of y" holds along both kinds of
/// edges, since no message is empty. So this rejects exactly the traffic that would deadlock.
Result<std::vector<std::uint32_t>> message_order(const Traffic& traffic);

}  // namespace tessera::fabric

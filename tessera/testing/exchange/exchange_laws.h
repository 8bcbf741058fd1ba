// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/exchange/exchange.h"

namespace tessera::test {

/// Which ranks must be able to read each other's share().
enum class Nearness : std::uint8_t { kAll, kAny };

/// What breaks the contract of exchange.h, as observed by this rank; empty when nothing does. All
/// ranks call it at the same time with the same seed; a rank that waits longer than half a minute
/// reports what it waits for.
///   notes    from one rank to another in order, of 0 to 4096 bytes, also to itself; not longer
///   packets  all to all, of random lengths from 0 to packet_bytes, in order for each pair; room()
///            and arrived() stay the same until send() and release()
///   room     is empty while all packets are in flight, and available again after their release
///   lanes    several at once do not mix, and may be used while packets are in flight
///   share    every rank gets as many bytes as it asks for, and others read what it writes
///   refusals invalid ranks, lengths and counts
std::string exchange_mistake(exchange::Exchange& exchange, Nearness nearness, std::uint64_t seed);

}  // namespace tessera::test

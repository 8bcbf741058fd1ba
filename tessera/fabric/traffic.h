// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/mesh.h"

namespace tessera::fabric {

/// A run [begin, begin + count) of one of the lists of a Traffic.
struct ListRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  friend bool operator==(const ListRange&, const ListRange&) = default;
};

/// The colour of a message that leaves the choice to the simulator.
inline constexpr std::int32_t kAnyColour = -1;

/// Words that one router's processor sends to one or several others, one word per wavelet.
struct FabricMessage {
  std::int32_t source = 0;  ///< FabricMesh::node
  ListRange destinations;  ///< in Traffic::destinations: one for a unicast, several for a multicast
  std::int64_t first_word = 0;  ///< in Traffic::payload; messages may share words
  std::int64_t words = 0;       ///< at least 1
  /// In Traffic::after: messages that end at `source` and have the same number of words. Word i
  /// leaves one cycle (the add) after word i of the last of them has arrived, and is combined with
  /// all of them: the sent word is combine(.. combine(own, of the first) .., of the last).
  ListRange after;
  /// The first word leaves its processor in this cycle or later. A source that is delayed lets
  /// others pass where round-robin would give it half of a congested link.
  std::int64_t not_before = 0;
  /// In static mode: the colour of its routes. Either all messages name one, or none does.
  std::int32_t colour = kAnyColour;
  friend bool operator==(const FabricMessage&, const FabricMessage&) = default;
};

/// The messages of one simulation. Each source sends its messages in the listed order; the next one
/// starts when the last word of the previous one has left.
///
/// Example: a message from router 3 to router 0, passed on to routers 1 and 2 with a sum on the
/// way:
///     Traffic traffic;
///     traffic.payload = {10, 20, 1, 2};
///     const std::int64_t first = traffic.add(3, {0}, 0, 2);     // brings 10, 20
///     traffic.add(0, {1, 2}, 2, 2, {first});                    // brings 11, 22
struct Traffic {
  std::vector<FabricMessage> messages;
  std::vector<std::int32_t> destinations;
  std::vector<std::int64_t> after;  ///< numbers of messages
  std::vector<std::uint32_t> payload;

  /// Appends a message and returns its number.
  std::int64_t add(std::int32_t source, std::initializer_list<std::int32_t> to,
                   std::int64_t first_word, std::int64_t words,
                   std::initializer_list<std::int64_t> after_messages = {});
  std::int64_t add(std::int32_t source, std::span<const std::int32_t> to, std::int64_t first_word,
                   std::int64_t words, std::span<const std::int64_t> after_messages);

  std::span<const std::int32_t> destinations_of(const FabricMessage& message) const {
    return std::span(destinations)
        .subspan(static_cast<std::size_t>(message.destinations.begin),
                 static_cast<std::size_t>(message.destinations.count));
  }
  std::span<const std::int64_t> after_of(const FabricMessage& message) const {
    return std::span(after).subspan(static_cast<std::size_t>(message.after.begin),
                                    static_cast<std::size_t>(message.after.count));
  }

  /// Checks that the messages can be simulated. Errors name the message:
  ///   kOutOfRange     a router outside the mesh; a list or words outside their lists; no
  ///                   destination; no words; the source or one router twice among the
  ///                   destinations; `after` naming a message that does not exist or does not end
  ///                   at the source; `not_before` below 0 or beyond 2^48
  ///   kContradiction  messages that wait for each other; `after` of another length
  ///   kTooLarge       a mesh of more than kMaxFabricNodes; more than 2^28 messages, destinations,
  ///                   waits, or words of one message
  Status check(const FabricMesh& mesh) const;
};

/// The most routers that a simulation accepts: more than twice those of a wafer.
inline constexpr std::int64_t kMaxFabricNodes = std::int64_t{1} << 21;

}  // namespace tessera::fabric

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/exchange.h"

namespace tessera::exchange {

// =================================================================================================
// Packets through memory that ranks share
//
// Every rank has a part of the memory, which begins with two lists and goes on with its slots:
//
//   arrived    slots of others that were handed to this rank
//   returned   slots of this rank that others have read
//   slot 0     a line that says who sent it and how long it is, and the next slot of its list
//              the packet itself
//   slot 1     ...
//
// A list is one word: the number of its newest slot. Who hands a slot over puts it on top by
// compare and swap; the owner of the list takes all of it at once, and turns it round to have the
// order in which slots came. So nobody waits for anybody, a rank that stops in the middle leaves
// no lock behind, and memory grows with the number of ranks, not with that of pairs.
//
// Parts that hold zeros are empty, in this process as in any other that sees them: slots are called
// by number, never by address.
// =================================================================================================

/// One rank's end of such memory. Ranks are called by their seat, 0, 1, .. among those that share.
class Board {
 public:
  /// Bytes of each rank's part, a whole number of lines.
  static std::int64_t part_bytes(const LaneSize& size);

  /// `parts` are all ranks' parts, by seat, as this process sees them; they outlive the board.
  /// `size` has passed check_lane_size (rules.h), and parts.size() · size.sending is below 2^32.
  Board(const LaneSize& size, std::vector<std::byte*> parts, int seat);

  /// Lane::room.
  Result<std::span<std::byte>> room();
  /// Lane::send, to a seat.
  Status send(int to, std::int64_t bytes);

  /// Takes room() away for a packet that goes another way, and says which slot that is.
  Result<int> lend();
  /// That packet is gone: the slot is free again. Only while room() is empty, which it would move.
  void give_back(int slot) { free_.push_back(slot); }
  /// The packet of slot `own`, which was lent.
  std::byte* packet(int own) const;

  /// The oldest packet of `from` that is not released, if it is there: kBadPacket where its header
  /// cannot be.
  Result<std::optional<std::span<const std::byte>>> arrived(int from);
  /// The packet that `arrived` answered goes back to its sender.
  Status release(int from);

 private:
  struct Slot;
  /// Slots of one sender that have arrived, oldest first; 0 is none.
  struct Waiting {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  std::uint32_t& arrived_list(int seat) const;
  std::uint32_t& returned_list(int seat) const;
  /// The slot of that number; numbers start at 1, the slots of seat 0 come first.
  Slot* slot(std::uint32_t number) const;
  std::byte* packet_of(std::uint32_t number) const;
  void put_on(std::uint32_t& list, std::uint32_t number) const;
  /// All of a list, oldest first, each as a number that a slot can have.
  Result<std::vector<std::uint32_t>> take_all(std::uint32_t& list) const;
  Status collect();

  std::int64_t packet_bytes_;
  int sending_;
  std::int64_t slot_bytes_;
  std::vector<std::byte*> parts_;
  int seat_;
  std::vector<int> free_;
  std::unordered_map<int, Waiting> waiting_;
};

}  // namespace tessera::exchange

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

/// shared_memory/: packets between ranks that share memory. In: a LaneSize, and memory that several
/// ranks see (pages.h). Out: a mailbox per rank (this header) with the calls of a Lane. It must not
/// know what is in a packet, and it never blocks.
namespace tessera::exchange {

// =================================================================================================
// Packets through memory that ranks share
//
// Every rank has a part of the memory. It begins with two lists, followed by its slots:
//
//   arrived    slots of other ranks that were sent to this rank
//   returned   slots of this rank that others have read
//   slot 0     a line with the sender, the length, and the next slot of its list
//              the packet itself
//   slot 1     ...
//
// A list is one word: the number of its newest slot. A sender pushes a slot with compare and swap.
// The owner of the list takes the whole list at once, and reverses it to get the order in which the
// slots came. So no rank waits for another, a rank that stops in the middle leaves no lock behind,
// and memory grows with the number of ranks, not with the number of pairs.
//
// Parts that hold zeros are empty, in every process that sees them: slots are identified by number,
// never by address.
// =================================================================================================

/// One rank's end of the shared memory. Ranks are identified by their seat, 0, 1, .. among those
/// that share.
class PacketMailbox {
 public:
  /// The size of each rank's part in bytes, a whole number of cache lines.
  static std::int64_t part_bytes(const LaneSize& size);

  /// `parts` are all ranks' parts, by seat, as mapped in this process; they outlive the mailbox.
  /// `size` has passed check_lane_size (contract.h), and parts.size() · size.sending is below 2^32.
  PacketMailbox(const LaneSize& size, std::vector<std::byte*> parts, int seat);

  /// Lane::room.
  Result<std::span<std::byte>> room();
  /// Lane::send, to a seat.
  Status send(int to, std::int64_t bytes);

  /// Takes room() for a packet that is sent another way, and returns its slot.
  Result<int> lend();
  /// That packet was sent: the slot is free again. Only while room() is empty, because it would
  /// move room().
  void give_back(int slot) { free_.push_back(slot); }
  /// The packet of slot `own`, which was lent.
  std::byte* packet(int own) const;

  /// The oldest packet of `from` that is not released, if there is one; kBadPacket where its header
  /// is invalid.
  Result<std::optional<std::span<const std::byte>>> arrived(int from);
  /// Gives the packet that `arrived` returned back to its sender.
  Status release(int from);

 private:
  struct Slot;
  /// Slots of one sender that have arrived, oldest first; 0 means none.
  struct Queue {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };

  std::uint32_t& arrived_list(int seat) const;
  std::uint32_t& returned_list(int seat) const;
  /// The slot with that number. Numbers start at 1, and the slots of seat 0 come first.
  Slot* slot(std::uint32_t number) const;
  std::byte* packet_of(std::uint32_t number) const;
  void put_on(std::uint32_t& list, std::uint32_t number) const;
  /// All of a list, oldest first; every number is checked to be a valid slot number.
  Result<std::vector<std::uint32_t>> take_all(std::uint32_t& list) const;
  Status collect();

  std::int64_t packet_bytes_;
  int sending_;
  std::int64_t slot_bytes_;
  std::vector<std::byte*> parts_;
  int seat_;
  std::vector<int> free_;
  std::unordered_map<int, Queue> waiting_;
};

}  // namespace tessera::exchange

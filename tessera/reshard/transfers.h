// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// One loop of a strided box. The strides are in slots, one for the memory of each place.
struct BoxLoop {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;
  std::int64_t destination_stride = 0;
  friend bool operator==(const BoxLoop&, const BoxLoop&) = default;
};

/// Elements that go from one place to another with plain strides. The element with counters i is
/// read at source_slot + Σ i·source_stride and written at destination_slot + Σ
/// i·destination_stride.
struct Transfer {
  std::int64_t source = 0;          ///< physical numbers, row-major on the physical mesh
  std::int64_t destination = 0;     ///< equal to `source` for a local copy
  std::int64_t source_virtual = 0;  ///< numbers on the placements' own meshes: the owner of the
                                    ///< memory
  std::int64_t destination_virtual = 0;
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::span<const BoxLoop> loops;  ///< no loop has extent 1; valid only during the visit
  std::int64_t elements = 0;
  std::int64_t share = 0;    ///< the share of A that is read
  bool combines = false;     ///< combined with the value at the destination; otherwise replaces it
  bool begins_pair = false;  ///< the first transfer of its (source, destination)

  bool is_local() const { return source == destination; }
};

/// Selects the transfers to list.
struct TransferChoice {
  bool messages = true;  ///< transfers between places
  bool local = true;     ///< copies inside a place
  /// Only transfers that leave this physical place, and only those that arrive at that one.
  /// Selecting a destination needs no walk through all pairs; nor does selecting a source, unless A
  /// keeps copies.
  std::optional<std::int64_t> source = std::nullopt;
  std::optional<std::int64_t> destination = std::nullopt;
};

/// Calls `visit` with every transfer, one after the other, until it returns an error. Transfers of
/// one (source, destination) follow each other; a transfer never mixes messages and local copies;
/// pairs come in no particular order. No list is kept in memory unless the transfers of a pair
/// would otherwise not stay together (several boxes of a piecewise placement, or dims that drive
/// one mesh axis with overlapping strides); in that case kTooLarge beyond 2^23 transfers.
///
/// Law: carrying out the transfers gives B, starting from the neutral elements of the reduction
/// where Shares requires it. Each element of each destination place is written exactly once, or
/// combined exactly once with each share.
Status for_each_transfer(const Reshard& reshard, const TransferChoice& choice,
                         const std::function<Status(const Transfer&)>& visit);

/// All elements that go from one place to another, or stay on one place.
struct PairBytes {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const PairBytes&, const PairBytes&) = default;
};

/// Every selected pair of places (default: the messages), sorted by source and then destination.
/// kTooLarge beyond `most`.
Result<std::vector<PairBytes>> pairs_of(const Reshard& reshard, std::int64_t most,
                                        const TransferChoice& choice = {.messages = true,
                                                                        .local = false});

}  // namespace tessera::reshard

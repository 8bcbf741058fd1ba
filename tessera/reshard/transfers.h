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

/// One loop of a strided box: how far a step moves in the memory of either place, in slots.
struct BoxLoop {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;
  std::int64_t destination_stride = 0;
  friend bool operator==(const BoxLoop&, const BoxLoop&) = default;
};

/// Elements that go from one place to another along plain strides: the element with counters i is
/// read at source_slot + Σ i·source_stride and written at destination_slot + Σ
/// i·destination_stride.
struct Transfer {
  std::int64_t source = 0;          ///< physical numbers, row-major on the physical mesh
  std::int64_t destination = 0;     ///< equal to `source` for a local copy
  std::int64_t source_virtual = 0;  ///< numbers on the placements' own meshes: whose memory it is
  std::int64_t destination_virtual = 0;
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::span<const BoxLoop> loops;  ///< none of extent 1; valid only during the visit
  std::int64_t elements = 0;
  std::int64_t share = 0;    ///< of A that is read
  bool combines = false;     ///< is combined with what the destination has; else is its value
  bool begins_pair = false;  ///< the first transfer of its (source, destination)

  bool is_local() const { return source == destination; }
};

/// What to expand.
struct TransferChoice {
  bool messages = true;  ///< what crosses
  bool local = true;     ///< what is copied inside a place
  /// Only what leaves this physical place, and only what arrives at that one. A destination is
  /// found without a walk through all pairs; so is a source, unless A keeps copies.
  std::optional<std::int64_t> source = std::nullopt;
  std::optional<std::int64_t> destination = std::nullopt;
};

/// Calls `visit` with every transfer, one after the other, until it answers an error. Transfers of
/// one (source, destination) follow each other, messages and local copies are never mixed in one;
/// pairs come in no particular order. Nothing is listed in memory unless pairs would otherwise not
/// stay together (several boxes of a piecewise placement, dims that drive one mesh axis by strides
/// that overlap): then kTooLarge beyond 2^23 transfers.
///
/// Law: started from the neutral elements of the reduction where Shares says so, carrying out the
/// transfers gives B: each element of each destination place is written exactly once, or combined
/// exactly once with each share.
Status for_each_transfer(const Reshard& reshard, const TransferChoice& choice,
                         const std::function<Status(const Transfer&)>& visit);

/// All elements that go from one place to another, or stay.
struct PairBytes {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const PairBytes&, const PairBytes&) = default;
};

/// Every chosen pair of places (the messages, unless said otherwise), by source and then
/// destination. kTooLarge beyond `most`.
Result<std::vector<PairBytes>> pairs_of(const Reshard& reshard, std::int64_t most,
                                        const TransferChoice& choice = {.messages = true,
                                                                        .local = false});

}  // namespace tessera::reshard

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/simulate.h"
#include "tessera/reshard/reshard.h"

/// simulation/: carries out a reshard on the simulated fabric. In: a Reshard, and A's memory for
/// simulate_reshard. Out: dispatches (dispatch.h), fabric messages (traffic.h), and the simulated
/// run with B's memory. It must not use real ranks or threads: exchange/ does that.
namespace tessera::reshard {

/// A reshard that was carried out on the simulated fabric, with the data that arrived.
struct ReshardSimulation {
  fabric::Simulation fabric;
  /// Elements of each message of the fabric, in the same order.
  std::vector<std::int64_t> elements;
  /// The memory of B: place after place (virtual, row-major), shard_bytes each. Slots smaller than
  /// a byte begin with the low bits. Memory to which no element is written is zero.
  std::vector<std::byte> memory;
};

/// Packs the elements that leave each place into words, sends them through the fabric, and unpacks
/// the words that arrive: elements are written, or combined with the other shares in the order of
/// the share numbers, independent of the order of arrival. A dispatch (dispatch.h) has ceil(bits /
/// 32) words, sent in the order of traffic.h.
///
/// `from` is the memory of A in the same form, with from().allocated_bytes() bytes.
/// Law: the memory is the same as after carrying out the transfers (transfers.h) one by one.
/// Errors: kOutOfRange for a memory of another size; kNotSupported where the routes are not known,
/// for block floats, and for shares that combiner_of does not combine; those of simulate; kTooLarge
/// beyond 2^26 elements or destinations, 2^31 bytes of memory, or max_hops.
Result<ReshardSimulation> simulate_reshard(const Reshard& reshard, std::span<const std::byte> from,
                                           const fabric::SimulateOptions& options = {});

}  // namespace tessera::reshard

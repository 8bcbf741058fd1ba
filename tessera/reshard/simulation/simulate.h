// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/fabric/simulate.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// A reshard that was carried out on the simulated fabric, with the data that arrived.
struct ReshardSimulation {
  fabric::Simulation fabric;
  /// Elements of each message of the fabric, in the same order.
  std::vector<std::int64_t> elements;
  /// The memory of B: place after place (virtual, row-major), shard_bytes each; slots below a byte
  /// begin with the low bits. What no element is written to is zero.
  std::vector<std::byte> memory;
};

/// Packs the elements that leave each place into words, sends them through the fabric, and unpacks
/// what arrives: written, or combined with the other shares in the order of their numbers, whatever
/// the order of arrival. Words are ceil(bits / 32) a dispatch (dispatch.h), sent in the order of
/// traffic.h.
///
/// `from` is the memory of A in the same form, of from().allocated_bytes().
/// Law: the memory is what carrying out the transfers (transfers.h) one by one gives.
/// Errors: kOutOfRange for a memory of another size; kNotSupported where routes are not known, for
/// block floats, and for shares that combiner_of does not combine; those of simulate; kTooLarge
/// beyond 2^26 elements or destinations, 2^31 bytes of memory, or max_hops.
Result<ReshardSimulation> simulate_reshard(const Reshard& reshard, std::span<const std::byte> from,
                                           const fabric::SimulateOptions& options = {});

}  // namespace tessera::reshard

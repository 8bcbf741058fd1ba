// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::exchange {

/// The checksum of a packet, the same on every machine, designed to run at memory speed.
///
/// Law: a change inside one of the words [8i, 8i + 8) always changes the checksum, so a flipped bit
/// does. Any other change, such as a missing end or a swapped block, goes undetected about once in
/// 2^64.
std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace tessera::exchange

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

/// A number in [0, count) that moves a position by `move` per unit.
struct BoxDigit {
  std::int64_t count = 1;
  Position move;
};

/// Finds two different settings of the digits with the same position. Returns their difference (in
/// (-count, count) for each digit, not all zero), or empty if every setting has its own position.
/// Digits from position `free` on do not make two settings different: they are replicas of one
/// element.
///
/// Strides that nest (each larger than the largest sum of all smaller ones) are decided in one
/// pass, and two digits that meet without the others are found by division. Other strides are
/// decided by a search that prunes, by size and by common divisor, differences that the remaining
/// digits cannot cancel. Error kTooLarge after 2^20 steps, or when the budget of `Work` is spent.
Result<std::optional<std::vector<std::int64_t>>> box_collision(const std::vector<BoxDigit>& digits,
                                                               std::size_t free);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/lines.h"

namespace tessera {

/// A number in [0, count) that moves a spot by `move` for each unit.
struct BoxDigit {
  std::int64_t count = 1;
  Spot move;
};

/// Two different settings of the digits that give one spot, as their difference (in (-count, count)
/// for each digit, not all zero), or nothing when every setting has a spot of its own.
/// Digits listed from `free` on may differ without counting as different: replicas of one element.
///
/// Strides that nest (each larger than all smaller ones reach together) are settled in one pass;
/// others by a search that cuts off what the remaining digits cannot repair, by size and by common
/// divisor. Error kTooLarge after 2^20 steps.
Result<std::optional<std::vector<std::int64_t>>> box_collision(const std::vector<BoxDigit>& digits,
                                                               std::size_t free);

}  // namespace tessera

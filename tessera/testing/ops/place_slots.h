// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/testing/ops/padding_law.h"

namespace tessera::test {

/// How a place stores one dim: each setting of the digits in memory moves the slot.
struct DimSlots {
  std::map<std::int64_t, std::int64_t> elements;  ///< index of the tensor -> slots
  std::vector<std::int64_t> padding;              ///< slots of settings that are no index
};

/// Of each dim what a place stores, by the definition of a form, setting by setting. Empty where
/// dims are not stored independently of each other, each by one fold.
std::vector<DimSlots> slots_of_dims(const Layout& layout, const Place& place);

/// Puts what a place stores of a padded tensor (padded_call) into its memory, element `extent + k`
/// of a dim into the k-th padding of the dim and NaNs into all padding beyond, and then reads its
/// elements. What the place does not store stays as it is. Returns what is wrong, or "".
std::string through_memory(const Layout& layout, const Place& place, NaiveTensor& padded);

}  // namespace tessera::test

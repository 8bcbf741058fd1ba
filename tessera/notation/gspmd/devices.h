// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/notation/gspmd/gspmd.h"

/// Device lists as sums of strides, and back.
namespace tessera::notation {

/// `count` values, `stride` devices apart.
struct DeviceStep {
  std::int64_t count = 1;
  std::int64_t stride = 1;
  friend bool operator==(const DeviceStep&, const DeviceStep&) = default;
};
/// The numbers Σ digit·stride, in the order in which the last step is the fastest.
using DeviceSteps = std::vector<DeviceStep>;

/// The steps of `<=[reshape]T(transpose)`. Adjacent steps that continue each other are joined.
DeviceSteps steps_of(const std::vector<std::int64_t>& reshape,
                     const std::vector<std::int64_t>& transpose);

/// The steps that, starting at the first of `numbers`, produce all of them; nullopt if the numbers
/// are not such a sum with strides above 0. Example: 0,4,1,5,2,6,3,7 are 4 steps of 1, then 2 of 4.
std::optional<DeviceSteps> steps_of(const std::vector<std::int64_t>& numbers);

/// The steps of each dim of `tiles`, row-major; nullopt if a dim is not a whole number of steps.
std::optional<std::vector<DeviceSteps>> dealt(DeviceSteps steps,
                                              const std::vector<std::int64_t>& tiles);

/// Every number, in order. Only for short lists.
std::vector<std::int64_t> numbers_of(const DeviceSteps& steps);

/// Sets `reshape` and `transpose` so that they have these steps; false when the steps do not
/// produce all of 0 .. n-1.
bool say_steps(const DeviceSteps& steps, GspmdLayout& words);

}  // namespace tessera::notation

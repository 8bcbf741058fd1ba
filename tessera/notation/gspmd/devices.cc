// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/gspmd/devices.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>

#include "tessera/base/shape.h"

namespace tessera::notation {
namespace {

/// Drops steps of one value and joins steps that continue each other.
DeviceSteps simplified(const DeviceSteps& steps) {
  DeviceSteps out;
  for (const DeviceStep& step : steps) {
    if (step.count == 1) continue;
    if (!out.empty() && out.back().stride == step.stride * step.count) {
      out.back() = {out.back().count * step.count, step.stride};
    } else {
      out.push_back(step);
    }
  }
  return out;
}

}  // namespace

DeviceSteps steps_of(const std::vector<std::int64_t>& reshape,
                     const std::vector<std::int64_t>& transpose) {
  std::vector<std::int64_t> strides(reshape.size(), 1);
  for (std::size_t dim = reshape.size(); dim-- > 1;) {
    strides[dim - 1] = strides[dim] * reshape[dim];
  }
  DeviceSteps steps;
  for (std::size_t i = 0; i < reshape.size(); ++i) {
    const std::size_t dim = transpose.empty() ? i : static_cast<std::size_t>(transpose[i]);
    steps.push_back({reshape[dim], strides[dim]});
  }
  return simplified(steps);
}

std::optional<DeviceSteps> steps_of(const std::vector<std::int64_t>& numbers) {
  DeviceSteps steps;
  const std::size_t size = numbers.size();
  for (std::size_t below = 1; below < size;) {
    // Numbers at multiples of `below` are evenly spaced within this step.
    const std::int64_t stride = numbers[below] - numbers[0];
    std::size_t count = 2;
    while (count * below < size &&
           numbers[count * below] - numbers[(count - 1) * below] == stride) {
      ++count;
    }
    if (stride <= 0 || size % (count * below) != 0) return std::nullopt;
    steps.insert(steps.begin(), {static_cast<std::int64_t>(count), stride});
    below *= count;
  }
  for (std::size_t i = 0; i < size; ++i) {
    std::int64_t number = numbers[0];
    std::int64_t left = static_cast<std::int64_t>(i);
    for (const DeviceStep& step : std::views::reverse(steps)) {
      number += left % step.count * step.stride;
      left /= step.count;
    }
    if (number != numbers[i]) return std::nullopt;
  }
  return steps;
}

std::optional<std::vector<DeviceSteps>> dealt(DeviceSteps steps,
                                              const std::vector<std::int64_t>& tiles) {
  std::vector<DeviceSteps> out(tiles.size());
  for (std::size_t dim = tiles.size(); dim-- > 0;) {
    std::int64_t left = tiles[dim];
    while (left > 1) {
      if (steps.empty()) return std::nullopt;
      DeviceStep& last = steps.back();
      if (left % last.count == 0) {
        out[dim].insert(out[dim].begin(), last);
        left /= last.count;
        steps.pop_back();
      } else if (last.count % left == 0) {
        out[dim].insert(out[dim].begin(), {left, last.stride});
        last = {last.count / left, last.stride * left};
        left = 1;
      } else {
        return std::nullopt;
      }
    }
  }
  return out;
}

std::vector<std::int64_t> numbers_of(const DeviceSteps& steps) {
  std::vector<std::int64_t> numbers = {0};
  for (const DeviceStep& step : steps) {
    std::vector<std::int64_t> more;
    for (const std::int64_t number : numbers) {
      for (std::int64_t i = 0; i < step.count; ++i) more.push_back(number + i * step.stride);
    }
    numbers = std::move(more);
  }
  return numbers;
}

bool say_steps(const DeviceSteps& steps, GspmdLayout& words) {
  const DeviceSteps simple = simplified(steps);
  std::vector<std::size_t> order(simple.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return simple[a].stride > simple[b].stride; });
  words.reshape.clear();
  words.transpose.assign(simple.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    words.reshape.push_back(simple[order[i]].count);
    words.transpose[order[i]] = static_cast<std::int64_t>(i);
  }
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (simple[order[i]].stride != stride) return false;
    stride *= simple[order[i]].count;
  }
  if (words.reshape.size() <= 1) words.transpose.clear();
  if (words.reshape.empty()) words.reshape = {1};
  return true;
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/alloc/alloc_profile.h"
#include "tools/terminal/svg.h"

/// The small parts of a picture of a plan: ticks, scales, steps.
namespace tessera::tools {

struct Tick {
  std::int64_t at = 0;
  std::string label;
};
/// About `count` round numbers from `from` to `to`: 1, 2 or 5 times a power of ten apart.
std::vector<Tick> time_ticks(std::int64_t from, std::int64_t to, int count);
/// About `count` addresses from 0 to `to`, powers of two apart, in the largest unit that is exact.
std::vector<Tick> address_ticks(std::int64_t to, int count);

/// Maps time and bytes to pixels of the picture.
struct Frame {
  double left = 0, right = 0, top = 0, bottom = 0;
  std::int64_t from = 0;  ///< the moment at the left edge
  std::int64_t to = 0;    ///< at the right edge
  std::int64_t high = 1;  ///< the bytes at the top edge

  double x_of(std::int64_t time) const;
  double y_of(std::int64_t bytes) const;
};

/// A path along one number of the ranges, from the bottom left corner to the bottom right one.
/// It takes the maximum in each column of pixels, so that it stays short however many ranges
/// there are.
std::string svg_steps(const Frame& frame, std::span<const TimeRange> ranges,
                      std::int64_t TimeRange::* figure);

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/layout/form.h"
#include "tessera/layout/lines.h"

namespace tessera {

/// Division by a number known in advance, as one multiplication and a shift. Exact for every
/// dividend in [0, 2^63). Law: divide(n) = n div width.
class FastDivide {
 public:
  FastDivide() = default;
  explicit FastDivide(std::int64_t width);
  std::int64_t divide(std::int64_t n) const {
    const auto twice = static_cast<unsigned __int128>(static_cast<std::uint64_t>(n) << 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>((twice * multiplier_) >> 64) >>
                                     shift_);
  }

 private:
  // With 2^(b-1) < width <= 2^b and m = floor(2^(63+b) / width) + 1, the quotient n·m / 2^(63+b)
  // exceeds n / width by less than 1 / width for every n < 2^63, so the floors agree; m < 2^64.
  std::uint64_t multiplier_ = (std::uint64_t{1} << 63) + 1;
  unsigned shift_ = 0;
};

/// Random access: a form compiled so that finding an element costs a multiplication a cut and
/// nothing else. Make it once, ask it often.
/// Law: at(x) = canonical(form).spot(x), for x inside the shape; x is not checked.
class Locator {
 public:
  explicit Locator(const Lines& lines);
  Spot at(const std::int64_t* index) const;

 private:
  struct Step {
    FastDivide divide;
    std::int64_t width;
    Spot move;
  };
  struct Chain {
    std::uint32_t first_term, last_term, first_step, last_step;
    std::int64_t start;
    Spot last_move;  // of the final cut, whose width is 1
  };
  Spot base_;
  std::vector<Term> terms_;
  std::vector<Step> steps_;
  std::vector<Chain> chains_;
  std::vector<std::pair<int, Spot>> plain_;  // dims that are a single stride
};

}  // namespace tessera

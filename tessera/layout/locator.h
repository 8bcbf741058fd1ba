// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/layout/form.h"

namespace tessera {

/// Division by a fixed number, as one multiplication and a shift. Exact for every dividend in [0,
/// 2^63). Law: divide(n) = n div width.
class FastDivide {
 public:
  FastDivide() = default;
  explicit FastDivide(std::int64_t width);
  std::int64_t divide(std::int64_t n) const {
    const std::uint64_t doubled = static_cast<std::uint64_t>(n) << 1;  // n < 2^63, so it fits
    const unsigned __int128 twice = doubled;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>((twice * multiplier_) >> 64) >>
                                     shift_);
  }

 private:
  // With 2^(b-1) < width <= 2^b and m = floor(2^(63+b) / width) + 1, the quotient n·m / 2^(63+b)
  // exceeds n / width by less than 1 / width for every n < 2^63, so the floors agree; m < 2^64.
  std::uint64_t multiplier_ = (std::uint64_t{1} << 63) + 1;
  unsigned shift_ = 0;
};

/// The same for dividends below 2^32 and widths from 2 to 2^32, where the shift is not needed.
class ShortDivide {
 public:
  ShortDivide() = default;
  explicit ShortDivide(std::int64_t width)
      : multiplier_(UINT64_MAX / static_cast<std::uint64_t>(width) + 1) {}
  std::int64_t divide(std::int64_t n) const {
    const auto wide = static_cast<unsigned __int128>(static_cast<std::uint64_t>(n)) * multiplier_;
    return static_cast<std::int64_t>(wide >> 64);
  }

 private:
  // m·width exceeds 2^64 by at most width <= 2^32, so n·m / 2^64 exceeds n / width by less than
  // 1 / width.
  std::uint64_t multiplier_ = 0;
};

/// Random access: a compiled form that locates an element with one multiplication per cut and
/// little else. Make it once and use it often. Law: at(x) = canonical(form).position(x) for x
/// inside the shape; x is not checked.
///
/// Let q_k = v div w_k. Where each width is a multiple of the next, the digits are q_k -
/// q_{k-1}·(w_{k-1} / w_k). The position is then a plain stride per dim (the move of the last cut)
/// plus Σ q_k·jump_k, where jump_k is how much the step across a boundary of w_k differs from that
/// stride. No division depends on another. Remainders are needed only after a width that is not a
/// multiple of the next one.
class Locator {
 public:
  explicit Locator(const Lines& lines);

  Position at(const std::int64_t* index) const {
    Position position = base_;
    const std::int64_t* const end = index + rank_;
    const std::int64_t* stride = slot_strides_.data();
    for (const std::int64_t* x = index; x != end; ++x, ++stride) {
      add_product(*stride, *x, position.slot);
    }
    if (strided_) return position;
    if (places_move_) {
      stride = place_strides_.data();
      for (const std::int64_t* x = index; x != end; ++x, ++stride) {
        add_product(*stride, *x, position.place);
      }
    }
    const Step* step = steps_.data();
    for (const Chain& chain : chains_) {
      std::int64_t left = index[chain.first.dim];
      if (!chain.bare) left = point(chain, index);
      if (chain.kind == Kind::kShortDividing) {
        for (const Step* const last = step + chain.steps; step != last; ++step) {
          position += step->jump * step->short_divide.divide(left);
        }
      } else if (chain.kind == Kind::kShort) {
        for (const Step* const last = step + chain.steps; step != last; ++step) {
          const std::int64_t quotient = step->short_divide.divide(left);
          position += step->jump * quotient;
          left -= quotient * step->take;
        }
      } else {
        for (const Step* const last = step + chain.steps; step != last; ++step) {
          const std::int64_t quotient = step->divide.divide(left);
          position += step->jump * quotient;
          left -= quotient * step->take;
        }
      }
    }
    return position;
  }

  /// The same for many consecutive indices of `rank` numbers each: positions[i] = at(index i).
  /// Faster per element if there are cuts, because each cut is computed for a batch of elements at
  /// once.
  void at_many(std::span<const std::int64_t> indices, std::span<Position> positions) const;

 private:
  enum class Kind : std::uint8_t { kShortDividing, kShort, kLong };
  struct Step {
    ShortDivide short_divide;  // for short lines
    Position jump;
    std::int64_t take;  // the width if the rest must be reduced to the remainder, else 0
    FastDivide divide;  // for long lines
  };
  struct Chain {
    Kind kind = Kind::kLong;
    bool bare = false;  // the line is the dim itself: one term, coefficient 1, start 0
    Term first;         // nearly all lines have one term
    std::int64_t start = 0;
    std::size_t more = 0;  // the others: terms_[more .. more_end)
    std::size_t more_end = 0;
    std::size_t steps = 0;  // number of cuts without the last, whose width is 1
  };

  /// to += a·b, wrapping as Position does.
  static void add_product(std::int64_t a, std::int64_t b, std::int64_t& to) {
    to = static_cast<std::int64_t>(static_cast<std::uint64_t>(to) +
                                   static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  std::int64_t point(const Chain& chain, const std::int64_t* index) const {
    std::int64_t sum = chain.start + chain.first.coef * index[chain.first.dim];
    for (std::size_t t = chain.more; t < chain.more_end; ++t) {
      sum += terms_[t].coef * index[terms_[t].dim];
    }
    return sum;
  }

  std::size_t rank_ = 0;
  Position base_;
  bool strided_ = false;  // one stride per dim, on one place
  bool places_move_ = false;
  std::vector<std::int64_t> slot_strides_;   // one per dim
  std::vector<std::int64_t> place_strides_;  // the same
  std::vector<Chain> chains_;
  std::vector<Step> steps_;  // of all chains, in order
  std::vector<Term> terms_;
};

}  // namespace tessera

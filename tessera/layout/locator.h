// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
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

  Spot at(const std::int64_t* index) const {
    Spot spot = base_;
    for (const Plain& plain : plain_slots_) plain.add(index[plain.dim], spot.slot);
    for (const Plain& plain : plain_places_) plain.add(index[plain.dim], spot.place);
    const Step* step = steps_.data();
    for (const Chain& chain : chains_) {
      std::int64_t left = chain.start + chain.first.coef * index[chain.first.dim];
      for (const Term* term = chain.more; term != chain.end; ++term) {
        left += term->coef * index[term->dim];
      }
      const Step* const last = step + chain.steps;
      if (chain.dividing) {
        for (; step != last; ++step) step->move.add(step->quotient(left), spot);
      } else {
        for (; step != last; ++step) {
          const std::int64_t digit = step->quotient(left);
          left -= digit * step->width;
          step->move.add(digit, spot);
        }
      }
      chain.last_move.add(left, spot);
    }
    return spot;
  }

  /// The same for many indices, `rank` numbers each, one after the other: spots[i] = at(index i).
  /// Faster a piece, because each cut is made for a batch of elements at once.
  void at_many(std::span<const std::int64_t> indices, std::span<Spot> spots) const;

 private:
  /// Adds digit·move with one multiplication: a digit moves either the slot or the place, nearly
  /// always. One that moves both takes a second one.
  struct Move {
    std::int64_t stride = 0;
    std::int64_t slot_mask = -1;  // all ones where the stride moves the slot, else zero
    std::int64_t place_too = 0;

    Move() = default;
    explicit Move(Spot move)
        : stride(move.slot != 0 ? move.slot : move.place),
          slot_mask(move.slot != 0 ? -1 : 0),
          place_too(move.slot != 0 ? move.place : 0) {}
    void add(std::int64_t digit, Spot& spot) const {
      const std::int64_t by = (Spot{0, digit} * stride).slot;
      spot += Spot{by & ~slot_mask, by & slot_mask};
      if (place_too != 0) spot += Spot{place_too, 0} * digit;
    }
  };
  struct Plain {  // a dim that is a single stride
    std::int64_t stride;
    std::int64_t dim;
    void add(std::int64_t x, std::int64_t& to) const {  // wraps, as Spot does
      to = static_cast<std::int64_t>(static_cast<std::uint64_t>(to) +
                                     static_cast<std::uint64_t>(stride) *
                                         static_cast<std::uint64_t>(x));
    }
  };
  struct Step {
    FastDivide divide;
    std::int64_t width;
    int shift;  // where the width is a power of two, its exponent; else -1
    Move move;

    std::int64_t quotient(std::int64_t n) const {
      return shift >= 0 ? n >> shift : divide.divide(n);
    }
  };
  struct Chain {
    Term first;        // nearly every line has one term
    const Term* more;  // the others
    const Term* end;
    std::int64_t start;
    std::size_t steps;  // cuts but the last, whose width is 1
    /// Where every width divides the one before it, digits need no remainders: with q_k = p div
    /// w_k, digit k is q_k - q_{k-1}·(w_{k-1} / w_k), so the spot is Σ q_k·jump_k, with jump_k =
    /// move_k - move_{k+1}·(w_k / w_{k+1}), and no division waits for another.
    bool dividing;
    Move last_move;
  };
  std::size_t rank_ = 0;
  Spot base_;
  std::vector<Plain> plain_slots_;
  std::vector<Plain> plain_places_;
  std::vector<Chain> chains_;
  std::vector<Step> steps_;                   // of all chains, one after the other
  std::shared_ptr<std::vector<Term>> terms_;  // shared, so that copies keep pointing into it
};

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/locator.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera {

FastDivide::FastDivide(std::int64_t width) {
  assert(width >= 1);
  const auto d = static_cast<std::uint64_t>(width);
  shift_ = static_cast<unsigned>(std::bit_width(d - 1));
  const unsigned __int128 power = static_cast<unsigned __int128>(1) << (63 + shift_);
  multiplier_ = static_cast<std::uint64_t>(power / d) + 1;
}

Locator::Locator(const Lines& lines)
    : rank_(lines.shape.rank()),
      base_(lines.base),
      slot_strides_(rank_, 0),
      place_strides_(rank_, 0) {
  for (const Line& line : lines.lines) {
    const Position stride = line.cuts.back().move;  // of the point itself
    std::int64_t largest = line.start;
    base_ += stride * line.start;
    for (const Term& term : line.terms) {
      const auto dim = static_cast<std::size_t>(term.dim);
      add_product(stride.slot, term.coef, slot_strides_[dim]);
      add_product(stride.place, term.coef, place_strides_[dim]);
      largest += std::max<std::int64_t>(0, term.coef * (lines.shape[dim] - 1));
    }
    if (line.cuts.size() == 1) continue;

    Chain chain;
    chain.bare = line.terms.size() == 1 && line.terms[0].coef == 1 && line.start == 0;
    chain.first = line.terms[0];
    chain.start = line.start;
    chain.more = terms_.size();
    terms_.insert(terms_.end(), line.terms.begin() + 1, line.terms.end());
    chain.more_end = terms_.size();
    chain.steps = line.cuts.size() - 1;
    bool dividing = true;
    for (std::size_t k = 0; k < chain.steps; ++k) {
      const LineCut& cut = line.cuts[k];
      const LineCut& next = line.cuts[k + 1];
      const bool divides = cut.width % next.width == 0;
      dividing = dividing && divides;
      // After a remainder is taken, the following steps and the plain stride count from it.
      const Position expected = divides ? next.move * (cut.width / next.width) : stride * cut.width;
      steps_.push_back({ShortDivide(cut.width), cut.move - expected, divides ? 0 : cut.width,
                        FastDivide(cut.width)});
    }
    const bool is_short = largest < (std::int64_t{1} << 32);
    chain.kind = !is_short ? Kind::kLong : dividing ? Kind::kShortDividing : Kind::kShort;
    chains_.push_back(chain);
  }
  places_move_ = std::any_of(place_strides_.begin(), place_strides_.end(),
                             [](std::int64_t stride) { return stride != 0; });
  strided_ = chains_.empty() && !places_move_;
}

void Locator::at_many(std::span<const std::int64_t> indices, std::span<Position> positions) const {
  if (chains_.empty()) {
    for (std::size_t i = 0; i < positions.size(); ++i)
      positions[i] = at(indices.data() + i * rank_);
    return;
  }
  constexpr std::size_t kBatch = 256;
  std::int64_t left[kBatch];
  for (std::size_t from = 0; from < positions.size(); from += kBatch) {
    const std::size_t n = std::min(kBatch, positions.size() - from);
    const std::int64_t* const index = indices.data() + from * rank_;
    Position* const out = positions.data() + from;
    std::fill_n(out, n, base_);
    for (std::size_t dim = 0; dim < rank_; ++dim) {
      const Position stride{place_strides_[dim], slot_strides_[dim]};
      const std::int64_t* x = index + dim;
      for (std::size_t i = 0; i < n; ++i, x += rank_) out[i] += stride * *x;
    }
    const Step* step = steps_.data();
    for (const Chain& chain : chains_) {
      const std::int64_t* x = index + (chain.bare ? chain.first.dim : 0);
      for (std::size_t i = 0; i < n; ++i, x += rank_) left[i] = chain.bare ? *x : point(chain, x);
      for (const Step* const last = step + chain.steps; step != last; ++step) {
        const Step made = *step;
        const auto cut = [&](const auto& divide) {
          if (made.take == 0) {
            for (std::size_t i = 0; i < n; ++i) out[i] += made.jump * divide.divide(left[i]);
            return;
          }
          for (std::size_t i = 0; i < n; ++i) {
            const std::int64_t quotient = divide.divide(left[i]);
            out[i] += made.jump * quotient;
            left[i] -= quotient * made.take;
          }
        };
        if (chain.kind == Kind::kLong) {
          cut(made.divide);
        } else {
          cut(made.short_divide);
        }
      }
    }
  }
}

}  // namespace tessera

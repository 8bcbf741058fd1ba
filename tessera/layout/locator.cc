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
    : rank_(lines.shape.rank()), base_(lines.base), terms_(std::make_shared<std::vector<Term>>()) {
  std::vector<std::size_t> first_more;
  for (const Line& line : lines.lines) {
    if (line.cuts.size() == 1 && line.terms.size() == 1) {
      const Spot move = line.cuts[0].move * line.terms[0].coef;
      if (move.slot != 0) plain_slots_.push_back({move.slot, line.terms[0].dim});
      if (move.place != 0) plain_places_.push_back({move.place, line.terms[0].dim});
      base_ += line.cuts[0].move * line.start;
      continue;
    }
    bool dividing = true;
    for (std::size_t k = 0; k + 1 < line.cuts.size(); ++k) {
      dividing = dividing && line.cuts[k].width % line.cuts[k + 1].width == 0;
    }
    Chain chain{line.terms[0],
                nullptr,
                nullptr,
                line.start,
                line.cuts.size() - 1,
                dividing,
                Move(line.cuts.back().move)};
    first_more.push_back(terms_->size());
    terms_->insert(terms_->end(), line.terms.begin() + 1, line.terms.end());
    for (std::size_t k = 0; k < chain.steps; ++k) {
      const std::int64_t width = line.cuts[k].width;
      const auto bits = static_cast<std::uint64_t>(width);
      const int shift = std::has_single_bit(bits) ? std::countr_zero(bits) : -1;
      Spot move = line.cuts[k].move;
      if (dividing) move = move - line.cuts[k + 1].move * (width / line.cuts[k + 1].width);
      steps_.push_back({FastDivide(width), width, shift, Move(move)});
    }
    chains_.push_back(chain);
  }
  first_more.push_back(terms_->size());
  for (std::size_t c = 0; c < chains_.size(); ++c) {
    chains_[c].more = terms_->data() + first_more[c];
    chains_[c].end = terms_->data() + first_more[c + 1];
  }
}

void Locator::at_many(std::span<const std::int64_t> indices, std::span<Spot> spots) const {
  constexpr std::size_t kBatch = 256;
  std::int64_t left[kBatch];
  for (std::size_t from = 0; from < spots.size(); from += kBatch) {
    const std::size_t n = std::min(kBatch, spots.size() - from);
    const std::int64_t* const index = indices.data() + from * rank_;
    Spot* const out = spots.data() + from;
    std::fill_n(out, n, base_);
    for (const Plain& plain : plain_slots_) {
      const std::int64_t* x = index + plain.dim;
      for (std::size_t i = 0; i < n; ++i, x += rank_) plain.add(*x, out[i].slot);
    }
    for (const Plain& plain : plain_places_) {
      const std::int64_t* x = index + plain.dim;
      for (std::size_t i = 0; i < n; ++i, x += rank_) plain.add(*x, out[i].place);
    }
    const Step* step = steps_.data();
    for (const Chain& chain : chains_) {
      const std::int64_t* x = index + chain.first.dim;
      for (std::size_t i = 0; i < n; ++i, x += rank_) {
        left[i] = chain.start + chain.first.coef * *x;
      }
      for (const Term* term = chain.more; term != chain.end; ++term) {
        x = index + term->dim;
        for (std::size_t i = 0; i < n; ++i, x += rank_) left[i] += term->coef * *x;
      }
      for (const Step* const last = step + chain.steps; step != last; ++step) {
        const Step made = *step;
        for (std::size_t i = 0; i < n; ++i) {
          const std::int64_t digit = made.quotient(left[i]);
          if (!chain.dividing) left[i] -= digit * made.width;
          made.move.add(digit, out[i]);
        }
      }
      for (std::size_t i = 0; i < n; ++i) chain.last_move.add(left[i], out[i]);
    }
  }
}

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/locator.h"

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

Locator::Locator(const Lines& lines) : base_(lines.base) {
  for (const Line& line : lines.lines) {
    if (line.cuts.size() == 1 && line.terms.size() == 1 && line.terms[0].coef == 1) {
      plain_.emplace_back(line.terms[0].dim, line.cuts[0].move);
      base_ += line.cuts[0].move * line.start;
      continue;
    }
    Chain chain{};
    chain.first_term = static_cast<std::uint32_t>(terms_.size());
    terms_.insert(terms_.end(), line.terms.begin(), line.terms.end());
    chain.last_term = static_cast<std::uint32_t>(terms_.size());
    chain.first_step = static_cast<std::uint32_t>(steps_.size());
    for (std::size_t k = 0; k + 1 < line.cuts.size(); ++k) {
      steps_.push_back({FastDivide(line.cuts[k].width), line.cuts[k].width, line.cuts[k].move});
    }
    chain.last_step = static_cast<std::uint32_t>(steps_.size());
    chain.start = line.start;
    chain.last_move = line.cuts.back().move;
    chains_.push_back(chain);
  }
}

Spot Locator::at(const std::int64_t* index) const {
  Spot spot = base_;
  for (const auto& [dim, move] : plain_) spot += move * index[dim];
  for (const Chain& chain : chains_) {
    std::int64_t left = chain.start;
    for (std::uint32_t t = chain.first_term; t < chain.last_term; ++t) {
      left += terms_[t].coef * index[terms_[t].dim];
    }
    for (std::uint32_t s = chain.first_step; s < chain.last_step; ++s) {
      const Step& step = steps_[s];
      const std::int64_t digit = step.divide.divide(left);
      left -= digit * step.width;
      spot += step.move * digit;
    }
    spot += chain.last_move * left;
  }
  return spot;
}

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/pair_sums.h"

#include <algorithm>

namespace tessera::moves {

void PairSums::join() {
  const auto before = [](const Listed& x, const Listed& y) { return x.key < y.key; };
  if (!std::is_sorted(listed_.begin(), listed_.end(), before)) {
    std::sort(listed_.begin(), listed_.end(), before);
  }
  std::size_t kept = 0;
  for (const Listed& listed : listed_) {
    if (kept > 0 && listed_[kept - 1].key == listed.key) {
      listed_[kept - 1].sum.elements += listed.sum.elements;
      listed_[kept - 1].sum.runs += listed.sum.runs;
    } else {
      listed_[kept++] = listed;
    }
  }
  listed_.resize(kept);
  joined_ = kept;
}

}  // namespace tessera::moves

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// The inverse function: from a place and a slot to digits, from digits to lines, from lines to an
/// index. Digits whose strides nest are computed directly; others are found by an exact search.
/// Build it once per form and use it often.
class Decoder {
 public:
  explicit Decoder(const Form& form);

  /// What `slot` of `place` holds, both inside the allocation of a layout with this form.
  Result<Slot> element_at(const Form& form, const Place& place, std::int64_t slot) const;

  /// Calls `visit` with every index stored in `slot` of `place`, until it returns false.
  Status for_each_element(const Form& form, const Place& place, std::int64_t slot,
                          const std::function<bool(const Index&)>& visit) const;

 private:
  struct Weight {
    std::int64_t count;
    std::int64_t stride;
    std::int64_t below;    ///< the largest sum of all later weights
    std::int64_t divisor;  ///< of this stride and all later ones
    int fold;              ///< -1 for a replica coordinate
    int cut;
  };
  struct Search;

  std::vector<Weight> memory_;             // by decreasing stride
  std::vector<std::vector<Weight>> axes_;  // the same per mesh axis
  std::vector<std::vector<Weight>> open_;  // per fold: unplaced digits that need several values
  std::vector<std::size_t> order_;         // of the folds: those with the fewest open values first
  std::vector<std::int64_t> fixed_;        // constant part of each coordinate
  std::vector<int> free_dims_;             // dims in no fold
};

}  // namespace tessera

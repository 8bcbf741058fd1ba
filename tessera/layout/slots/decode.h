// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// The way back: from a place and a slot to digits, from digits to lines, from lines to an index.
/// Digits whose strides nest are read off one after the other; others are searched for, which stays
/// exact. Built once for a form and asked often.
class Decoder {
 public:
  explicit Decoder(const Form& form);

  /// What `slot` of `place` holds, both inside the allocation of a layout with this form.
  Result<Slot> element_at(const Form& form, const Place& place, std::int64_t slot) const;

  /// Calls `visit` with every index that lives in `slot` of `place`, until it returns false.
  Status for_each_element(const Form& form, const Place& place, std::int64_t slot,
                          const std::function<bool(const Index&)>& visit) const;

 private:
  struct Weight {
    std::int64_t count;
    std::int64_t stride;
    std::int64_t below;  ///< what all later weights can add up to
    int fold;            ///< -1 for a replica coordinate
    int cut;
  };
  struct Search;

  std::vector<Weight> memory_;             // by falling stride
  std::vector<std::vector<Weight>> axes_;  // the same for each mesh axis
  std::vector<Weight> open_;               // unplaced digits that data need more than one value of
  std::vector<bool> has_open_;             // for each fold
  bool settled_without_open_ = false;      // whether the other folds name every dim
  std::vector<std::int64_t> fixed_;        // constant part of each coordinate
  std::vector<int> free_dims_;             // dims in no fold
};

}  // namespace tessera

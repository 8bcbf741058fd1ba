// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/slots/digit_boxes.h"

namespace tessera {

/// Settings of one fold's mesh digits for which the same settings of its memory digits are data.
struct FoldClass {
  std::vector<std::vector<DigitRange>> boxes;  // one range per cut; only mesh cuts are used
  std::int64_t elements = 0;
  std::int64_t last_slot = 0;  // largest sum of memory digits times strides
};

/// The classes of one fold: every setting of its mesh digits is in exactly one box of one class,
/// and two settings are in one class exactly when the same memory digits are data. For folds
/// without open digits. Folds without gaps are classified by bisection; folds with gaps point by
/// point, with kTooLarge for lines of more than 2^22 points.
Result<std::vector<FoldClass>> fold_classes(const Fold& fold, const Shape& shape);

/// Joins boxes that differ in one range and are adjacent there, if there are not too many boxes.
void join_boxes(std::vector<std::vector<DigitRange>>& boxes);

}  // namespace tessera

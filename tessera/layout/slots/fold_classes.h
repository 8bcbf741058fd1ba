// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/slots/digit_boxes.h"

namespace tessera {

/// Settings of one fold's mesh digits that leave the same settings of its memory digits as data.
struct FoldClass {
  std::vector<std::vector<DigitRange>> boxes;  // one range for each cut; others than mesh unused
  std::int64_t elements = 0;
  std::int64_t last_slot = 0;  // largest sum of memory digits times strides
};

/// The classes of one fold: every setting of its mesh digits is in exactly one box of one class,
/// and two settings are in one class exactly when the same memory digits are data. For folds
/// without open digits. Ungapped folds are settled by bisection; gapped ones point by point,
/// kTooLarge for lines of more than 2^22 points.
Result<std::vector<FoldClass>> fold_classes(const Fold& fold, const Shape& shape);

/// Joins boxes that differ in one range and touch there, when there are not too many.
void join_boxes(std::vector<std::vector<DigitRange>>& boxes);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/work_map.h"

namespace tessera::ops {

/// Divides work as operands are divided: an operand that lies with rows over a mesh axis wants the
/// factor of its rows there. Operands that come first decide; a later one adds the mesh axes that
/// nothing divides yet. Whether each operand then supplies the work is another question (supply.h).
class Division {
 public:
  Division(const Loops& loops, const Shape& mesh);

  /// Divides a factor into blocks of this width, dealt round a mesh axis if it has more of them
  /// than the axis has coordinates. Nothing else divides the axis then.
  void divide(int factor, int axis, std::int64_t width);

  /// Keeps the work at one coordinate of a mesh axis.
  void stay_at(int axis, std::int64_t coordinate);

  /// Divides the work like an operand, from the coordinate on where the operand begins. A cut that
  /// the factors cannot follow, of a factor that must stay whole, or beside where an operand before
  /// begins, is left out.
  Status follow(const Access& access, const Form& operand);

  /// Divides the largest factor that is reduced in this way over the coordinates of shares, unless
  /// something divides these already.
  void reduce_over(const Fill& shares);

  /// What nothing divides of a mesh axis is fixed where an operand is; otherwise the work is
  /// repeated on the replicas of an operand, or on the whole axis if nothing is on a part of it.
  Result<WorkMap> finish() &&;

 private:
  struct Digits {
    int axis = 0;
    std::int64_t stride = 1;
    std::int64_t count = 1;
  };
  bool is_driven(std::size_t axis) const;
  bool is_free(const Digits& digits) const;
  void add(Fold fold);
  const Fill* replicas_on_some(std::size_t axis) const;

  const Loops& loops_;
  Form form_;
  std::vector<Digits> driven_;
  std::vector<std::optional<std::int64_t>> fixed_;
  std::vector<bool> closed_;  ///< axes that operands which are followed do not change
  std::vector<Fill> replicas_;
};

}  // namespace tessera::ops

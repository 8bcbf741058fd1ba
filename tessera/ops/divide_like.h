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

  /// Along a mesh axis that nothing divides, the work is repeated where all operands are that do
  /// not divide the axis themselves; where no coordinate has them all, it is where the first one
  /// begins.
  Result<WorkMap> finish() &&;

 private:
  struct Digits {
    int axis = 0;
    std::int64_t stride = 1;
    std::int64_t count = 1;
  };
  /// Coordinates of an axis at which an operand is, `stride` apart.
  struct Home {
    int axis = 0;
    std::int64_t first = 0;
    std::int64_t count = 1;
    std::int64_t stride = 1;
  };
  static std::optional<Home> common(const Home& a, const Home& b);
  bool is_driven(std::size_t axis) const;
  bool is_free(const Digits& digits) const;
  void add(Fold fold);
  std::optional<Home> common_home(std::size_t axis) const;

  const Loops& loops_;
  Form form_;
  std::vector<Digits> driven_;
  std::vector<std::optional<std::int64_t>> fixed_;
  std::vector<bool> closed_;    ///< axes that operands which are followed do not change
  std::vector<Home> homes_;     ///< of operands, on axes that they do not divide
  std::vector<Home> replicas_;  ///< of operands, each with where they begin
};

}  // namespace tessera::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tessera/plan/choose/solver/model.h"

namespace tessera::choose {

/// An exact search, best bound first.
///
/// Every open part of the search space is the model with fewer strategies at some nodes. A part is
/// reduced again, and bounded by a Dual. If the bound does not reach the best known cost, the part
/// is split at a node whose strategy the passes of the dual could not agree on.
/// Law: lower_bound() never exceeds the least cost of the model, and when is_done(), the best
/// choice given or found is optimal (or there is none).
class Branch {
 public:
  /// `bound` is already proven; `prices` are good prices of the model's moments, or empty.
  Branch(const Model& model, std::int64_t bound, std::span<const double> prices);

  /// Looks at parts until `work` numbers or so have been looked at, or `stop()` is true.
  void run(std::int64_t work, std::int64_t upper, const std::function<bool()>& stop);

  bool is_done() const { return open_.empty(); }
  std::int64_t lower_bound() const;
  /// The best choice found here, if it is better than every `upper` given so far.
  const std::optional<Choice>& best() const { return best_; }
  std::int64_t best_cost() const { return upper_; }
  std::int64_t parts() const { return parts_; }

 private:
  struct Part {
    std::int64_t bound = 0;
    std::int32_t parent = -1;  ///< in history_
    std::int64_t number = 0;   ///< in order of creation
  };
  /// One restriction; those of a part are found by following `parent`.
  struct Restriction {
    std::int32_t parent = -1;
    std::uint32_t node = 0;
    std::vector<std::uint32_t> kept;
  };

  void look_at(const Part& part);
  void offer(const Choice& choice);
  void push(Part part);

  const Model& model_;
  std::vector<double> prices_;
  std::vector<Part> open_;  ///< a heap, least bound first
  std::vector<Restriction> history_;
  std::int64_t upper_ = kForbidden;
  std::optional<Choice> best_ = {};
  std::int64_t work_ = 0;
  std::int64_t parts_ = 0;
  std::int64_t created_ = 0;
};

}  // namespace tessera::choose

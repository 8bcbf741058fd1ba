// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/choose/solver/load_tree.h"
#include "tessera/plan/choose/solver/model.h"

namespace tessera::choose {

/// A choice with its exact cost and loads, kept up to date while strategies change.
class State {
 public:
  State(const Model& model, Choice choice);

  const Choice& choice() const { return choice_; }
  std::uint32_t operator[](std::uint32_t node) const { return choice_[node]; }
  std::int64_t cost() const { return cost_; }  ///< without forbidden pairs
  const LoadTree& loads() const { return loads_; }
  bool fits() const { return loads_.largest() <= 0 && forbidden_ == 0; }
  void change(std::uint32_t node, std::uint32_t strategy);
  /// How many links of the choice are forbidden pairs.
  int forbidden() const { return forbidden_; }

 private:
  const Model* model_;
  Choice choice_;
  LoadTree loads_;
  std::int64_t cost_ = 0;  ///< of everything but forbidden pairs
  int forbidden_ = 0;
};

}  // namespace tessera::choose

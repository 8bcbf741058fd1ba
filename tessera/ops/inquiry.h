// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/ops/propagate.h"

namespace tessera::ops {

/// An operand whose layout is given.
struct Given {
  bool is_output = false;
  std::size_t number = 0;
  const Access* access = nullptr;
  const Layout* layout = nullptr;
  Form form;  ///< where the work finds it

  std::string text() const { return cat(is_output ? "output " : "input ", number); }
};

/// The same fills with another kind for these.
void change_kind(std::vector<Fill>& fills, const std::vector<Fill>& these, Fill::Kind kind,
                 Reduction reduction = Reduction::kSum);

/// A question while it is answered: the operands that decide are read and divide the work
/// (inquiry.cc), the division is judged (propagate.cc), and where it will not do, others are looked
/// for (alternatives.cc).
class Inquiry {
 public:
  Inquiry(const Question& question, const Kernels& kernels, graph::Types outputs)
      : question_(question), kernels_(kernels), outputs_(std::move(outputs)) {}

  Result<Answer> answer();

 private:
  const graph::Call& call() const { return *question_.call; }
  bool is_given(std::size_t i) const {
    return i < question_.inputs.size() && question_.inputs[i].has_value();
  }

  Status read();
  void find_shares();
  bool has_shares() const { return std::ranges::find(partial_, true) != partial_.end(); }
  bool repeats_shares(const WorkMap& work) const;
  Form seen(std::size_t i, const Layout& layout) const;
  Result<WorkMap> divide_like(const std::vector<Given>& givens) const;
  std::optional<WorkMap> divide_like_parts() const;
  std::optional<WorkMap> not_repeated(const WorkMap& work) const;
  std::vector<WorkMap> other_divisions() const;
  Result<Layout> on_places(Result<Layout> layout) const;
  Result<Layout> input_for(std::size_t i, const WorkMap& work) const;
  Layout in_some_order(std::size_t o, Layout made) const;
  Status judge();
  Status judge_instead(const WorkMap& work);
  Result<bool> judge_output(std::size_t o);
  std::optional<Alternative> alternative(const WorkMap& work) const;
  void find_alternatives();

  const Question& question_;
  const Kernels& kernels_;
  graph::Types outputs_;
  Answer answer_;
  Shape mesh_;
  const Layout* first_ = nullptr;  ///< whose places new layouts lie on
  std::vector<Given> givens_;      ///< that decide, in their order
  std::vector<bool> partial_;      ///< inputs that are shares, and on which the op runs
  std::vector<Fill> shares_;       ///< of those
};

}  // namespace tessera::ops

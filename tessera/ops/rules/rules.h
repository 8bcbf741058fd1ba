// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/graph/op.h"
#include "tessera/ops/loops.h"

/// rules/: the loops of each op, one file for each family of graph/rules/. A rule sees a call that
/// has passed its type rule, so it has no errors of its own; an op that is only elementwise needs
/// no rule.
namespace tessera::ops::rules {

/// Collects the loops of a call.
class Nest {
 public:
  Nest(const graph::Call& call, const graph::Types& outputs);

  int pass(std::int64_t extent, std::string_view name = "");
  int reduce(std::int64_t extent, Reduction reduction, std::string_view name = "");
  int whole(std::int64_t extent, std::string_view name = "");
  int add(Factor factor);

  void input(std::size_t i, std::vector<DimAccess> dims) {
    loops_.inputs[i] = Access{std::move(dims)};
  }
  void output(std::size_t i, std::vector<DimAccess> dims) {
    loops_.outputs[i] = Access{std::move(dims)};
  }

  /// Memory for a number of this type for each combination of the factors.
  void scratch(std::string_view name, std::vector<int> factors, DType dtype) {
    loops_.scratch.push_back({std::string(name), std::move(factors), dtype});
  }
  /// The same for sums over parts of the output's type, if the type is too narrow to add up in.
  void accumulator(std::vector<int> factors);
  /// The type in which statistics of an operand's elements are kept.
  DType wide() const;
  /// The factors that pass.
  std::vector<int> passing() const;

  /// Input i, if it is given, is added to one share only.
  void added_once(std::size_t i);

  /// One pass factor for each dim of a shape.
  std::vector<int> pass_dims(const Shape& shape);
  /// The dims of input i, if it is aligned at the last of `factors` and broadcast to them. A dim of
  /// extent 1 touches no factor. Nothing happens for an input that is left out.
  void broadcast_input(std::size_t i, const std::vector<int>& factors);

  const graph::Call& call() const { return *call_; }
  const Shape& out(std::size_t i = 0) const { return (*outputs_)[i].shape; }
  const Shape& in(std::size_t i) const { return call_->shape(i); }
  DType in_dtype(std::size_t i) const { return call_->dtype(i); }
  Loops take() && { return std::move(loops_); }

 private:
  const graph::Call* call_;
  const graph::Types* outputs_;
  Loops loops_;
};

/// A rule fills a nest.
using Rule = void (*)(Nest&);
struct Entry {
  std::string_view op;
  Rule rule;
};

/// Element x of the output needs only the elements of the inputs at x, which are broadcast.
void elementwise(Nest& nest);

std::vector<Entry> contraction_rules();
std::vector<Entry> reduction_rules();
std::vector<Entry> normalization_rules();
std::vector<Entry> window_rules();
std::vector<Entry> movement_rules();
std::vector<Entry> creation_rules();

/// The dims of a list of factors, each alone.
std::vector<DimAccess> dims_at(const std::vector<int>& factors);
/// `axis` of a call that has passed its type rule.
std::size_t axis_of(const graph::Call& call, std::size_t rank);

}  // namespace tessera::ops::rules

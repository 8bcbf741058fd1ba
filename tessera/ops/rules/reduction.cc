// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "tessera/graph/data.h"
#include "tessera/ops/rules/rules.h"

namespace tessera::ops::rules {
namespace {

/// How shares of the reduced elements combine; nothing if they do not (the square root of a sum).
std::optional<Reduction> combination(const graph::Call& call) {
  if (call.op().is("reduce_sum") || call.op().is("reduce_l1") ||
      call.op().is("reduce_sum_square")) {
    return Reduction::kSum;
  }
  // A mean of integers is rounded once, at the end.
  if (call.op().is("reduce_mean") && graph::is_float(call.dtype(0))) return Reduction::kSum;
  if (call.op().is("reduce_prod")) return Reduction::kProduct;
  if (call.op().is("reduce_max")) return Reduction::kMax;
  if (call.op().is("reduce_min")) return Reduction::kMin;
  return std::nullopt;
}

/// The dims of input 0 that a list names, or all without a list.
std::vector<bool> reduced_dims(const graph::Call& call) {
  const std::size_t rank = call.shape(0).rank();
  std::vector<bool> reduced(rank, !call.given("axes"));
  for (const std::int64_t axis : call.integers("axes")) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  return reduced;
}

void reduce_over(Nest& nest, const std::vector<bool>& reduced, std::optional<Reduction> how) {
  const bool keep = nest.call().integer("keepdims") != 0;
  std::vector<DimAccess> in;
  std::vector<DimAccess> out;
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    const std::int64_t extent = nest.in(0)[d];
    if (!reduced[d]) {
      in.push_back(at(nest.pass(extent)));
      out.push_back(in.back());
    } else {
      in.push_back(at(how ? nest.reduce(extent, *how) : nest.whole(extent)));
      if (keep) out.emplace_back();
    }
  }
  nest.input(0, std::move(in));
  nest.output(0, std::move(out));
}

void reduce(Nest& nest) {
  reduce_over(nest, reduced_dims(nest.call()), combination(nest.call()));
  const graph::Op op = nest.call().op();
  if (op.is("reduce_max") || op.is("reduce_min")) return;  // exact in the output's own type
  if (op.is("reduce_log_sum_exp")) nest.scratch("maximum", nest.passing(), nest.in_dtype(0));
  nest.accumulator(nest.passing());
}

/// The position of the largest or smallest element needs all of the axis.
void position(Nest& nest) {
  std::vector<bool> reduced(nest.in(0).rank());
  reduced[axis_of(nest.call(), reduced.size())] = true;
  reduce_over(nest, reduced, std::nullopt);
  nest.scratch("best element", nest.passing(), nest.in_dtype(0));
}

void running(Nest& nest) {
  std::vector<int> factors;
  const std::size_t axis = axis_of(nest.call(), nest.in(0).rank());
  for (std::size_t d = 0; d < nest.in(0).rank(); ++d) {
    factors.push_back(d == axis ? nest.whole(nest.in(0)[d]) : nest.pass(nest.in(0)[d]));
  }
  nest.input(0, dims_at(factors));
  nest.output(0, dims_at(factors));
  nest.scratch("running sum", nest.passing(), nest.wide());
}

}  // namespace

std::vector<Entry> reduction_rules() {
  return {{"reduce_sum", reduce},
          {"reduce_mean", reduce},
          {"reduce_max", reduce},
          {"reduce_min", reduce},
          {"reduce_prod", reduce},
          {"reduce_l1", reduce},
          {"reduce_sum_square", reduce},
          {"reduce_l2", reduce},
          {"reduce_log_sum", reduce},
          {"reduce_log_sum_exp", reduce},
          {"argmax", position},
          {"argmin", position},
          {"cumsum", running}};
}

}  // namespace tessera::ops::rules

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cassert>

#include "tessera/graph/rules/equation.h"
#include "tessera/ops/rules/rules.h"

namespace tessera::ops::rules {
namespace {

/// A[.., i, k]·B[.., k, j]; a vector on the left has no i, one on the right no j.
void matmul(Nest& nest) {
  const Shape& a = nest.in(0);
  const Shape& b = nest.in(1);
  const std::size_t matrix_dims = (a.rank() > 1 ? 1 : 0) + (b.rank() > 1 ? 1 : 0);
  std::vector<int> batch;
  for (std::size_t d = 0; d + matrix_dims < nest.out().rank(); ++d) {
    batch.push_back(nest.pass(nest.out()[d]));
  }
  const auto operand = [&](const Shape& shape) {
    std::vector<DimAccess> dims(shape.rank() > 2 ? shape.rank() - 2 : 0);
    const std::size_t leading = batch.size() - dims.size();
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (shape[d] == nest.out()[leading + d]) dims[d] = at(batch[leading + d]);
    }
    return dims;
  };
  std::vector<DimAccess> left = operand(a);
  std::vector<DimAccess> right = operand(b);
  std::vector<DimAccess> out = dims_at(batch);
  if (a.rank() > 1) {
    const int i = nest.pass(a[a.rank() - 2], "i");
    left.push_back(at(i));
    out.push_back(at(i));
  }
  const int k = nest.reduce(a[a.rank() - 1], Reduction::kSum, "k");
  left.push_back(at(k));
  right.push_back(at(k));
  if (b.rank() > 1) {
    const int j = nest.pass(b[b.rank() - 1], "j");
    right.push_back(at(j));
    out.push_back(at(j));
  }
  nest.input(0, std::move(left));
  nest.input(1, std::move(right));
  nest.output(0, std::move(out));
  nest.accumulator(nest.passing());
}

void gemm(Nest& nest) {
  const bool turn_a = nest.call().integer("trans_a") != 0;
  const bool turn_b = nest.call().integer("trans_b") != 0;
  const int i = nest.pass(nest.out()[0], "i");
  const int j = nest.pass(nest.out()[1], "j");
  const int k = nest.reduce(nest.in(0)[turn_a ? 0 : 1], Reduction::kSum, "k");
  nest.input(0, turn_a ? dims_at({k, i}) : dims_at({i, k}));
  nest.input(1, turn_b ? dims_at({j, k}) : dims_at({k, j}));
  nest.broadcast_input(2, {i, j});
  nest.added_once(2);
  nest.output(0, dims_at({i, j}));
  nest.accumulator({i, j});
}

/// A label is a factor; one that the result lacks is summed.
void einsum(Nest& nest) {
  const auto equation = graph::rules::read_equation(nest.call());
  assert(equation);
  const auto extents = graph::rules::label_extents(nest.call(), *equation);
  assert(extents);
  std::array<int, graph::rules::kLabels> factors;
  factors.fill(-1);
  const auto factor_of = [&](int label) {
    int& factor = factors[static_cast<std::size_t>(label)];
    if (factor == -1) {
      const bool kept = std::ranges::count(equation->output, label) > 0;
      const std::int64_t extent = (*extents)[static_cast<std::size_t>(label)];
      const char letter = label < graph::rules::kEllipsisDims ? static_cast<char>(label) : '\0';
      const std::string name = letter != '\0' ? std::string(1, letter) : std::string();
      factor = kept ? nest.pass(extent, name) : nest.reduce(extent, Reduction::kSum, name);
    }
    return factor;
  };
  for (std::size_t i = 0; i < nest.call().inputs(); ++i) {
    std::vector<DimAccess> dims;
    for (std::size_t d = 0; d < equation->inputs[i].size(); ++d) {
      const int label = equation->inputs[i][d];
      const bool alike = nest.in(i)[d] == (*extents)[static_cast<std::size_t>(label)];
      dims.push_back(alike ? at(factor_of(label)) : DimAccess{});
    }
    nest.input(i, std::move(dims));
  }
  std::vector<DimAccess> out;
  for (const int label : equation->output) out.push_back(at(factor_of(label)));
  nest.output(0, std::move(out));
  nest.accumulator(nest.passing());
}

/// q[.., h, s, d], k[.., h, t, d], v[.., h, t, e], mask[.., s, t]. Scores need all of d, and the
/// softmax all of t. Where keys have fewer heads than queries, groups of heads share them.
void attention(Nest& nest) {
  const Shape& q = nest.in(0);
  const Shape& keys = nest.in(1);
  const std::size_t rank = q.rank();
  std::vector<DimAccess> query;
  std::vector<DimAccess> key;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (q[d] == keys[d]) {
      const int factor = nest.pass(q[d], d + 3 == rank ? "h" : "");
      query.push_back(at(factor));
      key.push_back(at(factor));
    } else {
      const int group = nest.pass(keys[d], "g");
      const int head = nest.pass(q[d] / keys[d], "h");
      query.push_back(at(group, q[d] / keys[d]) + at(head));
      key.push_back(at(group));
    }
  }
  const std::vector<DimAccess> heads = query;
  std::vector<DimAccess> value = key;
  const int s = nest.pass(q[rank - 2], "s");
  const int t = nest.whole(keys[rank - 2], "t");
  const int d = nest.whole(q[rank - 1], "d");
  const int e = nest.pass(nest.out()[rank - 1], "e");
  query.insert(query.end(), {at(s), at(d)});
  key.insert(key.end(), {at(t), at(d)});
  value.insert(value.end(), {at(t), at(e)});
  std::vector<DimAccess> out = heads;
  out.insert(out.end(), {at(s), at(e)});
  if (nest.call().has(3)) {
    std::vector<DimAccess> scores = heads;
    scores.insert(scores.end(), {at(s), at(t)});
    const Shape& mask = nest.in(3);
    std::vector<DimAccess> dims(scores.end() - static_cast<std::ptrdiff_t>(mask.rank()),
                                scores.end());
    for (std::size_t m = 0; m < mask.rank(); ++m) {
      const std::size_t of_scores = rank - mask.rank() + m;
      const std::int64_t extent = of_scores + 1 == rank ? keys[rank - 2] : q[of_scores];
      if (mask[m] != extent) dims[m] = {};
    }
    nest.input(3, std::move(dims));
  }
  nest.input(0, std::move(query));
  nest.input(1, std::move(key));
  nest.input(2, std::move(value));
  nest.output(0, std::move(out));
  // Row by row: the scores of one query, then its sum over them.
  nest.scratch("scores of a row", {t}, nest.wide());
  nest.scratch("sums of a row", {e}, nest.wide());
}

}  // namespace

std::vector<Entry> contraction_rules() {
  return {{"matmul", matmul}, {"gemm", gemm}, {"einsum", einsum}, {"attention", attention}};
}

}  // namespace tessera::ops::rules

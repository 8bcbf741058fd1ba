// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {
namespace {

using Real = long double;

/// All elements along the reduced dims, for each of the others in row-major order.
std::vector<std::vector<Real>> groups_of(const NaiveTensor& x, const std::vector<bool>& reduced) {
  std::map<Index, std::vector<Real>> groups;
  each_index(x.type.shape, [&](const Index& index) {
    Index key;
    for (std::size_t d = 0; d < index.size(); ++d) {
      if (!reduced[d]) key.push_back(index[d]);
    }
    groups[key].push_back(x.elements[static_cast<std::size_t>(row_major(x.type.shape, index))]);
  });
  std::vector<std::vector<Real>> lists;
  for (auto& [key, list] : groups) lists.push_back(list);
  return lists;
}

bool reduction(NaiveCall& call) {
  if (!call.op.starts_with("reduce_")) return false;
  const NaiveTensor& x = call.in(0);
  std::vector<bool> reduced(x.type.shape.rank(), !call.call.given("axes"));
  for (const std::int64_t axis : call.call.integers("axes")) {
    reduced[dim_at(axis, reduced.size())] = true;
  }
  call.out().elements.clear();
  if (x.elements.empty()) {
    // A sum of nothing is 0, a product 1; a largest element does not exist.
    if (call.op != "reduce_sum" && call.op != "reduce_l1" && call.op != "reduce_prod") return false;
    fill(call, [&](const Index&) { return call.op == "reduce_prod" ? 1.0L : 0.0L; });
    return true;
  }
  for (const std::vector<Real>& list : groups_of(x, reduced)) {
    Real sum = 0;
    Real product = 1;
    Real absolute = 0;
    Real squares = 0;
    Real exponentials = 0;
    Real most = list[0];
    Real least = list[0];
    for (const Real value : list) {
      sum += value;
      product *= value;
      absolute += std::fabs(value);
      squares += value * value;
      exponentials += std::exp(value);
      most = std::isnan(value) || value > most ? value : most;  // a NaN stays, as in NumPy
      least = std::isnan(value) || value < least ? value : least;
    }
    const std::map<std::string_view, Real> results = {
        {"reduce_sum", sum},
        {"reduce_mean", sum / static_cast<Real>(list.size())},
        {"reduce_prod", product},
        {"reduce_l1", absolute},
        {"reduce_l2", std::sqrt(squares)},
        {"reduce_sum_square", squares},
        {"reduce_log_sum", std::log(sum)},
        {"reduce_log_sum_exp", std::log(exponentials)},
        {"reduce_max", most},
        {"reduce_min", least}};
    call.out().elements.push_back(results.at(call.op));
  }
  return true;
}

bool position(NaiveCall& call) {
  if (call.op != "argmax" && call.op != "argmin") return false;
  const NaiveTensor& x = call.in(0);
  std::vector<bool> reduced(x.type.shape.rank(), false);
  reduced[dim_at(call.call.integer("axis"), reduced.size())] = true;
  const bool last = call.call.integer("select_last") != 0;
  call.out().elements.clear();
  for (const std::vector<Real>& list : groups_of(x, reduced)) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < list.size(); ++i) {
      const bool better = call.op == "argmax" ? list[i] > list[best] : list[i] < list[best];
      if (better || (last && list[i] == list[best])) best = i;
    }
    call.out().elements.push_back(static_cast<Real>(best));
  }
  return true;
}

/// The elements along one dim through `index`.
std::vector<Real> line(const NaiveTensor& x, Index index, std::size_t dim) {
  std::vector<Real> out;
  for (index[dim] = 0; index[dim] < x.type.shape[dim]; ++index[dim]) {
    out.push_back(x.elements[static_cast<std::size_t>(row_major(x.type.shape, index))]);
  }
  return out;
}

bool along_axis(NaiveCall& call) {
  if (call.op != "softmax" && call.op != "log_softmax" && call.op != "hardmax" &&
      call.op != "cumsum") {
    return false;
  }
  const NaiveTensor& x = call.in(0);
  const std::size_t dim = dim_at(call.call.integer("axis"), x.type.shape.rank());
  const bool exclusive = call.call.integer("exclusive") != 0;
  const bool reverse = call.call.integer("reverse") != 0;
  fill(call, [&](const Index& index) -> Real {
    const std::vector<Real> list = line(x, index, dim);
    const auto here = static_cast<std::size_t>(index[dim]);
    const Real most = *std::max_element(list.begin(), list.end());
    Real sum = 0;
    for (const Real value : list) sum += std::exp(value - most);
    if (call.op == "softmax") return std::exp(list[here] - most) / sum;
    if (call.op == "log_softmax") return list[here] - most - std::log(sum);
    if (call.op == "hardmax") {
      return std::find(list.begin(), list.end(), most) - list.begin() == index[dim] ? 1 : 0;
    }
    Real running = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool before = reverse ? i > here : i < here;
      if (before || (i == here && !exclusive)) running += list[i];
    }
    return running;
  });
  return true;
}

/// (x - mean) / sqrt(variance + epsilon) over a set of elements.
struct Statistics {
  Real mean = 0;
  Real variance = 0;
  Real squares = 0;  ///< mean of squares
};
Statistics statistics(const std::vector<Real>& list) {
  Statistics out;
  for (const Real value : list) out.mean += value / static_cast<Real>(list.size());
  for (const Real value : list) {
    out.variance += (value - out.mean) * (value - out.mean) / static_cast<Real>(list.size());
    out.squares += value * value / static_cast<Real>(list.size());
  }
  return out;
}

bool norm(NaiveCall& call) {
  const bool layer = call.op == "layer_norm";
  const bool rms = call.op == "rms_norm";
  const bool batch = call.op == "batch_norm";
  const bool group = call.op == "group_norm";
  const bool instance = call.op == "instance_norm";
  if (!layer && !rms && !batch && !group && !instance) return false;
  const NaiveTensor& x = call.in(0);
  const Shape& shape = x.type.shape;
  const Real epsilon = call.call.real("epsilon");
  const auto channel = [&](std::size_t input, const Index& index) {
    return call.in(input).elements[static_cast<std::size_t>(index.size() < 2 ? 0 : index[1])];
  };
  if (batch) {
    fill(call, [&](const Index& index) {
      const Real deviation = std::sqrt(channel(4, index) + epsilon);
      return channel(1, index) *
                 (x.elements[static_cast<std::size_t>(row_major(shape, index))] -
                  channel(3, index)) /
                 deviation +
             channel(2, index);
    });
    return true;
  }
  const std::int64_t group_size = group ? shape[1] / call.call.integer("groups") : std::int64_t{1};
  const std::size_t axis = layer || rms ? dim_at(call.call.integer("axis"), shape.rank()) : 0;
  const auto same_group = [&](const Index& a, const Index& b) {
    if (layer || rms)
      return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(axis), b.begin());
    return a[0] == b[0] && a[1] / group_size == b[1] / group_size;
  };
  std::map<Index, Statistics> known;
  const auto of = [&](const Index& index) -> const Statistics& {
    Index key = layer || rms
                    ? Index(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(axis))
                    : Index{index[0], index[1] / group_size};
    const auto at = known.find(key);
    if (at != known.end()) return at->second;
    std::vector<Real> list;
    each_index(shape, [&](const Index& other) {
      if (same_group(index, other)) {
        list.push_back(x.elements[static_cast<std::size_t>(row_major(shape, other))]);
      }
    });
    return known.emplace(std::move(key), statistics(list)).first->second;
  };
  fill(call, [&](const Index& index) {
    const Statistics& s = of(index);
    const Real value = x.elements[static_cast<std::size_t>(row_major(shape, index))];
    if (rms) {
      const Real scaled = value / std::sqrt(s.squares + epsilon);
      return call.has(1) ? scaled * broadcast_at(call.in(1), index) : scaled;
    }
    const Real normal = (value - s.mean) / std::sqrt(s.variance + epsilon);
    if (!layer) return normal * channel(1, index) + channel(2, index);
    return normal * broadcast_at(call.in(1), index) +
           (call.has(2) ? broadcast_at(call.in(2), index) : 0);
  });
  for (std::size_t i = 1; i < call.outputs.size(); ++i) {
    call.out(i).elements.clear();
    each_index(call.out(i).type.shape, [&](const Index& index) {
      const Statistics& s = of(index);
      call.out(i).elements.push_back(i == 1 ? s.mean : 1 / std::sqrt(s.variance + epsilon));
    });
  }
  return true;
}

}  // namespace

bool evaluate_reductions(NaiveCall& call) {
  return reduction(call) || position(call) || along_axis(call) || norm(call);
}

}  // namespace tessera::test

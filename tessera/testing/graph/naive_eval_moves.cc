// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {
namespace {

using Real = long double;

Real at(const NaiveTensor& x, const Index& index) {
  return x.elements[static_cast<std::size_t>(row_major(x.type.shape, index))];
}

std::int64_t whole(Real number) { return static_cast<std::int64_t>(number); }

/// A coordinate that may count from the end.
std::int64_t settled(Real number, std::int64_t extent) {
  const std::int64_t k = whole(number);
  return k < 0 ? k + extent : k;
}

bool same_order(NaiveCall& call) {
  for (const std::string_view op : {"reshape", "flatten", "squeeze", "unsqueeze"}) {
    if (call.op != op) continue;
    call.out().elements = call.in(0).elements;
    return true;
  }
  return false;
}

bool rearranged(NaiveCall& call) {
  if (call.op == "transpose") {
    const std::size_t rank = call.in(0).type.shape.rank();
    std::vector<std::int64_t> perm = call.call.integers("perm");
    if (!call.call.given("perm")) {
      for (std::size_t d = rank; d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
    }
    fill(call, [&](const Index& index) {
      Index from(rank);
      for (std::size_t d = 0; d < rank; ++d) from[static_cast<std::size_t>(perm[d])] = index[d];
      return at(call.in(0), from);
    });
    return true;
  }
  if (call.op == "expand") {
    fill(call, [&](const Index& index) { return broadcast_at(call.in(0), index); });
    return true;
  }
  if (call.op == "tile") {
    fill(call, [&](Index index) {
      for (std::size_t d = 0; d < index.size(); ++d) index[d] %= call.in(0).type.shape[d];
      return at(call.in(0), index);
    });
    return true;
  }
  if (call.op == "trilu") {
    const std::int64_t k = call.call.integer("k");
    const bool upper = call.call.integer("upper") != 0;
    fill(call, [&](const Index& index) {
      const std::int64_t diagonal = index[index.size() - 1] - index[index.size() - 2];
      return (upper ? diagonal >= k : diagonal <= k) ? at(call.in(0), index) : 0;
    });
    return true;
  }
  if (call.op == "depth_to_space" || call.op == "space_to_depth") {
    const std::int64_t b = call.call.integer("block");
    const bool deep = call.op == "depth_to_space";
    const std::int64_t c = deep ? call.out().type.shape[1] : call.in(0).type.shape[1];
    const bool crd = call.call.text("mode") == "CRD";
    fill(call, [&](const Index& i) {
      if (!deep) {
        const std::int64_t offset = i[1] / c;
        return at(call.in(0), {i[0], i[1] % c, i[2] * b + offset / b, i[3] * b + offset % b});
      }
      const std::int64_t offset = i[2] % b * b + i[3] % b;
      const std::int64_t channel = crd ? i[1] * b * b + offset : offset * c + i[1];
      return at(call.in(0), {i[0], channel, i[2] / b, i[3] / b});
    });
    return true;
  }
  if (call.op == "reverse_sequence") {
    const std::size_t batch = dim_at(call.call.integer("batch_axis"), call.in(0).type.shape.rank());
    const std::size_t time = dim_at(call.call.integer("time_axis"), call.in(0).type.shape.rank());
    fill(call, [&](Index index) {
      const std::int64_t length =
          whole(call.in(1).elements[static_cast<std::size_t>(index[batch])]);
      if (index[time] < length) index[time] = length - 1 - index[time];
      return at(call.in(0), index);
    });
    return true;
  }
  return false;
}

/// As the text of Slice: numbers below 0 count from the end, then everything is clamped.
bool slice(NaiveCall& call) {
  if (call.op != "slice") return false;
  const Shape& shape = call.in(0).type.shape;
  const auto& starts = call.call.integers("starts");
  std::vector<std::int64_t> first(shape.rank(), 0);
  std::vector<std::int64_t> step(shape.rank(), 1);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t d =
        call.call.given("axes") ? dim_at(call.call.integers("axes")[i], shape.rank()) : i;
    if (call.call.given("steps")) step[d] = call.call.integers("steps")[i];
    const Real start =
        static_cast<Real>(starts[i]) + (starts[i] < 0 ? static_cast<Real>(shape[d]) : 0);
    const Real high = static_cast<Real>(step[d] > 0 ? shape[d] : shape[d] - 1);
    first[d] = whole(std::clamp(start, 0.0L, std::max(high, 0.0L)));
  }
  fill(call, [&](Index index) {
    for (std::size_t d = 0; d < index.size(); ++d) index[d] = first[d] + index[d] * step[d];
    return at(call.in(0), index);
  });
  return true;
}

bool parts(NaiveCall& call) {
  if (call.op == "concat") {
    const std::size_t dim = dim_at(call.call.integer("axis"), call.out().type.shape.rank());
    fill(call, [&](Index index) {
      std::size_t part = 0;
      while (index[dim] >= call.in(part).type.shape[dim]) {
        index[dim] -= call.in(part++).type.shape[dim];
      }
      return at(call.in(part), index);
    });
    return true;
  }
  if (call.op == "split") {
    const std::size_t dim = dim_at(call.call.integer("axis"), call.in(0).type.shape.rank());
    std::int64_t before = 0;
    for (NaiveTensor& out : call.outputs) {
      out.elements.clear();
      each_index(out.type.shape, [&](Index index) {
        index[dim] += before;
        out.elements.push_back(at(call.in(0), index));
      });
      before += out.type.shape[dim];
    }
    return true;
  }
  if (call.op == "pad") {
    const Shape& shape = call.in(0).type.shape;
    const auto& pads = call.call.integers("pads");
    const std::string_view mode = call.call.text("mode");
    fill(call, [&](Index index) -> Real {
      for (std::size_t d = 0; d < index.size(); ++d) {
        index[d] -= pads[d];
        if (index[d] >= 0 && index[d] < shape[d]) continue;
        if (mode == "constant") return call.has(1) ? call.in(1).elements[0] : 0;
        if (mode == "edge") index[d] = std::clamp<std::int64_t>(index[d], 0, shape[d] - 1);
        if (mode == "reflect") {
          index[d] = index[d] < 0 ? -index[d] : 2 * (shape[d] - 1) - index[d];
        }
      }
      return at(call.in(0), index);
    });
    return true;
  }
  return false;
}

bool gathers(NaiveCall& call) {
  const bool table = call.op == "embedding";
  if (call.op == "gather" || table) {
    const NaiveTensor& x = call.in(0);
    const std::size_t dim = table ? 0 : dim_at(call.call.integer("axis"), x.type.shape.rank());
    const auto rank = static_cast<std::ptrdiff_t>(call.in(1).type.shape.rank());
    fill(call, [&](const Index& index) {
      const auto middle = index.begin() + static_cast<std::ptrdiff_t>(dim);
      Index from(index.begin(), middle);
      from.push_back(settled(at(call.in(1), Index(middle, middle + rank)), x.type.shape[dim]));
      from.insert(from.end(), middle + rank, index.end());
      return at(x, from);
    });
    return true;
  }
  if (call.op == "gather_elements") {
    const std::size_t dim = dim_at(call.call.integer("axis"), call.in(0).type.shape.rank());
    fill(call, [&](const Index& index) {
      Index from = index;
      from[dim] = settled(at(call.in(1), index), call.in(0).type.shape[dim]);
      return at(call.in(0), from);
    });
    return true;
  }
  if (call.op == "gather_nd") {
    const Shape& indices = call.in(1).type.shape;
    const auto batch = static_cast<std::ptrdiff_t>(call.call.integer("batch_dims"));
    const std::int64_t width = indices[indices.rank() - 1];
    fill(call, [&](const Index& index) {
      const auto rest = index.begin() + static_cast<std::ptrdiff_t>(indices.rank()) - 1;
      Index from(index.begin(), index.begin() + batch);
      for (std::int64_t k = 0; k < width; ++k) {
        Index tuple(index.begin(), rest);
        tuple.push_back(k);
        from.push_back(settled(at(call.in(1), tuple), call.in(0).type.shape[from.size()]));
      }
      from.insert(from.end(), rest, index.end());
      return at(call.in(0), from);
    });
    return true;
  }
  return false;
}

bool scatters(NaiveCall& call) {
  const bool elements = call.op == "scatter_elements";
  if (call.op != "scatter_nd" && !elements) return false;
  NaiveTensor& out = call.out();
  out.elements = call.in(0).elements;
  const std::string_view reduction = call.call.text("reduction");
  const auto store = [&](const Index& to, Real value) {
    Real& old = out.elements[static_cast<std::size_t>(row_major(out.type.shape, to))];
    old = reduction == "add" ? old + value : reduction == "mul" ? old * value : value;
  };
  const Shape& indices = call.in(1).type.shape;
  each_index(call.in(2).type.shape, [&](const Index& index) {
    Index to = index;
    if (elements) {
      const std::size_t dim = dim_at(call.call.integer("axis"), to.size());
      to[dim] = settled(at(call.in(1), index), out.type.shape[dim]);
    } else {
      const auto middle = index.begin() + static_cast<std::ptrdiff_t>(indices.rank()) - 1;
      to.clear();
      for (std::int64_t k = 0; k < indices[indices.rank() - 1]; ++k) {
        Index tuple(index.begin(), middle);
        tuple.push_back(k);
        to.push_back(settled(at(call.in(1), tuple), out.type.shape[to.size()]));
      }
      to.insert(to.end(), middle, index.end());
    }
    store(to, at(call.in(2), index));
  });
  return true;
}

bool creation(NaiveCall& call) {
  const graph::Call& with = call.call;
  if (call.op == "constant") {
    call.out().elements.assign(with.reals("reals").begin(), with.reals("reals").end());
    for (const std::int64_t number : with.integers("integers")) {
      call.out().elements.push_back(static_cast<Real>(number));
    }
    return true;
  }
  if (call.op == "constant_of_shape") {
    fill(call, [&](const Index&) { return static_cast<Real>(with.real("value")); });
    return true;
  }
  if (call.op == "range") {
    fill(call, [&](const Index& index) {
      return static_cast<Real>(with.real("start")) +
             static_cast<Real>(index[0]) * static_cast<Real>(with.real("delta"));
    });
    return true;
  }
  if (call.op == "size") {
    fill(call, [&](const Index&) { return static_cast<Real>(call.in(0).type.shape.elements()); });
    return true;
  }
  if (call.op == "shape") {
    const Shape& shape = call.in(0).type.shape;
    const auto rank = static_cast<std::int64_t>(shape.rank());
    const std::int64_t start = with.integer("start");
    const std::int64_t first = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
    fill(call, [&](const Index& index) {
      return static_cast<Real>(shape[static_cast<std::size_t>(first + index[0])]);
    });
    return true;
  }
  if (call.op == "one_hot") {
    const std::size_t dim = dim_at(with.integer("axis"), call.out().type.shape.rank());
    const std::int64_t depth = with.integer("depth");
    fill(call, [&](Index index) {
      const std::int64_t here = index[dim];
      index.erase(index.begin() + static_cast<std::ptrdiff_t>(dim));
      return call.in(1).elements[settled(at(call.in(0), index), depth) == here ? 1 : 0];
    });
    return true;
  }
  if (call.op == "eye_like") {
    fill(call, [&](const Index& i) { return i[1] - i[0] == with.integer("k") ? 1.0L : 0.0L; });
    return true;
  }
  if (call.op == "topk") {
    const Shape& shape = call.in(0).type.shape;
    const std::size_t dim = dim_at(with.integer("axis"), shape.rank());
    const bool largest = with.integer("largest") != 0;
    for (NaiveTensor& out : call.outputs) out.elements.clear();
    each_index(call.out().type.shape, [&](const Index& index) {
      Index from = index;
      const auto value = [&](std::int64_t k) {
        from[dim] = k;
        return at(call.in(0), from);
      };
      std::vector<std::int64_t> order(static_cast<std::size_t>(shape[dim]));
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        if (value(a) == value(b)) return a < b;  // the first of equal ones
        return largest ? value(a) > value(b) : value(a) < value(b);
      });
      const std::int64_t chosen = order[static_cast<std::size_t>(index[dim])];
      call.out(0).elements.push_back(value(chosen));
      call.out(1).elements.push_back(static_cast<Real>(chosen));
    });
    return true;
  }
  return false;
}

}  // namespace

bool evaluate_moves(NaiveCall& call) {
  return same_order(call) || rearranged(call) || slice(call) || parts(call) || gathers(call) ||
         scatters(call) || creation(call);
}

}  // namespace tessera::test

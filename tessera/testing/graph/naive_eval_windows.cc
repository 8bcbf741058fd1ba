// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tessera/testing/graph/naive_eval.h"

namespace tessera::test {
namespace {

using Real = long double;
using Ints = std::vector<std::int64_t>;

Real at(const NaiveTensor& x, const Index& index) {
  return x.elements[static_cast<std::size_t>(row_major(x.type.shape, index))];
}

Ints list_or(const NaiveCall& call, std::string_view name, std::size_t count, std::int64_t other) {
  return call.call.given(name) ? call.call.integers(name) : Ints(count, other);
}

Shape spatial(const Shape& shape) {
  return *Shape::make({shape.extents().begin() + 2, shape.extents().end()});
}

bool conv(NaiveCall& call) {
  if (call.op != "conv") return false;
  const Shape& x = call.in(0).type.shape;
  const Shape& w = call.in(1).type.shape;
  const std::size_t dims = x.rank() - 2;
  const Ints strides = list_or(call, "strides", dims, 1);
  const Ints dilations = list_or(call, "dilations", dims, 1);
  const Ints pads = list_or(call, "pads", 2 * dims, 0);
  const std::int64_t per_group = w[0] / call.call.integer("groups");
  fill(call, [&](const Index& index) {
    Real sum = call.has(2) ? call.in(2).elements[static_cast<std::size_t>(index[1])] : 0;
    const std::int64_t group = index[1] / per_group;
    each_index(*Shape::make({w.extents().begin() + 1, w.extents().end()}), [&](const Index& k) {
      Index from = {index[0], group * w[1] + k[0]};
      for (std::size_t d = 0; d < dims; ++d) {
        from.push_back(index[d + 2] * strides[d] + k[d + 1] * dilations[d] - pads[d]);
        if (from.back() < 0 || from.back() >= x[d + 2]) return;
      }
      Index weight = {index[1]};
      weight.insert(weight.end(), k.begin(), k.end());
      sum += at(call.in(0), from) * at(call.in(1), weight);
    });
    return sum;
  });
  return true;
}

/// Every input element adds a kernel to the output.
bool conv_transpose(NaiveCall& call) {
  if (call.op != "conv_transpose") return false;
  const Shape& x = call.in(0).type.shape;
  const Shape& w = call.in(1).type.shape;
  NaiveTensor& out = call.out();
  const Shape& y = out.type.shape;
  const std::size_t dims = x.rank() - 2;
  const Ints strides = list_or(call, "strides", dims, 1);
  const Ints dilations = list_or(call, "dilations", dims, 1);
  const Ints pads = list_or(call, "pads", 2 * dims, 0);
  const std::int64_t per_group = x[1] / call.call.integer("groups");
  fill(call, [&](const Index& index) {
    return call.has(2) ? call.in(2).elements[static_cast<std::size_t>(index[1])] : 0;
  });
  each_index(x, [&](const Index& from) {
    each_index(*Shape::make({w.extents().begin() + 1, w.extents().end()}), [&](const Index& k) {
      Index to = {from[0], from[1] / per_group * w[1] + k[0]};
      for (std::size_t d = 0; d < dims; ++d) {
        to.push_back(from[d + 2] * strides[d] + k[d + 1] * dilations[d] - pads[d]);
        if (to.back() < 0 || to.back() >= y[d + 2]) return;
      }
      Index weight = {from[1]};
      weight.insert(weight.end(), k.begin(), k.end());
      out.elements[static_cast<std::size_t>(row_major(y, to))] +=
          at(call.in(0), from) * at(call.in(1), weight);
    });
  });
  return true;
}

bool pool(NaiveCall& call) {
  const bool global = call.op == "global_max_pool" || call.op == "global_average_pool";
  const bool max = call.op == "max_pool" || call.op == "global_max_pool";
  if (!global && call.op != "max_pool" && call.op != "average_pool") return false;
  const Shape& x = call.in(0).type.shape;
  const std::size_t dims = x.rank() - 2;
  const Ints kernel = global ? spatial(x).extents() : call.call.integers("kernel");
  const Ints strides = list_or(call, "strides", dims, 1);
  const Ints dilations = list_or(call, "dilations", dims, 1);
  const Ints pads = list_or(call, "pads", 2 * dims, 0);
  const bool with_padding = call.call.integer("count_include_pad") != 0;
  for (NaiveTensor& out : call.outputs) out.elements.clear();
  each_index(call.out().type.shape, [&](const Index& index) {
    Real sum = 0;
    Real most = -INFINITY;
    Index best;
    std::int64_t count = 0;
    each_index(*Shape::make(kernel), [&](const Index& k) {
      Index from = {index[0], index[1]};
      bool inside = true;
      bool in_padding = true;
      for (std::size_t d = 0; d < dims; ++d) {
        from.push_back(index[d + 2] * strides[d] + k[d] * dilations[d] - pads[d]);
        inside = inside && from.back() >= 0 && from.back() < x[d + 2];
        in_padding = in_padding && from.back() < x[d + 2] + pads[d + dims];
      }
      if (inside || (with_padding && in_padding)) ++count;
      if (!inside) return;
      const Real value = at(call.in(0), from);
      sum += value;
      if (best.empty() || value > most) {
        best = from;
        most = value;
      }
    });
    call.out().elements.push_back(max ? most : sum / static_cast<Real>(count));
    if (call.outputs.size() < 2) return;
    // Positions in the whole tensor; column-major ones change the order of the last two dims.
    std::int64_t position = row_major(x, best);
    if (call.call.integer("column_major") != 0) {
      const std::size_t r = x.rank() - 2;
      const std::int64_t image = position / (x[r] * x[r + 1]);
      position = image * x[r] * x[r + 1] + best[r + 1] * x[r] + best[r];
    }
    call.out(1).elements.push_back(static_cast<Real>(position));
  });
  return true;
}

bool lrn(NaiveCall& call) {
  if (call.op != "lrn") return false;
  const Shape& shape = call.in(0).type.shape;
  const std::int64_t size = call.call.integer("size");
  fill(call, [&](const Index& index) {
    Real squares = 0;
    const std::int64_t low = std::max<std::int64_t>(0, index[1] - (size - 1) / 2);
    const std::int64_t high = std::min(shape[1] - 1, index[1] + size / 2);
    Index other = index;
    for (other[1] = low; other[1] <= high; ++other[1]) {
      squares += at(call.in(0), other) * at(call.in(0), other);
    }
    const Real base =
        static_cast<Real>(call.call.real("bias")) +
        static_cast<Real>(call.call.real("alpha")) / static_cast<Real>(size) * squares;
    return at(call.in(0), index) / std::pow(base, static_cast<Real>(call.call.real("beta")));
  });
  return true;
}

/// The weights of the taps along one dim: (position, weight).
struct Tap {
  std::int64_t position;
  Real weight;
};

bool resize(NaiveCall& call) {
  if (call.op != "resize") return false;
  const graph::Call& with = call.call;
  const Shape& in = call.in(0).type.shape;
  const Shape out = call.out().type.shape;
  const std::string_view mode = with.text("mode");
  const std::string_view rule = with.text("coordinates");
  const auto coordinate = [&](std::size_t d, std::int64_t k) -> Real {
    const auto x = static_cast<Real>(k);
    const auto length_in = static_cast<Real>(in[d]);
    const auto length_out = static_cast<Real>(out[d]);
    const Real scale =
        with.given("scales") ? static_cast<Real>(with.reals("scales")[d]) : length_out / length_in;
    if (rule == "asymmetric") return x / scale;
    if (rule == "align_corners")
      return length_out == 1 ? 0 : x * (length_in - 1) / (length_out - 1);
    if (rule == "pytorch_half_pixel") return length_out > 1 ? (x + 0.5L) / scale - 0.5L : 0;
    if (rule == "tf_half_pixel_for_nn") return (x + 0.5L) / scale;
    if (rule == "tf_crop_and_resize") {
      const Real start = static_cast<Real>(with.reals("roi")[d]);
      const Real end = static_cast<Real>(with.reals("roi")[d + in.rank()]);
      return length_out > 1
                 ? start * (length_in - 1) + x * (end - start) * (length_in - 1) / (length_out - 1)
                 : 0.5L * (start + end) * (length_in - 1);
    }
    return (x + 0.5L) / scale - 0.5L;
  };
  const auto taps = [&](std::size_t d, Real x) {
    std::vector<Tap> list;
    if (in[d] == out[d] && x == std::floor(x))
      return std::vector<Tap>{{static_cast<std::int64_t>(x), 1}};
    if (mode == "nearest") {
      const std::string_view nearest = with.text("nearest_mode");
      const Real at_x = nearest == "floor"               ? std::floor(x)
                        : nearest == "ceil"              ? std::ceil(x)
                        : nearest == "round_prefer_ceil" ? std::floor(x + 0.5L)
                                                         : std::ceil(x - 0.5L);
      return std::vector<Tap>{{static_cast<std::int64_t>(at_x), 1}};
    }
    const auto base = static_cast<std::int64_t>(std::floor(x));
    const Real t = x - static_cast<Real>(base);
    if (mode == "linear") return std::vector<Tap>{{base, 1 - t}, {base + 1, t}};
    const Real a = with.real("cubic_coeff_a");
    const auto near = [&](Real s) { return ((a + 2) * s - (a + 3)) * s * s + 1; };
    const auto far = [&](Real s) { return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a; };
    list = {
        {base - 1, far(1 + t)}, {base, near(t)}, {base + 1, near(1 - t)}, {base + 2, far(2 - t)}};
    if (with.integer("exclude_outside") == 0) return list;
    Real sum = 0;
    for (Tap& tap : list) {
      if (tap.position < 0 || tap.position >= in[d]) tap.weight = 0;
      sum += tap.weight;
    }
    for (Tap& tap : list) tap.weight /= sum;
    return list;
  };
  fill(call, [&](const Index& index) -> Real {
    std::vector<std::vector<Tap>> all;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const Real x = coordinate(d, index[d]);
      if (rule == "tf_crop_and_resize" && (x < 0 || x > static_cast<Real>(in[d] - 1))) {
        return with.real("extrapolation");
      }
      all.push_back(taps(d, x));
    }
    Ints counts;
    for (const auto& list : all) counts.push_back(std::ssize(list));
    Real sum = 0;
    each_index(*Shape::make(counts), [&](const Index& choice) {
      Real weight = 1;
      Index from;
      for (std::size_t d = 0; d < choice.size(); ++d) {
        const Tap& tap = all[d][static_cast<std::size_t>(choice[d])];
        weight *= tap.weight;
        from.push_back(std::clamp<std::int64_t>(tap.position, 0, in[d] - 1));
      }
      sum += weight * at(call.in(0), from);
    });
    return sum;
  });
  return true;
}

}  // namespace

bool evaluate_windows(NaiveCall& call) {
  return conv(call) || conv_transpose(call) || pool(call) || lrn(call) || resize(call);
}

}  // namespace tessera::test

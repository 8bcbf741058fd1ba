// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/rules/window.h"

#include <cassert>

#include "tessera/graph/data.h"
#include "tessera/ops/rules/rules.h"

namespace tessera::ops::rules {
namespace {

using graph::rules::Window;

Window window_of(const graph::Call& call, std::vector<std::int64_t> kernel) {
  Result<Window> window = graph::rules::read_window(call, std::move(kernel));
  assert(window);
  return *std::move(window);
}

/// x[n, c, ..], w[o, c, ..], bias[o] -> [n, o, ..]. With groups, channels and outputs are
/// group·(their number in a group) + member.
struct Channels {
  DimAccess x;        ///< of the input
  DimAccess out;      ///< of the output
  DimAccess members;  ///< within a group: inputs
};

Channels add_channels(Nest& nest, std::int64_t groups, std::int64_t inputs, std::int64_t outputs) {
  Channels channels;
  DimAccess group_in;
  DimAccess group_out;
  if (groups > 1) {
    const int group = nest.pass(groups, "g");
    group_in = at(group, inputs);
    group_out = at(group, outputs);
  }
  channels.out = groups > 1 && outputs == 1 ? group_out : group_out + at(nest.pass(outputs, "o"));
  channels.members = at(nest.reduce(inputs, Reduction::kSum, "c"));
  channels.x = group_in + channels.members;
  return channels;
}

void conv(Nest& nest) {
  const Shape& weights = nest.in(1);
  const Window window = window_of(nest.call(), graph::rules::spatial_extents(weights));
  const std::int64_t groups = nest.call().integer("groups");
  const int n = nest.pass(nest.in(0)[0], "n");
  const Channels channels = add_channels(nest, groups, weights[1], weights[0] / groups);
  std::vector<DimAccess> x = {at(n), channels.x};
  std::vector<DimAccess> w = {channels.out, channels.members};
  std::vector<DimAccess> out = {at(n), channels.out};
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    const int y = nest.pass(nest.out()[d + 2]);
    const int k = nest.reduce(window.kernel[d], Reduction::kSum);
    x.push_back(at(y, window.strides[d]) + at(k, window.dilations[d]) + -window.before[d]);
    w.push_back(at(k));
    out.push_back(at(y));
  }
  nest.input(0, std::move(x));
  nest.input(1, std::move(w));
  if (nest.call().has(2)) {
    nest.input(2, {channels.out});
    nest.added_once(2);
  }
  nest.output(0, std::move(out));
  nest.accumulator(nest.passing());
}

/// Every output position may get contributions from several input positions, and which depends on
/// remainders of the stride, so spatial dims are not divided; but where kernels lie side by side
/// (stride 2, kernel 2, nothing cut off), a position is stride·input + kernel, one product each.
void conv_transpose(Nest& nest) {
  const Shape& weights = nest.in(1);
  const std::int64_t groups = nest.call().integer("groups");
  const int n = nest.pass(nest.in(0)[0], "n");
  const Channels channels = add_channels(nest, groups, weights[0] / groups, weights[1]);
  DimAccess within = channels.out;  // the output channel inside its group
  if (groups > 1) within.terms.erase(within.terms.begin());
  std::vector<DimAccess> x = {at(n), channels.x};
  std::vector<DimAccess> w = {channels.x, within};
  std::vector<DimAccess> out = {at(n), channels.out};
  const Window window = window_of(nest.call(), graph::rules::spatial_extents(weights));
  for (std::size_t d = 2; d < weights.rank(); ++d) {
    const std::int64_t stride = window.strides[d - 2];
    const std::int64_t dense = weights[d] > 1 ? window.dilations[d - 2] : 1;
    const bool apart = dense == 1 && weights[d] == stride && window.before[d - 2] == 0 &&
                       nest.out()[d] == stride * nest.in(0)[d];
    x.push_back(at(apart ? nest.pass(nest.in(0)[d]) : nest.whole(nest.in(0)[d])));
    w.push_back(at(apart ? nest.pass(weights[d]) : nest.whole(weights[d])));
    if (apart) {
      out.push_back(at(x.back().terms[0].dim, stride) + at(w.back().terms[0].dim));
    } else {
      out.push_back(at(nest.whole(nest.out()[d])));
    }
  }
  std::vector<int> made;  // the factors of the output
  for (const DimAccess& dim : out) {
    for (const Term& term : dim.terms) made.push_back(term.dim);
  }
  nest.input(0, std::move(x));
  nest.input(1, std::move(w));
  if (nest.call().has(2)) {
    nest.input(2, {channels.out});
    nest.added_once(2);
  }
  nest.output(0, std::move(out));
  nest.accumulator(made);
}

/// Nobody divides the kernel of a pool, which has no weights to tell shares of it apart.
void pool(Nest& nest) {
  const Window window = window_of(nest.call(), nest.call().integers("kernel"));
  std::vector<DimAccess> out =
      dims_at({nest.pass(nest.in(0)[0], "n"), nest.pass(nest.in(0)[1], "c")});
  std::vector<DimAccess> x = out;
  for (std::size_t d = 0; d < window.kernel.size(); ++d) {
    const int y = nest.pass(nest.out()[d + 2]);
    const int k = nest.whole(window.kernel[d]);
    x.push_back(at(y, window.strides[d]) + at(k, window.dilations[d]) + -window.before[d]);
    out.push_back(at(y));
  }
  nest.input(0, std::move(x));
  for (std::size_t o = 0; o < nest.call().outputs(); ++o) nest.output(o, out);
}

void global_pool(Nest& nest) {
  const bool mean = nest.call().op().is("global_average_pool");
  const bool combines = !mean || graph::is_float(nest.call().dtype(0));
  const Reduction how = mean ? Reduction::kSum : Reduction::kMax;
  const Shape& shape = nest.in(0);
  std::vector<DimAccess> x = dims_at({nest.pass(shape[0], "n"), nest.pass(shape[1], "c")});
  std::vector<DimAccess> out = x;
  for (std::size_t d = 2; d < shape.rank(); ++d) {
    x.push_back(at(combines ? nest.reduce(shape[d], how) : nest.whole(shape[d])));
    out.emplace_back();
  }
  nest.input(0, std::move(x));
  nest.output(0, std::move(out));
  if (mean) nest.accumulator(nest.passing());
}

/// Whether output position y of the dims that change takes input position y div ratio, for whole
/// ratios: the nearest one, counted from the middles of elements or rounded down.
bool repeats_elements(const graph::Call& call) {
  const std::string_view coordinates = call.text("coordinates");
  const std::string_view nearest = call.text("nearest_mode");
  const bool middles = coordinates == "half_pixel" && nearest.starts_with("round_prefer");
  const bool down = coordinates == "asymmetric" && nearest == "floor";
  return call.text("mode") == "nearest" && !call.given("scales") && (middles || down);
}

/// Dims that keep their extent pass unless they are cropped. Where elements are repeated, an output
/// position is ratio·input + copy; else every one may need any input position.
void resize(Nest& nest) {
  const bool crops = nest.call().text("coordinates") == "tf_crop_and_resize";
  const Shape& shape = nest.in(0);
  std::vector<DimAccess> x;
  std::vector<DimAccess> out;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const bool scaled = nest.call().given("scales") && nest.call().reals("scales")[d] != 1.0;
    if (shape[d] == nest.out()[d] && !crops && !scaled) {
      x.push_back(at(nest.pass(shape[d])));
      out.push_back(x.back());
    } else if (shape[d] > 0 && nest.out()[d] % shape[d] == 0 && repeats_elements(nest.call())) {
      const std::int64_t ratio = nest.out()[d] / shape[d];
      x.push_back(at(nest.pass(shape[d])));
      out.push_back(at(x.back().terms[0].dim, ratio) + at(nest.pass(ratio)));
    } else {
      x.push_back(at(nest.whole(shape[d])));
      out.push_back(at(nest.whole(nest.out()[d])));
    }
  }
  nest.input(0, std::move(x));
  nest.output(0, std::move(out));
}

}  // namespace

std::vector<Entry> window_rules() {
  return {{"conv", conv},
          {"conv_transpose", conv_transpose},
          {"max_pool", pool},
          {"average_pool", pool},
          {"global_max_pool", global_pool},
          {"global_average_pool", global_pool},
          {"resize", resize}};
}

}  // namespace tessera::ops::rules

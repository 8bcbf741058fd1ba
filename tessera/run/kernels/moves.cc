// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {
namespace {

using ops::FactorKind;
using ops::Range;

/// Copies the elements that iterations read of input i to where they make output o.
template <typename W>
void copy(const Task& task, std::size_t i, std::size_t o) {
  const Elements<const W> from = input_of<W>(task, i);
  const Elements<W> to = output_of<W>(task, o);
  if (from.data == nullptr || to.data == nullptr) return;
  const Factors passes = factors_of(*task.loops, FactorKind::kPass);
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    if (passes.empty()) {
      if (from.at.inside(f) && to.at.inside(f)) to(f) = from(f);
      continue;
    }
    const std::size_t inner = fastest(passes, to.at, block);
    const Range all{block.from[inner], block.to[inner]};
    each_setting(block, without(passes, inner), f, [&] {
      const Range range = from.at.inside(f, inner, to.at.inside(f, inner, all));
      if (range.empty()) return;
      f[inner] = range.from;
      const W* const x = &from(f);
      W* const y = &to(f);
      const std::int64_t step = from.at.slope(inner);
      const std::int64_t out_step = to.at.slope(inner);
      const std::int64_t count = range.to - range.from;
      for (std::int64_t n = 0; n < count; ++n) y[n * out_step] = x[n * step];
      f[inner] = all.from;
    });
  }
}

/// Ops in which an iteration copies an element: from the input where its index is inside, to the
/// output where its index is inside.
Status move(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    for (std::size_t i = 0; i < task.inputs.size(); ++i) {
      for (std::size_t o = 0; o < task.results.size(); ++o) copy<decltype(zero)>(task, i, o);
    }
    return ok_status();
  });
}

/// Calls visit(y, to) for every element of output 0 that the blocks make: its index, and where it
/// is.
template <typename W, typename Visit>
void each_made(const Task& task, const Visit& visit) {
  const ops::Access& access = task.loops->outputs[0];
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr) return;
  Factors factors;
  for (std::size_t k = 0; k < task.loops->factors.size(); ++k) {
    if (access.has(static_cast<int>(k))) factors.push_back(k);
  }
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, factors, f, [&] { visit(access.index(f), to(f)); });
  }
}

/// The element of a tile at an index of the whole operand, which the tile has.
template <typename W>
const W& element_at(const Tile& tile, const Index& x) {
  std::int64_t at = 0;
  for (std::size_t d = 0; d < x.size(); ++d) at += (x[d] - tile.box.from[d]) * tile.strides[d];
  return reinterpret_cast<const W*>(tile.data)[at];
}

/// Reshapes that cut elements differently on both sides: by the row-major position.
Status reshape(const Task& task) {
  if (factors_of(*task.loops, FactorKind::kWhole).empty()) return move(task);
  const Tile& from = task.inputs[0];
  if (from.data == nullptr) return ok_status();
  const Shape& in = task.call->shape(0);
  const Shape& out = (*task.outputs)[0].shape;
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    each_made<W>(
        task, [&](const Index& y, W& to) { to = element_at<W>(from, in.delinear(out.linear(y))); });
    return ok_status();
  });
}

/// The upper or lower triangle of matrices.
Status trilu(const Task& task) {
  const Tile& from = task.inputs[0];
  if (from.data == nullptr) return ok_status();
  const std::int64_t k = task.call->integer("k");
  const bool upper = task.call->integer("upper") != 0;
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    each_made<W>(task, [&](const Index& y, W& to) {
      const std::int64_t diagonal = y[y.size() - 1] - y[y.size() - 2];
      to = (upper ? diagonal >= k : diagonal <= k) ? element_at<W>(from, y) : W{};
    });
    return ok_status();
  });
}

/// With a constant, an iteration reads nothing in the padding; the other modes read the edge or a
/// reflection.
Status pad(const Task& task) {
  const std::string_view mode = task.call->text("mode");
  const Tile& from = task.inputs[0];
  const auto& pads = task.call->integers("pads");
  const Shape& shape = task.call->shape(0);
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    if (mode == "constant") {
      const Elements<const W> constant = input_of<W>(task, 1);
      set_all<W>(task, 0, constant.data != nullptr ? *constant.data : W{});
      copy<W>(task, 0, 0);
      return ok_status();
    }
    if (from.data == nullptr) return ok_status();
    each_made<W>(task, [&](Index x, W& to) {
      for (std::size_t d = 0; d < x.size(); ++d) {
        x[d] -= pads[d];
        if (mode == "edge") {
          x[d] = std::clamp<std::int64_t>(x[d], 0, shape[d] - 1);
        } else if (x[d] < 0 || x[d] >= shape[d]) {
          x[d] = x[d] < 0 ? -x[d] : 2 * (shape[d] - 1) - x[d];
        }
      }
      to = element_at<W>(from, x);
    });
    return ok_status();
  });
}

}  // namespace

std::vector<Entry> move_kernels() {
  std::vector<Entry> list = {{"pad", pad}, {"trilu", trilu}};
  for (const std::string_view op : {"reshape", "flatten", "squeeze", "unsqueeze"}) {
    list.push_back({op, reshape});
  }
  for (const std::string_view op :
       {"identity", "dropout", "layout_transform", "transpose", "slice", "split", "concat",
        "expand", "tile", "depth_to_space", "space_to_depth"}) {
    list.push_back({op, move});
  }
  return list;
}

}  // namespace tessera::run::kernels

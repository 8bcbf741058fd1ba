// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/graph/data.h"
#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {
namespace {

/// Fills output 0: value(y) is the element at index y.
template <typename W, typename Value>
void make_elements(const Task& task, Value value) {
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr) return;
  const Factors passes = factors_of(*task.loops, ops::FactorKind::kPass);
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, passes, f, [&] { to(f) = value(task.loops->outputs[0].index(f)); });
  }
}

Status create(const Task& task) {
  const graph::Call& call = *task.call;
  const graph::Op op = call.op();
  const graph::TensorType& type = (*task.outputs)[0];
  return with_type(type.dtype, [&](auto zero) {
    using W = decltype(zero);
    if (op.is("constant")) {
      const bool is_real = graph::is_float(type.dtype);
      make_elements<W>(task, [&](const Index& y) {
        const auto n = static_cast<std::size_t>(type.shape.linear(y));
        return is_real ? static_cast<W>(call.reals("reals")[n])
                       : static_cast<W>(call.integers("integers")[n]);
      });
    } else if (op.is("constant_of_shape")) {
      make_elements<W>(task, [&](const Index&) { return static_cast<W>(call.real("value")); });
    } else if (op.is("range")) {
      make_elements<W>(task, [&](const Index& y) {
        return static_cast<W>(call.real("start") + static_cast<double>(y[0]) * call.real("delta"));
      });
    } else if (op.is("size")) {
      make_elements<W>(task,
                       [&](const Index&) { return static_cast<W>(call.shape(0).elements()); });
    } else if (op.is("eye_like")) {
      make_elements<W>(task, [&](const Index& y) {
        return static_cast<W>(y[1] - y[0] == call.integer("k") ? 1 : 0);
      });
    } else {  // shape
      const auto rank = static_cast<std::int64_t>(call.shape(0).rank());
      const std::int64_t start = call.integer("start");
      const std::int64_t first =
          std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
      make_elements<W>(task, [&](const Index& y) {
        return static_cast<W>(call.shape(0)[static_cast<std::size_t>(first + y[0])]);
      });
    }
    return ok_status();
  });
}

}  // namespace

std::vector<Entry> creation_kernels() {
  std::vector<Entry> list;
  for (const std::string_view op :
       {"constant", "constant_of_shape", "range", "size", "eye_like", "shape"}) {
    list.push_back({op, create});
  }
  return list;
}

}  // namespace tessera::run::kernels

// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/graph/data.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/machines/kernels_of.h"
#include "tessera/ops/machines/ttnn_kinds.h"

/// TTNN's kernels read pages of interleaved tensors from any core, and those of most ops shards of
/// other cores as well. The rest work on the shards of their own core:
///
///     elementwise, softmax, concat    shards
///     layer and RMS norm              shards; cores exchange statistics of their parts of a row
///     matmul height                   shards of A
///     matmul block                    shards of A, which are multicast along the rows of the grid
namespace tessera::ops::machines {
namespace {

bool works_on_shards(const Asked& asked) {
  const bool height_matmul =
      asked.is_any({"matmul", "gemm"}) && asked.out() != nullptr &&
      (kind_of(*asked.out()) == Kind::kHeight || kind_of(*asked.out()) == Kind::kBlock);
  return height_matmul || asked.call.op().rule().family == graph::Family::kElementwise ||
         asked.is_any({"softmax", "log_softmax", "layer_norm", "rms_norm", "concat"});
}

Kernels ttnn_kernels(const Asked& asked) {
  Kernels made;
  const bool by_shards = works_on_shards(asked);
  for (std::size_t i = 0; i < asked.operands.inputs.size(); ++i) {
    made.inputs.emplace_back();
    const Layout* x = asked.in(i);
    made.inputs[i].everywhere = is_interleaved(x) || !by_shards;
    const bool multicast = !made.inputs[i].everywhere && asked.is_any({"matmul", "gemm"}) &&
                           kind_of(*x) == Kind::kBlock;
    if (multicast) made.inputs[i].axes = {1};
  }
  for (std::size_t o = 0; o < asked.operands.outputs.size(); ++o) {
    made.outputs_anywhere.push_back(is_interleaved(asked.out(o)));
  }
  const Layout* x = asked.in(0);
  if (asked.is_any({"layer_norm", "rms_norm"}) && x != nullptr && !is_interleaved(x)) {
    const Result<Loops> loops = loops_of(asked.call, asked.types);
    for (std::size_t f = 0; loops && f < loops->factors.size(); ++f) {
      if (loops->factors[f].kind == FactorKind::kWhole) {
        made.exchanged.push_back(static_cast<int>(f));
      }
    }
  }
  return made;
}

void add_if_made(std::vector<Layout>& list, Result<Layout> layout) {
  if (layout) list.push_back(*std::move(layout));
}

/// The kinds on the cores of an operand, those that leave no core without a tile.
void add_sharded(std::vector<Layout>& list, const graph::TensorType& type, const Layout& like) {
  const Cores cores{like.mesh(), like.spec().device_map};
  for (const Kind kind : {Kind::kHeight, Kind::kWidth, Kind::kBlock}) {
    const bool is_one = kind == Kind::kBlock &&
                        (cores.grid.rank() != 2 || cores.grid[0] <= 1 || cores.grid[1] <= 1);
    if (is_one || !fills_cores(type.shape, kind, cores.grid)) continue;
    add_if_made(list, ttnn_layout(type, kind, cores, "l1"));
  }
}

std::vector<Layout> ttnn_inputs(const Asked& asked, std::size_t i) {
  const graph::TensorType& type = asked.call.type(i);
  std::vector<Layout> list;
  // Tables and indices are rows of elements.
  const bool in_rows = asked.is("embedding") || !graph::is_float(type.dtype);
  if (!asked.is("embedding")) add_if_made(list, ttnn_layout(type, Kind::kInterleaved, {}, "dram"));
  if (in_rows) add_if_made(list, ttnn_layout(type, Kind::kInterleaved, {}, "dram", false));
  if (const Layout* like = first_divided(asked)) {
    add_sharded(list, type, *like);
    const Cores cores{like->mesh(), like->spec().device_map};
    const bool decodes = asked.is("matmul") && i == 1;
    if (decodes) add_if_made(list, ttnn_layout(type, Kind::kWidth, cores, "dram"));
  }
  return list;
}

/// The shape and cores of the first sharded input, if the output has its shape; its kind on its
/// cores; interleaved.
std::vector<Layout> ttnn_outputs(const Asked& asked, std::size_t o) {
  const graph::TensorType& type = asked.types[o];
  std::vector<Layout> list;
  for (std::size_t i = 0; i < asked.operands.inputs.size(); ++i) {
    const Layout* x = asked.in(i);
    if (is_interleaved(x)) continue;
    if (x->shape() == type.shape) {
      LayoutSpec spec = x->spec();
      spec.padding = PaddingValue::undef();
      if (spec.dtype != type.dtype) spec.atom.storage = type.dtype;
      spec.dtype = type.dtype;
      add_if_made(list, Layout::make(std::move(spec)));
    }
    const Kind kind = kind_of(*x);
    const Cores cores{x->mesh(), x->spec().device_map};
    if (fills_cores(type.shape, kind, cores.grid)) {
      add_if_made(list, ttnn_layout(type, kind, cores, "l1"));
    }
    break;
  }
  const Layout* first = asked.in(0);
  const bool in_rows = asked.is("embedding") || (first != nullptr && !is_tiled(*first));
  add_if_made(list, ttnn_layout(type, Kind::kInterleaved, {}, "dram", !in_rows));
  return list;
}

}  // namespace

Ways ttnn_ways() { return {ttnn_kernels, ttnn_inputs, ttnn_outputs}; }

}  // namespace tessera::ops::machines

// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/ops/machines/kernels_of.h"
#include "tessera/ops/machines/spyre_sticks.h"
#include "tessera/ops/memory_order.h"

/// A Spyre tensor that is not divided over cores is in the memory of the device, where every core
/// reads and writes its part. Outputs are in sticks: those of the input of the largest rank, or the
/// default ones.
namespace tessera::ops::machines {
namespace {

bool is_on_device(const Layout* layout) { return layout == nullptr || layout->places() == 1; }

/// The order of memory of an output.
std::optional<Layout> stick_order(const Loops& loops, bool by_default, std::size_t o,
                                  const Layout& made,
                                  const std::vector<std::optional<Layout>>& inputs) {
  std::optional<Layout> usual = in_sticks(made);
  if (by_default || !usual) return usual;
  std::vector<std::size_t> by_rank;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] && loops.inputs[i]) by_rank.push_back(i);
  }
  sort_stably(by_rank, [&](std::size_t a, std::size_t b) {
    return inputs[a]->shape().rank() > inputs[b]->shape().rank();
  });
  for (const std::size_t i : by_rank) {
    // Another number of elements per stick cannot keep the sticks.
    if (per_stick(*inputs[i]) != per_stick(*usual)) continue;
    std::optional<Layout> kept =
        in_order_of(*inputs[i], *loops.inputs[i], loops.outputs[o], made, per_stick(*usual));
    if (!kept) continue;
    LayoutSpec spec = kept->spec();
    spec.atom = usual->atom();
    Result<Layout> stored = Layout::make(std::move(spec));
    if (stored) return *std::move(stored);
  }
  return usual;
}

Kernels spyre_kernels(const Asked& asked) {
  Kernels made;
  for (std::size_t i = 0; i < asked.operands.inputs.size(); ++i) {
    made.inputs.emplace_back();
    made.inputs[i].everywhere = is_on_device(asked.in(i));
  }
  for (std::size_t o = 0; o < asked.operands.outputs.size(); ++o) {
    made.outputs_anywhere.push_back(is_on_device(asked.out(o)));
  }
  const Result<Loops> loops = loops_of(asked.call, asked.types);
  const bool by_default = asked.is_any({"matmul", "gemm"});
  if (loops) {
    made.order = [loops = *loops, by_default](std::size_t o, const Layout& layout,
                                              const std::vector<std::optional<Layout>>& inputs) {
      return stick_order(loops, by_default, o, layout, inputs);
    };
  }
  return made;
}

std::vector<Layout> spyre_inputs(const Asked& asked, std::size_t i) {
  std::vector<Layout> list;
  const graph::TensorType& type = asked.call.type(i);
  Result<Layout> alone = Layout::row_major(type.shape, type.dtype);
  if (!alone) return list;
  std::vector<Layout> bases;
  if (asked.in(i) != nullptr) bases.push_back(*asked.in(i));
  bases.push_back(*std::move(alone));
  for (const Layout& base : bases) {
    for (std::size_t d = type.shape.rank(); d-- > 0;) {
      if (auto made = in_sticks(base, d)) list.push_back(*std::move(made));
    }
    if (type.shape.rank() == 0) {
      if (auto made = in_sticks(base)) list.push_back(*std::move(made));
    }
    if (auto made = in_sparse_sticks(base)) list.push_back(*std::move(made));
  }
  return list;
}

}  // namespace

Ways spyre_ways() { return {spyre_kernels, spyre_inputs, nullptr}; }

}  // namespace tessera::ops::machines

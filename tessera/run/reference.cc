// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "tessera/graph/data.h"
#include "tessera/ops/loops.h"
#include "tessera/run/elements.h"
#include "tessera/run/kernels/kernel.h"

namespace tessera::run {
namespace {

/// Numbers of the compute type.
Result<std::vector<std::byte>> numbers_of(const HostTensor& tensor) {
  const std::int64_t count = tensor.type.shape.elements();
  std::vector<std::byte> numbers(static_cast<std::size_t>(
      std::max<std::int64_t>(count, 1) * compute_bytes(compute_type(tensor.type.dtype))));
  TESSERA_CHECK_OK(
      to_compute(std::as_bytes(std::span(tensor.bytes)), tensor.type.dtype, numbers.data(), count));
  return numbers;
}

Tile whole(std::vector<std::byte>& numbers, const Shape& shape) {
  return {numbers.data(), Box::whole(shape), shape.row_major_strides()};
}

/// Relative to 1 + the number of b, or to 1 + the largest of all.
template <typename W>
double largest(const std::byte* a, const std::byte* b, std::int64_t count, bool of_largest) {
  double most = 0;
  double scale = 0;
  for (std::int64_t i = 0; of_largest && i < count; ++i) {
    const double y = std::fabs(static_cast<double>(reinterpret_cast<const W*>(b)[i]));
    if (std::isfinite(y)) scale = std::max(scale, y);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = static_cast<double>(reinterpret_cast<const W*>(a)[i]);
    const auto y = static_cast<double>(reinterpret_cast<const W*>(b)[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double apart = std::fabs(x - y) / (1 + std::max(scale, std::fabs(y)));
    most = std::isfinite(apart) ? std::max(most, apart) : std::numeric_limits<double>::infinity();
  }
  return most;
}

}  // namespace

Result<std::vector<HostTensor>> evaluate_node(const graph::Graph& graph, const graph::Node& node,
                                              const std::vector<const HostTensor*>& inputs) {
  std::vector<const graph::TensorType*> types;
  for (const graph::ValueId v : node.inputs) {
    types.push_back(v == graph::kAbsent ? nullptr : &graph.values[v].type);
  }
  graph::Types outputs;
  for (const graph::ValueId v : node.outputs) outputs.push_back(graph.values[v].type);
  const graph::Call call(node.op, types, node.attributes, outputs.size());
  TESSERA_TRY(const ops::Loops loops, ops::loops_of(call, outputs));
  TESSERA_TRY(const Shape iterations, loops.iterations());
  Task task{&call, &outputs, &loops, {}, {}, {}};
  if (!iterations.empty()) task.blocks.push_back(Box::whole(iterations));
  std::vector<std::vector<std::byte>> memory(inputs.size() + outputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    task.inputs.emplace_back();
    if (inputs[i] == nullptr || !loops.inputs[i] || types[i]->shape.empty()) continue;
    TESSERA_TRY(memory[i], numbers_of(*inputs[i]));
    task.inputs.back() = whole(memory[i], types[i]->shape);
  }
  Neutral empty = Neutral::kZero;
  for (const ops::Factor& factor : loops.factors) {
    if (factor.kind != ops::FactorKind::kReduce) continue;
    if (factor.reduction == Reduction::kProduct) empty = Neutral::kOne;
    if (factor.reduction == Reduction::kMax) empty = Neutral::kLeast;
    if (factor.reduction == Reduction::kMin) empty = Neutral::kLargest;
  }
  std::vector<HostTensor> results;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    std::vector<std::byte>& numbers = memory[inputs.size() + o];
    const std::int64_t count = outputs[o].shape.elements();
    numbers.resize(static_cast<std::size_t>(std::max<std::int64_t>(count, 1) *
                                            compute_bytes(compute_type(outputs[o].dtype))));
    fill_compute(numbers.data(), outputs[o].dtype, count, empty);
    task.results.push_back(outputs[o].shape.empty() ? Tile{} : whole(numbers, outputs[o].shape));
  }
  if (!task.blocks.empty()) TESSERA_CHECK_OK(perform_plainly(task));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    HostTensor made{outputs[o], {}};
    made.bytes.resize(static_cast<std::size_t>(outputs[o].bytes()));
    TESSERA_CHECK_OK(from_compute(memory[inputs.size() + o].data(), outputs[o].dtype,
                                  std::as_writable_bytes(std::span(made.bytes)),
                                  outputs[o].shape.elements()));
    results.push_back(std::move(made));
  }
  return results;
}

double tolerance_of(DType storage) {
  if (!graph::is_float(storage)) return 0;
  switch (storage) {
    case DType::kBfpBf8:
    case DType::kBfpF8:
      return 1.0 / 64;
    case DType::kBfpBf4:
    case DType::kBfpF4:
      return 1.0 / 4;
    case DType::kBfpBf2:
    case DType::kBfpF2:
      return 1;
    case DType::kF64:
      return 1e-9;
    case DType::kF32:
      return 1e-3;
    case DType::kF16:
      return 1e-2;
    default:
      return 1.0 / 16;
  }
}

Result<double> largest_difference(const HostTensor& a, const HostTensor& b, DType storage) {
  const bool of_largest = is_block_float(storage);
  const std::int64_t count = a.type.shape.elements();
  TESSERA_TRY(const std::vector<std::byte> x, numbers_of(a));
  TESSERA_TRY(const std::vector<std::byte> y, numbers_of(b));
  switch (compute_type(a.type.dtype)) {
    case DType::kF64:
      return largest<double>(x.data(), y.data(), count, of_largest);
    case DType::kI64:
      return largest<std::int64_t>(x.data(), y.data(), count, of_largest);
    case DType::kU64:
      return largest<std::uint64_t>(x.data(), y.data(), count, of_largest);
    default:
      return largest<float>(x.data(), y.data(), count, of_largest);
  }
}

}  // namespace tessera::run

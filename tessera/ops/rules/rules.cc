// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/rules/rules.h"

#include <utility>

#include "tessera/base/text.h"

namespace tessera::ops::rules {

Nest::Nest(const graph::Call& call, const graph::Types& outputs)
    : call_(&call), outputs_(&outputs) {
  loops_.inputs.resize(call.inputs());
  loops_.outputs.resize(outputs.size());
}

int Nest::add(Factor factor) {
  const std::size_t number = loops_.factors.size();
  if (factor.name.empty()) {  // a, b, .. z, a1, b1, ..
    factor.name = std::string(1, static_cast<char>('a' + number % 26));
    if (number >= 26) factor.name += std::to_string(number / 26);
  }
  loops_.factors.push_back(std::move(factor));
  return static_cast<int>(number);
}

int Nest::pass(std::int64_t extent, std::string_view name) {
  return add({std::string(name), extent, FactorKind::kPass});
}

int Nest::reduce(std::int64_t extent, Reduction reduction, std::string_view name) {
  return add({std::string(name), extent, FactorKind::kReduce, reduction});
}

int Nest::whole(std::int64_t extent, std::string_view name) {
  return add({std::string(name), extent, FactorKind::kWhole});
}

void Nest::added_once(std::size_t i) {
  if (call_->has(i)) loops_.inputs[i]->once = true;
}

std::vector<int> Nest::pass_dims(const Shape& shape) {
  std::vector<int> factors;
  for (const std::int64_t extent : shape.extents()) factors.push_back(pass(extent));
  return factors;
}

void Nest::broadcast_input(std::size_t i, const std::vector<int>& factors) {
  if (!call_->has(i)) return;
  const Shape& shape = in(i);
  std::vector<DimAccess> dims(shape.rank());
  const std::size_t leading = factors.size() - shape.rank();
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    const int factor = factors[leading + d];
    const bool alike = shape[d] == loops_.factors[static_cast<std::size_t>(factor)].extent;
    if (alike) dims[d] = at(factor);
  }
  input(i, std::move(dims));
}

std::vector<DimAccess> dims_at(const std::vector<int>& factors) {
  std::vector<DimAccess> dims;
  dims.reserve(factors.size());
  for (const int factor : factors) dims.push_back(at(factor));
  return dims;
}

std::size_t axis_of(const graph::Call& call, std::size_t rank) {
  const std::int64_t axis = call.integer("axis");
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

void elementwise(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.out());
  for (std::size_t i = 0; i < nest.call().inputs(); ++i) nest.broadcast_input(i, factors);
  nest.output(0, dims_at(factors));
}

}  // namespace tessera::ops::rules

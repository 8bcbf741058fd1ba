// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/rules/rules.h"

#include <algorithm>
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
  const auto is_used = [&](const std::string& name) {
    return std::ranges::find(loops_.factors, name, &Factor::name) != loops_.factors.end();
  };
  if (factor.name.empty()) {  // a, b, .. z, a1, b1, .., from the position of the factor on
    std::string name;
    for (std::size_t n = number; name.empty() || is_used(name); ++n) {
      name = std::string(1, static_cast<char>('a' + n % 26));
      if (n >= 26) name += std::to_string(n / 26);
    }
    factor.name = std::move(name);
  } else if (is_used(factor.name)) {  // row, row1, ..
    int n = 1;
    while (is_used(cat(factor.name, n))) ++n;
    factor.name = cat(factor.name, n);
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

DType Nest::wide() const {
  const DType dtype = (*outputs_)[0].dtype;
  switch (dtype) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kBfpBf8:
    case DType::kBfpBf4:
    case DType::kBfpBf2:
    case DType::kBfpF8:
    case DType::kBfpF4:
    case DType::kBfpF2:
      return DType::kF32;
    case DType::kI16:
    case DType::kI8:
    case DType::kI4:
    case DType::kI2:
      return DType::kI32;
    case DType::kSI16:
    case DType::kSI8:
      return DType::kSI32;
    case DType::kU16:
    case DType::kU8:
      return DType::kU32;
    default:
      return dtype;
  }
}

void Nest::accumulator(std::vector<int> factors) {
  if (wide() != (*outputs_)[0].dtype) scratch("accumulator", std::move(factors), wide());
}

std::vector<int> Nest::passing() const {
  std::vector<int> factors;
  for (std::size_t f = 0; f < loops_.factors.size(); ++f) {
    if (loops_.factors[f].kind == FactorKind::kPass) factors.push_back(static_cast<int>(f));
  }
  return factors;
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

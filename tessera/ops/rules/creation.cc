// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/rules/rules.h"

namespace tessera::ops::rules {
namespace {

/// Every element of the output is made from its index alone; inputs give only their type.
void made(Nest& nest) { nest.output(0, dims_at(nest.pass_dims(nest.out()))); }

/// The new dim compares its own index with the element of the first input.
void one_hot(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.out());
  const std::size_t axis = axis_of(nest.call(), nest.out().rank());
  std::vector<int> indices = factors;
  indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(axis));
  nest.input(0, dims_at(indices));
  nest.input(1, {at(nest.whole(2, "value"))});
  nest.output(0, dims_at(factors));
}

void top_k(Nest& nest) {
  const Shape& shape = nest.in(0);
  const std::size_t axis = axis_of(nest.call(), shape.rank());
  std::vector<int> in;
  std::vector<int> out;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    in.push_back(d == axis ? nest.whole(shape[d]) : nest.pass(shape[d]));
    out.push_back(d == axis ? nest.whole(nest.out()[d], "top") : in.back());
  }
  nest.input(0, dims_at(in));
  nest.output(0, dims_at(out));
  nest.output(1, dims_at(out));
  // The line that is sorted, with the position of each element.
  nest.scratch("elements of a line", {in[axis]}, nest.in_dtype(0));
  nest.scratch("positions of a line", {in[axis]}, DType::kI32);
}

}  // namespace

std::vector<Entry> creation_rules() {
  return {{"constant", made}, {"constant_of_shape", made}, {"shape", made},      {"size", made},
          {"range", made},    {"eye_like", made},          {"one_hot", one_hot}, {"topk", top_k}};
}

}  // namespace tessera::ops::rules

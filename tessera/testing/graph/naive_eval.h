// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/graph/graph.h"

namespace tessera::test {

/// A tensor whose elements are numbers of one wide type: every integer of 64 bits and every float
/// of at most 64 bits is one of them.
struct NaiveTensor {
  graph::TensorType type;
  std::vector<long double> elements;  ///< in row-major order
};

/// The elements of data that are at hand.
std::optional<NaiveTensor> naive_tensor(const graph::TensorType& type, const graph::Data& data);
/// A number as an element of a type: rounded to nearest (ties to even), or wrapped.
long double as_element(long double number, DType dtype);

/// One node while it is evaluated.
struct NaiveCall {
  std::string_view op;
  std::vector<const NaiveTensor*> inputs;  ///< null where left out
  std::vector<NaiveTensor> outputs;        ///< with their types; elements are filled in
  graph::Call call;                        ///< for attributes and their defaults

  const NaiveTensor& in(std::size_t i) const { return *inputs[i]; }
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i] != nullptr; }
  NaiveTensor& out(std::size_t i = 0) { return outputs[i]; }
};

/// Every op one element at a time, by the text of the ONNX operator of its name. False for an op
/// that the file does not have.
bool evaluate_elementwise(NaiveCall& call);
bool evaluate_reductions(NaiveCall& call);  ///< norms too
bool evaluate_products(NaiveCall& call);    ///< matmul, gemm, einsum, attention
bool evaluate_moves(NaiveCall& call);       ///< movement and creation
bool evaluate_windows(NaiveCall& call);     ///< convolutions, pools, resize
/// Any of these.
bool evaluate_node(NaiveCall& call);

/// The outputs of a graph for these inputs; nullopt if an op or the elements of a value are
/// unknown.
std::optional<std::vector<NaiveTensor>> naive_evaluate(
    const graph::Graph& graph, const std::map<std::string, NaiveTensor>& inputs);

// Helpers of the files above.
std::int64_t row_major(const Shape& shape, const Index& index);
/// Calls visit for every index of the shape, in row-major order.
void each_index(const Shape& shape, const std::function<void(const Index&)>& visit);
/// The element of x that broadcasting puts at `index`.
long double broadcast_at(const NaiveTensor& x, const Index& index);
/// Fills output 0 with value(index).
void fill(NaiveCall& call, const std::function<long double(const Index&)>& value);
std::size_t dim_at(std::int64_t axis, std::size_t rank);

}  // namespace tessera::test

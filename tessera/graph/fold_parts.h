// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/graph/graph.h"

/// The parts of fold.h: arithmetic and moves of known elements.
namespace tessera::graph::folding {

/// Elements of a tensor: reals for float types, integers for the others.
struct Numbers {
  Shape shape;
  DType dtype = DType::kI64;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;

  bool real() const { return is_float(dtype); }
  std::size_t size() const { return real() ? reals.size() : integers.size(); }
};

/// Booleans, integers, f32 and f64.
bool is_known_type(DType dtype);
/// The elements of data that are at hand; nullopt for other types and for too many.
std::optional<Numbers> numbers_of(const Data& data, const TensorType& type);
/// The elements as bytes; nullopt for types that bytes_of does not write.
std::optional<Data> data_of(const Numbers& numbers);

// Arithmetic (fold_arithmetic.cc). `type` is that of the result.
/// Whether `binary`, or `unary` for reals or others, computes the op.
bool is_binary(std::string_view op);
bool is_unary(std::string_view op, bool real);
std::optional<Numbers> binary(const Call& call, const Numbers& x, const Numbers& y,
                              const TensorType& type);
std::optional<Numbers> unary(const Call& call, Numbers x);
/// Conversions whose result C++ defines; a float beyond the integer's range is left alone.
std::optional<Numbers> cast(const Numbers& x, const TensorType& type);
std::optional<Numbers> where(const Numbers& c, const Numbers& x, const Numbers& y,
                             const TensorType& type);
std::optional<Numbers> reduced(const Call& call, const Numbers& x, const TensorType& type);

// Moves (fold_moves.cc).
std::optional<Numbers> expanded(const Numbers& from, const Shape& shape);
std::optional<Numbers> gather(const Call& call, const Numbers& x, const Numbers& indices,
                              const TensorType& type);
std::optional<Numbers> slice(const Call& call, const Numbers& x, const TensorType& type);
std::optional<Numbers> transposed(const Call& call, const Numbers& x, const TensorType& type);
std::optional<Numbers> tiled(const Numbers& x, const TensorType& type);
std::optional<Numbers> concat(const Call& call, const std::vector<Numbers>& parts,
                              const TensorType& type);
std::optional<std::vector<Data>> split(const Call& call, const Numbers& x, const Types& outputs);

}  // namespace tessera::graph::folding

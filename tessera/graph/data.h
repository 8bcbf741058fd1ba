// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/shape.h"

namespace tessera::graph {

/// The elements of a parameter or constant, by reference: copies of a graph share them.
///
/// Elements are in row-major order and little-endian, as dtype_bytes packs them (two i4 to a byte,
/// the first in the low bits). A fill is one element that all the others equal, so a weight of
/// 10^9 zeros needs no memory. A file is not read by this room.
struct Data {
  enum class Form : std::uint8_t {
    kNone,   ///< the elements are not given, as for a model without its weights
    kBytes,  ///< all of them, in `bytes`
    kFill,   ///< one element, in `bytes`
    kFile,   ///< in a file, from `offset` on
  };
  Form form = Form::kNone;
  std::shared_ptr<const std::string> bytes = {};
  std::string file = {};
  std::int64_t offset = 0;

  static Data of_bytes(std::string bytes);
  static Data of_fill(std::string element);
  static Data of_file(std::string file, std::int64_t offset);

  /// Equal forms and bytes. A fill differs from the same elements written out.
  friend bool operator==(const Data& a, const Data& b);
};

/// Bytes of one element of a type that has whole bytes per element; nullopt for the others.
std::optional<std::int64_t> element_bytes(DType dtype);

/// The type's class. Signless integers (i32) are signed, as ONNX's int32 is. Booleans are neither.
bool is_float(DType dtype);
bool is_integer(DType dtype);
bool is_signed(DType dtype);

/// The elements as numbers, for types of at most 64 bits with whole bytes per element; nullopt for
/// other types, for elements that are not at hand (kNone, kFile), for bytes that do not match the
/// shape, and for more than `most` elements. Floats have no integers, integers do have doubles.
/// u64 beyond int64 has no integers.
std::optional<std::vector<std::int64_t>> integers_of(const Data& data, const Shape& shape,
                                                     DType dtype, std::int64_t most);
std::optional<std::vector<double>> reals_of(const Data& data, const Shape& shape, DType dtype,
                                            std::int64_t most);

/// The bytes of such elements. Numbers outside the type's range wrap (integers) or round to nearest
/// (f32). nullopt for types other than booleans, integers of whole bytes, f32 and f64.
std::optional<std::string> bytes_of(const std::vector<std::int64_t>& numbers, DType dtype);
std::optional<std::string> bytes_of(const std::vector<double>& numbers, DType dtype);

}  // namespace tessera::graph

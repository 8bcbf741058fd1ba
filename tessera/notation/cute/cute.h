// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

namespace tessera::notation {

/// A number, or a tuple of numbers and tuples: (4, (2, 8)).
struct IntTuple {
  bool is_tuple = false;
  std::int64_t number = 0;
  std::vector<IntTuple> items;
  friend bool operator==(const IntTuple&, const IntTuple&) = default;
};

/// A CuTe layout: shape:stride, two tuples of the same structure. Text comes in; a placement on a
/// single place goes out.
///
///     cute<(4,8):(8,1)>      cute<((2,4),8):((1,16),2)>      cute<((3,3)):((1,5))>      cute<8:1>
///
/// The rule. Each top-level mode is a dim of the tensor, its extent the product of the mode's
/// numbers. Inside a nested mode, the first number is the fastest. The slot is the sum of each
/// number's coordinate times its stride, on a single place. A stride of 0 repeats; if elements
/// share a slot in this way, the tensor is a View. A shape without strides, as in cute<(4,8)>, has
/// the compact strides from the left: (1,4).
/// https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/01_layout.md
struct CuteLayout {
  std::vector<IntTuple> shape;   ///< one top-level mode per dim
  std::vector<IntTuple> stride;  ///< has the structure of `shape`
  bool bare = false;             ///< written as one mode without parentheses: 8:1
  friend bool operator==(const CuteLayout&, const CuteLayout&) = default;
};

/// Example: ((3,3)):((1,5)) of 9 elements puts them in slots 0 1 2, 5 6 7, 10 11 12.
Result<Placement> lower(const CuteLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_cute(p), p.shape(), p.dtype()) is the same function as p with the same slots.
Result<CuteLayout> raise_cute(const Layout& layout);
Result<CuteLayout> raise_cute(const View& view);
/// "cute<(4,8):(8,1)>".
std::string write(const CuteLayout& words);

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"

namespace tessera::notation {

/// A number, or a tuple of such: (4, (2, 8)).
struct IntTuple {
  bool is_tuple = false;
  std::int64_t number = 0;
  std::vector<IntTuple> items;
  friend bool operator==(const IntTuple&, const IntTuple&) = default;
};

/// A CuTe layout: shape:stride, two tuples of one structure.
///
///     cute<(4,8):(8,1)>      cute<((2,4),8):((1,16),2)>      cute<((3,3)):((1,5))>      cute<8:1>
///
/// The rule. Each top-level mode is a dim of the tensor, its extent the product of the mode's
/// numbers. A coordinate of a nested mode counts its numbers from the left: the first is the
/// fastest. The slot is the sum of each number's coordinate times its stride, on a single place; a
/// stride of 0 repeats, and where elements share a slot so the tensor is a View.
/// A shape alone, as in cute<(4,8)>, has the compact strides from the left: (1,4).
/// https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/cute/01_layout.md
struct CuteLayout {
  std::vector<IntTuple> shape;   ///< one top-level mode a dim
  std::vector<IntTuple> stride;  ///< of the same structure
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

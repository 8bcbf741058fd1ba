// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// A number, or a tuple of such: (4, (2, 8)).
struct IntTuple {
  bool is_tuple = false;
  std::int64_t number = 0;
  std::vector<IntTuple> items;
  friend bool operator==(const IntTuple&, const IntTuple&) = default;
};

/// A CuTe layout: shape:stride, two tuples of one structure.
///
///     cute<(4,8):(8,1)>      cute<((2,4),8):((1,16),2)>      cute<((3,3)):((1,5))>
///
/// The rule. Each top-level mode is a dim of the tensor, its extent the product of the mode's
/// numbers. A coordinate of a nested mode counts its numbers from the left: the first is the
/// fastest. The slot is the sum of each number's coordinate times its stride.
struct CuteLayout {
  std::vector<IntTuple> shape;   ///< one top-level mode a dim
  std::vector<IntTuple> stride;  ///< of the same structure
  bool bare = false;             ///< written as one mode without parentheses: 8:1
  friend bool operator==(const CuteLayout&, const CuteLayout&) = default;
};

/// A stride of 0 makes elements share a slot: kNotInjective, which only a View may.
Result<Layout> lower(const CuteLayout& words, const Shape& shape, DType dtype);
/// Law: lower(*raise_cute(l), l.shape(), l.dtype()) is the same function as l with the same slots.
Result<CuteLayout> raise_cute(const Layout& layout);
/// "cute<(4,8):(8,1)>".
std::string write(const CuteLayout& words);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tools/files/npy.h"

namespace tessera::tools {

/// The memory of a placement as a NumPy array.
///
///   plain row-major     the tensor's own shape
///   plain column-major  the tensor's own shape, in Fortran order
///   on a mesh           mesh ++ [slots]: place after place
///   anything else       [slots]
///
/// Types that NumPy has no name for are raw unsigned integers of their size (bf16 is u2). Elements
/// without an address of their own (i4, i2, block floats) are raw bytes, so that the array is mesh
/// ++ [bytes per place], or [bytes] where places share a byte.
struct FileArray {
  enum class Order : std::uint8_t { kRowMajor, kColumnMajor, kMemory };
  Order order = Order::kMemory;
  NpyType type;
  bool is_raw_type = false;         ///< the array type does not determine the element type
  std::vector<std::int64_t> shape;  ///< what is written, and expected
  std::size_t fixed = 0;  ///< leading extents that a file must match; of the rest the product
};

FileArray file_array(const Placement& placement);

/// kBadDType unless the elements of a file are of the array's type, or raw bits of its size where
/// NumPy has no name for it.
Status check_array_type(const FileArray& array, DType storage, const NpyHeader& header,
                        const std::string& name);

/// The placement of the elements in a file with this header: `placement` itself, or, for a tensor
/// in plain order, the one with the file's order. `name` is used in messages. Errors: kBadDType and
/// kShapeMismatch with what was expected and what was found.
Result<Placement> placement_in_file(const Placement& placement, const NpyHeader& header,
                                    const std::string& name);

}  // namespace tessera::tools

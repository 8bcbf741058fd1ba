// SPDX-License-Identifier: Apache-2.0
#include "tools/files/array_layout.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// NumPy's type of an element, or raw unsigned integers.
struct ArrayType {
  NpyType type;
  bool is_raw = false;
};

ArrayType array_type(DType dtype) {
  const std::int64_t bytes = dtype_bits(dtype).value_or(8) / 8;
  switch (dtype) {
    case DType::kF64:
    case DType::kF32:
    case DType::kF16:
      return {{'f', bytes}, false};
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kSI64:
    case DType::kSI32:
    case DType::kSI16:
    case DType::kSI8:
      return {{'i', bytes}, false};
    case DType::kU64:
    case DType::kU32:
    case DType::kU16:
    case DType::kU8:
      return {{'u', bytes}, false};
    case DType::kBool:
      return {{'b', bytes}, false};
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return {{'u', bytes}, true};
    case DType::kI4:
    case DType::kI2:
    case DType::kBfpBf8:
    case DType::kBfpBf4:
    case DType::kBfpBf2:
    case DType::kBfpF8:
    case DType::kBfpF4:
    case DType::kBfpF2:
      break;
  }
  return {{'u', 1}, true};
}

bool has_addresses(DType dtype) { return dtype_bits(dtype).value_or(0) >= 8; }

std::vector<std::int64_t> column_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.rank(), 1);
  for (std::size_t d = 1; d < shape.rank(); ++d) strides[d] = strides[d - 1] * shape[d - 1];
  return strides;
}

/// The tensor's elements without gaps, in one of the two plain orders.
Result<Layout> plain_layout(const Placement& placement, FileArray::Order order) {
  const Shape& shape = placement.shape();
  const DType storage = placement.atom().storage;
  return order == FileArray::Order::kRowMajor
             ? Layout::row_major(shape, storage)
             : Layout::strided(shape, storage, column_major_strides(shape));
}

/// Whether the memory of `placement` is exactly the tensor in that order.
bool is_plain(const Placement& placement, FileArray::Order order) {
  if (placement.mesh().rank() != 0 || !has_addresses(placement.atom().storage)) return false;
  if (placement.slots() != placement.shape().elements()) return false;
  if (placement.shape().empty()) return order == FileArray::Order::kRowMajor;
  const Result<Layout> plain = plain_layout(placement, order);
  if (!plain) return false;
  const Result<Comparison> comparison = same_placement(placement, *plain);
  return comparison && comparison->equal;
}

std::int64_t elements_of(const FileArray& array) {
  Checked product(1);
  for (const std::int64_t extent : array.shape) product *= extent;
  return product.saturated();
}

/// A type of the required size whose bits are copied unchanged.
bool is_bits_of(const NpyType& found, const FileArray& array) {
  const bool is_bits = found.kind == 'V' || found.kind == 'u';
  return array.is_raw_type && is_bits && found.bytes == array.type.bytes && !found.swapped;
}

Error wrong_shape(const FileArray& array, const NpyHeader& header, const std::string& name) {
  const bool fortran = array.order == FileArray::Order::kColumnMajor;
  const std::int64_t elements = elements_of(array);
  const std::string shape = python_tuple(array.shape);
  const std::string help =
      header.elements == elements
          ? cat("save x.reshape(", shape, fortran ? ", order='F')" : ")",
                " if the elements are in that order")
          : cat("this layout has ", count_of(elements, "element"), ", the file ", header.elements);
  return Error{ErrorCode::kShapeMismatch,
               cat(quote(name), " holds an array of shape ", python_tuple(header.shape),
                   header.fortran_order ? " in Fortran order" : "", ", expected ", shape,
                   array.order == FileArray::Order::kMemory ? " in C order" : ""),
               std::nullopt, help};
}

}  // namespace

Status check_array_type(const FileArray& array, DType storage, const NpyHeader& header,
                        const std::string& name) {
  if (header.type == array.type || is_bits_of(header.type, array)) return ok_status();
  const std::string expected = array.type.text();
  Error error{ErrorCode::kBadDType,
              cat(quote(name), " holds '", header.type.text(), "', but elements of ",
                  dtype_name(storage), " are '", expected, "'"),
              std::nullopt,
              array.is_raw_type
                  ? cat("save the bits of the elements, as with x.view('", expected, "')")
                  : cat("save x.astype('", expected, "'), or give the tensor the file's type")};
  if (header.type.swapped) {
    error.message = cat(quote(name), " holds '", header.type.text(),
                        "', which has the byte order of other machines; expected '", expected, "'");
  }
  return error;
}

FileArray file_array(const Placement& placement) {
  FileArray array;
  const DType storage = placement.atom().storage;
  const ArrayType type = array_type(storage);
  array.type = type.type;
  array.is_raw_type = type.is_raw;
  for (const auto order : {FileArray::Order::kRowMajor, FileArray::Order::kColumnMajor}) {
    if (!is_plain(placement, order)) continue;
    array.order = order;
    array.shape = placement.shape().extents();
    array.fixed = array.shape.size();
    return array;
  }
  const bool whole_bytes = has_addresses(storage) || is_block_float(storage) ||
                           placement.slots() % (8 / *dtype_bits(storage)) == 0;
  if (!whole_bytes) {
    array.shape = {placement.allocated_bytes()};
    return array;
  }
  array.shape = placement.mesh().extents();
  array.fixed = array.shape.size();
  array.shape.push_back(has_addresses(storage) ? placement.slots() : placement.shard_bytes());
  return array;
}

Result<Placement> placement_in_file(const Placement& placement, const NpyHeader& header,
                                    const std::string& name) {
  const FileArray array = file_array(placement);
  TESSERA_CHECK_OK(check_array_type(array, placement.atom().storage, header, name));
  if (array.order != FileArray::Order::kMemory) {
    if (header.shape != array.shape) return wrong_shape(array, header, name);
    const bool own_order = header.fortran_order == (array.order == FileArray::Order::kColumnMajor);
    if (own_order || placement.shape().empty()) return placement;
    TESSERA_TRY(Layout other,
                plain_layout(placement, header.fortran_order ? FileArray::Order::kColumnMajor
                                                             : FileArray::Order::kRowMajor));
    return Placement(std::move(other));
  }
  // In one dim both orders are the same.
  const bool c_order = !header.fortran_order || header.shape.size() <= 1;
  const bool starts_right =
      header.shape.size() >= array.fixed &&
      std::equal(array.shape.begin(),
                 array.shape.begin() + static_cast<std::ptrdiff_t>(array.fixed),
                 header.shape.begin());
  if (!c_order || !starts_right || header.elements != elements_of(array)) {
    return wrong_shape(array, header, name);
  }
  return placement;
}

}  // namespace tessera::tools

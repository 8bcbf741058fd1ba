// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "native.h"
#include "tessera/base/dtype.h"

namespace tessera::python {

/// The memory behind a Python object, without a copy: of NumPy arrays, of anything else with the
/// buffer protocol (bytes, mmap, array.array), and of anything with DLPack that is in the memory of
/// the host (tensors of PyTorch, JAX, ..). Holds the object until it is destroyed, which needs the
/// interpreter's lock.
class Memory {
 public:
  /// TypeError for an object without memory; an error for memory that cannot be written, or that is
  /// on another device.
  static Memory of(py::handle object, bool writable);

  std::byte* data() const { return data_; }  ///< of the element with index 0 in every dim
  std::int64_t item_bytes() const { return item_bytes_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  const std::vector<std::int64_t>& strides() const { return strides_; }  ///< in bytes
  /// The element type, where it is one that layouts have.
  std::optional<DType> dtype() const { return dtype_; }
  const std::string& type_name() const { return type_name_; }

  std::int64_t elements() const;
  bool is_contiguous() const;  ///< row-major without gaps
  /// The bytes from the lowest to the highest that elements take. Law: contains `data()`, at
  /// `first()`.
  std::span<std::byte> bytes() const;
  std::int64_t first() const;  ///< where data() is in bytes()

 private:
  static std::optional<Memory> of_buffer(py::handle object, bool writable);
  static std::optional<Memory> of_dlpack(py::handle object);

  std::byte* data_ = nullptr;
  std::int64_t item_bytes_ = 1;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  std::optional<DType> dtype_;
  std::string type_name_;
  std::shared_ptr<void> held_;
};

/// The layout of an array as it is in memory, `strided<..>`; the first slot is the lowest address.
/// Errors: kBadDType for types that layouts do not have, or elements that are not whole items
/// apart.
Tensor strided_tensor(const Memory& memory);

}  // namespace tessera::python

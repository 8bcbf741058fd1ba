// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::python {
namespace {

/// The C structures of DLPack, https://dmlc.github.io/dlpack/latest/c_api.html.
struct DlDevice {
  std::int32_t type;
  std::int32_t id;
};
struct DlType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlTensor {
  void* data;
  DlDevice device;
  std::int32_t rank;
  DlType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null for row-major
  std::uint64_t byte_offset;
};
struct DlManaged {
  DlTensor tensor;
  void* context;
  void (*deleter)(DlManaged* self);
};
constexpr const char* kCapsule = "dltensor";
constexpr const char* kUsedCapsule = "used_dltensor";

std::optional<DType> integer_type(bool is_signed, std::int64_t bits) {
  constexpr std::array<DType, 4> kSigned = {DType::kI8, DType::kI16, DType::kI32, DType::kI64};
  constexpr std::array<DType, 4> kUnsigned = {DType::kU8, DType::kU16, DType::kU32, DType::kU64};
  for (std::size_t i = 0; i < 4; ++i) {
    if (bits == std::int64_t{8} << i) return is_signed ? kSigned[i] : kUnsigned[i];
  }
  return std::nullopt;
}

std::optional<DType> float_type(std::int64_t bits) {
  if (bits == 16) return DType::kF16;
  if (bits == 32) return DType::kF32;
  if (bits == 64) return DType::kF64;
  return std::nullopt;
}

/// The type of a format of the buffer protocol, "f" or "<f". Only of native order.
std::optional<DType> type_of_format(std::string_view format, std::int64_t item_bytes) {
  while (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<')) {
    format.remove_prefix(1);
  }
  if (format.size() != 1) return std::nullopt;
  const char code = format[0];
  if (code == '?') return DType::kBool;
  if (code == 'e' || code == 'f' || code == 'd') return float_type(item_bytes * 8);
  if (std::string_view("bhilqn").find(code) != std::string_view::npos) {
    return integer_type(true, item_bytes * 8);
  }
  if (std::string_view("BHILQN").find(code) != std::string_view::npos) {
    return integer_type(false, item_bytes * 8);
  }
  return std::nullopt;
}

std::optional<DType> type_of_dlpack(DlType type) {
  if (type.lanes != 1) return std::nullopt;
  switch (type.code) {
    case 0:
      return integer_type(true, type.bits);
    case 1:
      return integer_type(false, type.bits);
    case 2:
      return float_type(type.bits);
    case 4:
      return type.bits == 16 ? std::optional(DType::kBF16) : std::nullopt;
    case 6:
      return type.bits == 8 ? std::optional(DType::kBool) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::vector<std::int64_t> row_major(const std::vector<std::int64_t>& shape, std::int64_t bytes) {
  std::vector<std::int64_t> strides(shape.size());
  for (std::size_t dim = shape.size(); dim-- > 0; bytes *= shape[dim]) strides[dim] = bytes;
  return strides;
}

void release(Py_buffer* view) {
  PyBuffer_Release(view);
  delete view;
}

void release(DlManaged* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace

std::optional<Memory> Memory::of_buffer(py::handle object, bool writable) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) return std::nullopt;
  std::unique_ptr<Py_buffer> view = std::make_unique<Py_buffer>();
  const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), view.get(), flags) != 0) {
    if (writable) {
      PyErr_Clear();
      raise(ErrorCode::kNotSupported, "the memory of the destination cannot be written",
            "give an array that owns its memory, or make it writeable");
    }
    // Types without a format, such as those of ml_dtypes, may still have DLPack.
    if (!py::hasattr(object, "__dlpack__")) throw py::error_already_set();
    PyErr_Clear();
    return std::nullopt;
  }
  Memory memory;
  memory.held_ = std::shared_ptr<Py_buffer>(view.release(), [](Py_buffer* v) { release(v); });
  const Py_buffer& filled = *static_cast<const Py_buffer*>(memory.held_.get());
  memory.data_ = static_cast<std::byte*>(filled.buf);
  memory.item_bytes_ = filled.itemsize;
  if (filled.shape != nullptr) {
    memory.shape_.assign(filled.shape, filled.shape + filled.ndim);
  } else if (filled.ndim > 0) {  // a single element, of rank 0, has no extents
    memory.shape_ = {filled.itemsize > 0 ? filled.len / filled.itemsize : 0};
  }
  if (filled.strides != nullptr) {
    memory.strides_.assign(filled.strides, filled.strides + filled.ndim);
  } else {  // arrays of ctypes have none
    memory.strides_ = row_major(memory.shape_, filled.itemsize);
  }
  memory.type_name_ = filled.format != nullptr ? filled.format : "B";
  memory.dtype_ = type_of_format(memory.type_name_, filled.itemsize);
  return memory;
}

std::optional<Memory> Memory::of_dlpack(py::handle object) {
  if (!py::hasattr(object, "__dlpack__")) return std::nullopt;
  if (py::hasattr(object, "__dlpack_device__")) {
    const auto device = object.attr("__dlpack_device__")().cast<py::tuple>();
    const int type = py::int_(device[0]).cast<int>();
    if (type != 1 && type != 3) {  // the host, also pinned
      raise(ErrorCode::kNotSupported, cat("the data are on a device (DLPack type ", type, ")"),
            "move them to the memory of the host first");
    }
  }
  const py::object capsule = object.attr("__dlpack__")();
  auto* const managed = static_cast<DlManaged*>(PyCapsule_GetPointer(capsule.ptr(), kCapsule));
  if (managed == nullptr) throw py::error_already_set();
  // From here on the structure is ours, and the capsule must not free it.
  if (PyCapsule_SetName(capsule.ptr(), kUsedCapsule) != 0) throw py::error_already_set();
  Memory memory;
  memory.held_ = std::shared_ptr<DlManaged>(managed, [](DlManaged* m) { release(m); });
  const DlTensor& tensor = managed->tensor;
  if (tensor.dtype.bits % 8 != 0) {
    raise(ErrorCode::kBadDType, cat("DLPack elements of ", int{tensor.dtype.bits}, " bits"));
  }
  memory.item_bytes_ = std::int64_t{tensor.dtype.bits} / 8 * tensor.dtype.lanes;
  memory.data_ = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  memory.shape_.assign(tensor.shape, tensor.shape + tensor.rank);
  memory.strides_ = row_major(memory.shape_, memory.item_bytes_);
  for (std::size_t dim = 0; tensor.strides != nullptr && dim < memory.shape_.size(); ++dim) {
    memory.strides_[dim] = tensor.strides[dim] * memory.item_bytes_;
  }
  memory.dtype_ = type_of_dlpack(tensor.dtype);
  memory.type_name_ =
      cat("DLPack type ", int{tensor.dtype.code}, " of ", int{tensor.dtype.bits}, " bits");
  return memory;
}

Memory Memory::of(py::handle object, bool writable) {
  if (auto memory = of_buffer(object, writable)) return *std::move(memory);
  if (auto memory = of_dlpack(object)) return *std::move(memory);
  throw py::type_error(cat("an object with the buffer protocol or DLPack is needed, not ",
                           std::string(Py_TYPE(object.ptr())->tp_name),
                           ": numpy.asarray(..) makes one"));
}

std::int64_t Memory::elements() const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape_) elements *= extent;
  return elements;
}

bool Memory::is_contiguous() const {
  if (elements() == 0) return true;
  std::int64_t expected = item_bytes_;
  for (std::size_t dim = shape_.size(); dim-- > 0;) {
    if (shape_[dim] != 1 && strides_[dim] != expected) return false;
    expected *= shape_[dim];
  }
  return true;
}

std::int64_t Memory::first() const {
  std::int64_t below = 0;
  if (elements() == 0) return 0;
  for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
    if (strides_[dim] < 0) below -= strides_[dim] * (shape_[dim] - 1);
  }
  return below;
}

std::span<std::byte> Memory::bytes() const {
  if (elements() == 0) return {};
  std::int64_t reach = item_bytes_;
  for (std::size_t dim = 0; dim < shape_.size(); ++dim) {
    reach += std::abs(strides_[dim]) * (shape_[dim] - 1);
  }
  return {data_ - first(), static_cast<std::size_t>(reach)};
}

Tensor strided_tensor(const Memory& memory) {
  if (!memory.dtype()) {
    const bool is_swapped = memory.type_name().starts_with('>');
    raise(ErrorCode::kBadDType, cat("arrays of '", memory.type_name(), "' have no element type"),
          is_swapped
              ? "its bytes are in the other order: array.astype(array.dtype.newbyteorder('='))"
              : "view it as another type, or describe its memory with a layout");
  }
  std::vector<std::int64_t> strides;
  for (std::size_t dim = 0; dim < memory.strides().size(); ++dim) {
    const bool moves = memory.shape()[dim] > 1;
    if (moves && memory.strides()[dim] % memory.item_bytes() != 0) {
      raise(ErrorCode::kNotSupported,
            cat("the stride of dim ", static_cast<std::int64_t>(dim), ", ", memory.strides()[dim],
                " bytes, is not a whole number of elements of ", memory.item_bytes(), " bytes"),
            "copy the array, or view its fields as separate arrays");
    }
    strides.push_back(moves ? memory.strides()[dim] / memory.item_bytes() : 0);
  }
  // Dims of one element have any stride; the row-major one is the usual text.
  std::int64_t packed = 1;
  for (std::size_t dim = strides.size(); dim-- > 0;) {
    if (memory.shape()[dim] <= 1) strides[dim] = packed;
    packed = std::max<std::int64_t>(1, memory.shape()[dim] * std::abs(strides[dim]));
  }
  std::string text = "tensor<";
  for (const std::int64_t extent : memory.shape()) text += cat(extent, "x");
  text += cat(dtype_name(*memory.dtype()), ", strided<[");
  for (std::size_t dim = 0; dim < strides.size(); ++dim) {
    text += cat(dim == 0 ? "" : ", ", strides[dim]);
  }
  text += "]";
  const std::int64_t offset = memory.first() / memory.item_bytes();
  if (offset != 0) text += cat(", offset: ", offset);
  text += ">>";
  return unwrap(parse_tensor(text), text);
}

}  // namespace tessera::python

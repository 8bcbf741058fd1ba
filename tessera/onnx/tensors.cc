// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"

namespace tessera::onnx_import {
namespace {

using graph::Data;
using Proto = ::onnx::TensorProto;

constexpr std::array kTypes = {
    std::pair{Proto::FLOAT, DType::kF32},    std::pair{Proto::UINT8, DType::kU8},
    std::pair{Proto::INT8, DType::kI8},      std::pair{Proto::UINT16, DType::kU16},
    std::pair{Proto::INT16, DType::kI16},    std::pair{Proto::INT32, DType::kI32},
    std::pair{Proto::INT64, DType::kI64},    std::pair{Proto::BOOL, DType::kBool},
    std::pair{Proto::FLOAT16, DType::kF16},  std::pair{Proto::DOUBLE, DType::kF64},
    std::pair{Proto::UINT32, DType::kU32},   std::pair{Proto::UINT64, DType::kU64},
    std::pair{Proto::BFLOAT16, DType::kBF16}};

constexpr std::int64_t kMostRead = std::int64_t{1} << 16;  ///< bytes of external integers

template <typename List>
std::string packed(const List& list, std::size_t element) {
  std::string out;
  out.reserve(static_cast<std::size_t>(list.size()) * element);
  for (const auto& number : list) {
    out.append(reinterpret_cast<const char*>(&number), element);  // little-endian: the low bytes
  }
  return out;
}

/// Elements in the typed field of the proto, as onnx.proto assigns types to fields.
std::string typed_bytes(const Proto& tensor, DType dtype) {
  const auto element = static_cast<std::size_t>(graph::element_bytes(dtype).value_or(0));
  switch (dtype) {
    case DType::kF32:
      return packed(tensor.float_data(), element);
    case DType::kF64:
      return packed(tensor.double_data(), element);
    case DType::kI64:
      return packed(tensor.int64_data(), element);
    case DType::kU32:
    case DType::kU64:
      return packed(tensor.uint64_data(), element);
    default:
      return packed(tensor.int32_data(), element);
  }
}

Result<Data> external_data(const Proto& tensor, const graph::TensorType& type,
                           const std::string& folder) {
  namespace fs = std::filesystem;
  std::string location;
  std::int64_t offset = 0;
  std::int64_t length = type.bytes();
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    std::int64_t* const number = entry.key() == "offset"   ? &offset
                                 : entry.key() == "length" ? &length
                                                           : nullptr;
    if (number == nullptr) continue;
    const std::string& digits = entry.value();
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), *number);
    if (error != std::errc() || end != digits.data() + digits.size() || *number < 0) {
      return Error{ErrorCode::kBadNumber, cat("tensor ", quote_name(tensor.name()), ": ",
                                              entry.key(), " ", quote_name(digits))};
    }
  }
  const std::string name = cat("the external data of ", quote_name(tensor.name()));
  if (length != type.bytes()) {
    return Error{ErrorCode::kContradiction,
                 cat(name, ": ", length, " bytes for ", type.to_string())};
  }
  const fs::path inside = fs::path(location).lexically_normal();
  if (location.empty() || inside.is_absolute() || inside.string().starts_with("..")) {
    return Error{ErrorCode::kIo, cat(name, " are in ", quote_name(location)), std::nullopt,
                 "external data lie in the folder of the model or below it"};
  }
  const fs::path path = fs::path(folder) / inside;
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) {
    return Error{ErrorCode::kIo,
                 cat(name, ": cannot read ", quote_name(path.string()), ": ", error.message()),
                 std::nullopt, "keep the files of a model together"};
  }
  const std::int64_t end = (Checked(offset) + length).saturated();
  if (static_cast<std::uintmax_t>(end) > size) {
    return Error{ErrorCode::kIo, cat(name, " end at byte ", end, " of ", quote_name(path.string()),
                                     ", which has ", static_cast<std::int64_t>(size))};
  }
  if (graph::is_float(type.dtype) || length > kMostRead) {
    return Data::of_file(path.string(), offset);
  }
  std::string bytes(static_cast<std::size_t>(length), '\0');
  std::ifstream file(path, std::ios::binary);
  file.seekg(offset);
  if (!file.read(bytes.data(), length)) {
    return Error{ErrorCode::kIo, cat(name, ": cannot read ", quote_name(path.string()))};
  }
  return Data::of_bytes(std::move(bytes));
}

}  // namespace

Result<DType> dtype_of(std::int64_t onnx_type) {
  for (const auto& [theirs, ours] : kTypes) {
    if (theirs == onnx_type) return ours;
  }
  constexpr std::array kNames = {std::pair{Proto::STRING, "strings"},
                                 std::pair{Proto::COMPLEX64, "complex numbers"},
                                 std::pair{Proto::COMPLEX128, "complex numbers"}};
  for (const auto& [theirs, name] : kNames) {
    if (theirs == onnx_type) return not_supported(cat("tensors of ", name));
  }
  return not_supported(cat("tensors of ONNX type ", onnx_type));
}

std::int32_t onnx_type_of(DType dtype) {
  for (const auto& [theirs, ours] : kTypes) {
    if (ours == dtype) return theirs;
  }
  return 0;
}

graph::Kind kind_of_initializer(DType dtype) {
  return graph::is_float(dtype) ? graph::Kind::kParameter : graph::Kind::kConstant;
}

std::string_view kind_note(graph::Kind kind) {
  return kind == graph::Kind::kParameter ? "tessera: parameter" : "tessera: constant";
}

graph::Kind kind_of_note(std::string_view note, graph::Kind otherwise) {
  for (const graph::Kind kind : {graph::Kind::kParameter, graph::Kind::kConstant}) {
    if (note == kind_note(kind)) return kind;
  }
  return otherwise;
}

Result<TensorValue> tensor_value(const Proto& tensor, const std::string& folder) {
  TensorValue value;
  TESSERA_TRY(value.type.dtype, dtype_of(tensor.data_type()));
  TESSERA_TRY(value.type.shape, Shape::make({tensor.dims().begin(), tensor.dims().end()}));
  if (!dtype_bytes(value.type.dtype, value.type.shape.elements())) {
    return Error{ErrorCode::kOverflow, cat("the bytes of tensor ", quote_name(tensor.name()))};
  }
  if (tensor.data_location() == Proto::EXTERNAL) {
    TESSERA_TRY(value.data, external_data(tensor, value.type, folder));
    return value;
  }
  std::string bytes =
      tensor.has_raw_data() ? tensor.raw_data() : typed_bytes(tensor, value.type.dtype);
  if (std::ssize(bytes) != value.type.bytes()) {
    return Error{ErrorCode::kContradiction,
                 cat("tensor ", quote_name(tensor.name()), " has ", bytes.size(), " bytes for ",
                     value.type.to_string(), ", which needs ", value.type.bytes())};
  }
  value.data = Data::of_bytes(std::move(bytes));
  return value;
}

}  // namespace tessera::onnx_import

// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/graph_json_data.h"

#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/graph/base64.h"
#include "tessera/graph/graph_json_fields.h"

namespace tessera::graph {

Status JsonData::read(JsonReader& json) {
  constexpr std::array<std::string_view, 5> kKeys = {"numbers", "base64", "fill", "file", "offset"};
  const std::int64_t from = json.position();
  int forms = 0;
  bool has_offset = false;
  TESSERA_CHECK_OK(read_object(json, kKeys, [&](std::size_t key) -> Status {
    forms += key < 4 ? 1 : 0;
    switch (key) {
      case 0:
        return read_numbers(json);
      case 1:
        return read_bytes(json);
      case 2:
        is_fill_ = true;
        return read_fill(json);
      case 3: {
        TESSERA_TRY(file_, json.text());
        return ok_status();
      }
      default: {
        has_offset = true;
        TESSERA_TRY(offset_, json.integer());
        return ok_status();
      }
    }
  }));
  given_ = true;
  span_ = {from, json.span().to};
  if (has_offset && !file_) {
    return Error{ErrorCode::kSyntax, "data with an offset that are in no file", span_,
                 "an offset goes with \"file\": .."};
  }
  if (forms == 1) return ok_status();
  return Error{ErrorCode::kSyntax, cat("data in ", forms, " forms"), span_,
               "one of numbers, base64, fill and file"};
}

Status JsonData::read_bytes(JsonReader& json) {
  TESSERA_TRY(const std::string text, json.text());
  bytes_ = from_base64(text);
  if (bytes_) return ok_status();
  return Error{ErrorCode::kSyntax, "data that are not base64", json.span(), ""};
}

Status JsonData::read_numbers(JsonReader& json) {
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  bool whole = true;
  TESSERA_CHECK_OK(read_list(json, [&]() -> Status {
    if (json.is_integer_next() && whole) {
      TESSERA_TRY(const std::int64_t number, json.integer());
      integers.push_back(number);
      reals.push_back(static_cast<double>(number));
      return ok_status();
    }
    whole = false;
    TESSERA_TRY(const double number, read_real(json));
    reals.push_back(number);
    return ok_status();
  }));
  if (whole) integers_ = std::move(integers);
  reals_ = std::move(reals);
  return ok_status();
}

Status JsonData::read_fill(JsonReader& json) {
  if (json.peek() == JsonReader::Next::kText) return read_bytes(json);
  if (json.is_integer_next()) {
    TESSERA_TRY(const std::int64_t number, json.integer());
    integers_ = std::vector{number};
    reals_ = std::vector{static_cast<double>(number)};
    return ok_status();
  }
  TESSERA_TRY(const double number, json.real());
  reals_ = std::vector{number};
  return ok_status();
}

Result<Data> JsonData::as(const TensorType& type) && {
  if (!given_) return Data();
  if (file_) return Data::of_file(*std::move(file_), offset_);
  if (!bytes_) {
    const bool is_real = is_float(type.dtype);
    if (!is_real && integers_) bytes_ = bytes_of(*integers_, type.dtype);
    if (is_real && reals_) bytes_ = bytes_of(*reals_, type.dtype);
  }
  if (!bytes_) {
    return Error{ErrorCode::kBadDType,
                 cat("these numbers cannot be elements of ", type.to_string()), span_,
                 "integers for integer types, numbers for f32 and f64, base64 for the others"};
  }
  return is_fill_ ? Data::of_fill(*std::move(bytes_)) : Data::of_bytes(*std::move(bytes_));
}

}  // namespace tessera::graph

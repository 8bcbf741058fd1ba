// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/json_reader.h"
#include "tessera/graph/graph.h"

namespace tessera::graph {

/// The data of a value in a text, which may come before its type: numbers are kept as they are
/// written.
class JsonData {
 public:
  /// The object under the key `data`.
  Status read(JsonReader& json);
  /// The data as elements of a type; kNone if nothing was read.
  Result<Data> as(const TensorType& type) &&;

 private:
  Status read_bytes(JsonReader& json);
  Status read_numbers(JsonReader& json);
  Status read_fill(JsonReader& json);

  bool given_ = false;
  std::optional<std::vector<std::int64_t>> integers_;
  std::optional<std::vector<double>> reals_;
  std::optional<std::string> bytes_;
  std::optional<std::string> file_;
  std::int64_t offset_ = 0;
  bool is_fill_ = false;
  Span span_;
};

}  // namespace tessera::graph

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/json_reader.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/graph/graph.h"

/// What texts of graphs consist of below values and nodes: objects with known keys, lists, numbers,
/// attributes. graph_json_read.cc puts them together.
namespace tessera::graph {

/// A list; `read` reads one item.
template <typename Read>
Status read_list(JsonReader& json, const Read& read) {
  TESSERA_CHECK_OK(json.enter_array());
  while (true) {
    TESSERA_TRY(const bool more, json.next_item());
    if (!more) return ok_status();
    TESSERA_CHECK_OK(read());
  }
}

/// An object with known keys, each at most once; `read(k)` reads the value of key k.
template <std::size_t kCount, typename Read>
Status read_object(JsonReader& json, const std::array<std::string_view, kCount>& keys,
                   const Read& read) {
  std::array<bool, kCount> seen{};
  TESSERA_CHECK_OK(json.enter_object());
  while (true) {
    TESSERA_TRY(const std::optional<std::string> key, json.next_key());
    if (!key) return ok_status();
    std::size_t k = 0;
    while (k < kCount && keys[k] != *key) ++k;
    if (k == kCount) {
      return Error{ErrorCode::kUnknownName, cat("unknown key ", quote_name(*key)), json.span(),
                   did_you_mean(*key, keys)};
    }
    if (seen[k]) {
      return Error{ErrorCode::kContradiction, cat("the key ", quote_name(*key), " is listed twice"),
                   json.span(), "list each key once"};
    }
    seen[k] = true;
    TESSERA_CHECK_OK(read(k));
  }
}

/// A number, or "nan", "inf" or "-inf".
Result<double> read_real(JsonReader& json);
Result<std::vector<std::int64_t>> read_integers(JsonReader& json);
Result<std::vector<double>> read_reals(JsonReader& json);

/// The attributes of a node of this op, each at most once. The kind of an attribute is what the
/// op's entry says; of one that no entry lists, what its text looks like.
Result<Attributes> read_attributes(JsonReader& json, Op op);

}  // namespace tessera::graph

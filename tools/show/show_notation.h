// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/notation/notation.h"
#include "tools/json/json.h"

namespace tessera::tools {

/// What `show` prints in the terms of the notation that a tensor was written in, in addition to the
/// numbers that every layout has.
struct NotationFacts {
  std::string name;  ///< the field of the JSON answer; empty when there is nothing to add
  Json json;         ///< its value
  std::vector<std::string> lines;  ///< the same as text
  /// Where the notation defines a general number in its own way: the share of one core or bank of
  /// an interleaved tensor, the shard that the notation divides by.
  std::optional<std::int64_t> shard_bytes;
  std::optional<std::vector<std::int64_t>> shard_shape;
  std::optional<std::vector<std::int64_t>> atoms_shape;
};

Result<NotationFacts> notation_facts(const Tensor& tensor);

}  // namespace tessera::tools

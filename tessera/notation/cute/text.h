// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/notation/cute/cute.h"

namespace tessera::notation {

/// `cute<..>` as it stands in the text.
struct CuteText {
  CuteLayout words;
  Span whole;               ///< shape:stride
  std::vector<Span> modes;  ///< each top-level mode of the shape
};

/// Reads the text of a layout for a tensor of `shape`, whose extents it must agree with.
Result<CuteText> read_cute(std::string_view source, const Shape& shape);

/// "((2,4),8)".
std::string tuple_text(const IntTuple& tuple);

/// kContradiction: a mode that has not as many elements as its dim.
Error mode_mismatch(std::size_t mode, std::int64_t elements, std::int64_t extent);

}  // namespace tessera::notation

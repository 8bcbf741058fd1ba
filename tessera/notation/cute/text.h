// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/notation/cute/cute.h"

namespace tessera::notation {

/// `cute<..>` as read from the text, with spans.
struct CuteText {
  CuteLayout words;
  Span whole;               ///< shape:stride
  std::vector<Span> modes;  ///< each top-level mode of the shape
};

/// Reads the text of a layout for a tensor of `shape`. The modes must agree with the extents.
Result<CuteText> read_cute(std::string_view source, const Shape& shape);

/// "((2,4),8)".
std::string tuple_text(const IntTuple& tuple);

/// kContradiction: the number of elements of a mode differs from the extent of its dim.
Error mode_mismatch(std::size_t mode, std::int64_t elements, std::int64_t extent);

}  // namespace tessera::notation

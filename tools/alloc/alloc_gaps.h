// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/base/result.h"
#include "tessera/memory/problem.h"
#include "tools/alloc/alloc_csv.h"

namespace tessera::tools {

/// More gaps in a file are refused before memory is allocated for them.
inline constexpr std::size_t kMostGaps = std::size_t{1} << 20;

/// A gap as a cell of the column `gaps` has it.
struct WrittenGap {
  memory::Gap gap;
  bool has_window = false;
  Span span;  ///< in the text of the file
};

/// The gaps of a cell, separated by blanks, as in google/minimalloc: `lower-upper`, or
/// `lower-upper@from:to` for a gap in which the buffer keeps its bytes from..to-1. `upper` is the
/// first moment after the gap; in files with a column `end` (`is_inclusive`), its last moment.
///     7-9 12-13@0:64
/// At most `most` are read. Errors: kSyntax, kBadNumber, kOverflow, kTooLarge.
Result<std::vector<WrittenGap>> read_gaps(const Cell& cell, bool is_inclusive, std::size_t most);

/// Gives a buffer, whose lifetime and size are known, its gaps, in the order of time. kBadBuffer
/// for a gap that is empty, leaves the lifetime or overlaps another one, and for a window that is
/// empty or leaves the buffer.
Status add_gaps(std::vector<WrittenGap> gaps, memory::Buffer& buffer);

}  // namespace tessera::tools

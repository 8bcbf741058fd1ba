// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/form.h"
#include "tessera/notation/text/cursor.h"

/// Reads and prints one fold of the native notation:
///
///     {64*d0 + d1 + 3} / (18 -> m0, 32 -> mem*1024, 1#32 -> mem*32!tile)
///
/// Reading has two steps, because a count that is not given depends on the shape, and the mesh may
/// be given after the folds that use it: `read_fold` reads, `resolve_fold` completes and checks.
namespace tessera::notation {

/// A cut as read from the text, and the spans of its parts.
struct CutText {
  Cut cut;
  bool count_said = false;
  bool cause_said = false;
  Span whole, width, count, target, stride;
};

/// A fold as read from the text, and the spans of its parts.
struct FoldText {
  std::vector<Term> terms;
  std::vector<Span> term_spans;
  std::int64_t start = 0;
  std::vector<CutText> cuts;
  Span whole, line;
};

Result<FoldText> read_fold(Cursor& cursor);

/// The fold over `shape` with targets on a mesh of `mesh_rank` axes. A count that is not given is
/// what the line needs; a cause that is not given is the default. Errors of Fold::check point at
/// the term, width, count, target or stride that they concern.
Result<Fold> resolve_fold(const FoldText& text, const Shape& shape, std::size_t mesh_rank);

/// The text of a checked fold, without the parts that `resolve_fold` derives.
/// Law: resolve_fold(read_fold(print_fold(f))) == f.
std::string print_fold(const Fold& fold, const Shape& shape);

/// A letter and a number, such as d0 or m12; `what` names it in errors.
Result<int> read_numbered(Cursor& cursor, char letter, std::string_view what);

}  // namespace tessera::notation

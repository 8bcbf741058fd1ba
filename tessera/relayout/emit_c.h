// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// The program as a C99 function `void name(const void* src, void* dst)` that needs nothing but
/// <stdint.h> and <string.h>, for users who want the loops in their own runtime. Both arrays must
/// have the sizes of the program's memories (any alignment) and must not overlap.
///
/// Fills come first, then the copies, as loops around memcpy and memset of contiguous runs. When
/// there are very many nests, they are emitted as tables that one group of loops walks. `title` is
/// the text of the comment above the function, for example the two layouts; it may have several
/// lines.
///
/// Law: the function leaves in `dst` the same bytes as running the program's fills and nests as
/// plain loops.
/// Example: row-major [4, 6] f32 to column-major is
///
///     for (int64_t i0 = 0; i0 < 6; ++i0) {
///       for (int64_t i1 = 0; i1 < 4; ++i1) {
///         memcpy(to + 16 * i0 + 4 * i1, from + 4 * i0 + 24 * i1, 4);
///
/// Errors: kSyntax when `name` is not a C identifier; kNotSupported when the program converts types
/// or moves block floats; kTooLarge for more than 2^14 nests.
Result<std::string> emit_c(const Program& program, std::string_view name,
                           std::string_view title = {});

}  // namespace tessera::relayout

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/layout/form.h"

namespace tessera::test {

/// All small forms, numbered: every combination of
///   rank 1   extents 0-6; lines x, x+1, 2x, -x, -2x+1; every chain of up to 3 widths up to 6, its
///            digits in memory, on a mesh axis or nowhere
///   rank 2   extents 1-6; a fold per dim with chains of up to 2 widths on two mesh axes; or one
///            line (either dim fastest, gapped, flipped) with chains of up to 3 widths; or a second
///            fold that contains a dim again, with a digit placed nowhere
///   rank 3   extents 1 to 6; a fold per dim, or two or three dims in one line
/// each with tight or gapped strides in two orders, counts as needed or one more, and either alone,
/// replicated, at a fixed coordinate, or with a synthetic digit in memory or on the mesh.
std::int64_t small_forms();

/// Form number i of small_forms(); nothing when its mesh would have an axis of more than 6 places.
/// Well-formed, but not always a layout.
std::optional<Form> small_form(std::int64_t i);

}  // namespace tessera::test

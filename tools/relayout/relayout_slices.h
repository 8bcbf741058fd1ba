// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/relayout/program.h"

namespace tessera::tools {

/// Splits the program into at most `count` programs of about as many elements each, to be run one
/// after the other in their order, so that the progress of a long move can be shown. The first has
/// all of the fills.
///
/// Each refinement is split along its largest factor, every piece of it at the loop with the
/// largest destination stride, so that a slice is a contiguous range of the destination where
/// layouts allow. Programs whose destination is not written element by element are not split: block
/// floats, casts to i4 and i2.
///
/// Law: running the slices in order does what running the program does. None is empty, unless
/// the program is.
std::vector<relayout::Program> slices_of(const relayout::Program& program, std::int64_t count);

}  // namespace tessera::tools

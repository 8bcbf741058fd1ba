// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/relayout/program.h"

namespace tessera::tools {

/// The program as at most `count` programs, each of about as many elements, to be run one after the
/// other in their order: what shows how far a long move has come. The first has all of the fills.
///
/// Each refinement is cut along its largest factor, every piece of it at the loop that moves the
/// destination most, so that a slice is a stretch of the destination where layouts allow. Programs
/// whose destination is not written element by element stay whole: block floats, casts to i4 and
/// i2.
///
/// Law: running the slices in order does what running the program does. None is empty, unless
/// the program is.
std::vector<relayout::Program> slices_of(const relayout::Program& program, std::int64_t count);

}  // namespace tessera::tools

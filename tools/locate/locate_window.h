// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tools/command/command.h"

namespace tessera::tools {

/// Answers `tessera locate` for many elements or slots at once: what a picture of a part of a
/// tensor, of a memory or of a mesh of any size needs. Places are row-major numbers, as the
/// notation counts them.
///
///   --from I,J --counts N,M [--steps S,T]     place and slot of N x M elements, S rows and T
///   columns
///                                             apart. Element k of the answer, counted row-major,
///                                             is the first place of what --index says
///   --place R,C --slot S --count N [--step T] what N slots of a place hold, T slots apart
///   --classes                                 sets of places whose memory is alike
///
/// Errors: kTooLarge beyond 2^16 elements or slots; kOutOfRange for a part outside of the tensor.
Result<Verdict> locate_elements_window(const Request& request, Console& console);
Result<Verdict> locate_slots_window(const Request& request, Console& console);
Result<Verdict> locate_classes(const Request& request, Console& console);

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tessera/ops/propagate.h"

namespace tessera::test {

/// A search over divisions of the work that knows nothing of how propagate finds one. Each mesh
/// axis repeats the work, has all of it at one coordinate, or divides one factor into blocks (of
/// every width) or deals it round robin. Found is one under which every place holds, of every input
/// whose layout is given, all that it reads, by listing all iterations, and which `accepts` accepts
/// as a work map. `tried` counts them.
std::optional<std::string> any_division(const ops::Question& question, const ops::Loops& loops,
                                        const std::function<bool(const Form&)>& accepts,
                                        std::uint64_t& tried);

}  // namespace tessera::test

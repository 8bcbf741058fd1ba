// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/target/machine.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// "sram: 48 KB per place, 36 KB of it for data (taken: 8 KB code, 4 KB stack)".
std::string space_text(const target::MemorySpace& space);

/// A machine in words: mesh, networks, memories, arithmetic, rules, and the sources of the figures.
/// After figures stands how they are known, as in "9 cycles per hop (published)", where the
/// description says so.
std::string explain(const Machine& machine, const Terminal& terminal);

}  // namespace tessera::tools

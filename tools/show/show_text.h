// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/notation/notation.h"
#include "tools/show/show_facts.h"
#include "tools/show/show_notation.h"
#include "tools/terminal/terminal.h"

namespace tessera::tools {

/// The layout as text: what happens to each line, sizes, padding by cause, kinds of places,
/// warnings. No line is longer than the terminal is wide.
std::string show_text(const Tensor& tensor, const ShowFacts& facts, const NotationFacts& specific,
                      const Terminal& terminal);

}  // namespace tessera::tools

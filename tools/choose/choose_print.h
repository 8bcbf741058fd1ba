// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/plan/choose/solve.h"

namespace tessera::tools {

/// Everything that is printed about a search.
struct ChooseAnswer {
  const choose::Problem& problem;
  const choose::Solution& solution;
  bool interrupted = false;
};

/// One JSON object on one line.
std::string choose_json(const ChooseAnswer& answer);
/// The same for people; the first choices only, where there are many.
std::string choose_text(const ChooseAnswer& answer);

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/base/result.h"
#include "tessera/exchange/rank_plan.h"
#include "tessera/relayout/plan.h"

namespace tessera {

/// What writes the padding on the places that a rank has of B; nothing where there is none to
/// write. It comes before the data, which it may cover.
/// Law: afterwards every padding slot of those places is as make_program's fills would leave it.
Result<std::optional<Plan>> rank_padding(const Placement& to, const RankSide& side,
                                         PaddingRule rule);

}  // namespace tessera

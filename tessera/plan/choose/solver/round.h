// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/plan/choose/solver/dual.h"
#include "tessera/plan/choose/solver/model.h"

namespace tessera::choose {

/// A choice read off the messages of a dual: node by node, the strategy that is best with the
/// choices already made and the messages from the others, among those that still fit (or that
/// exceed the room least). Forward or backward through the nodes; `scale` multiplies the prices.
Choice rounded(const Model& model, const FloatTables& tables, const Dual& dual, bool forward,
               float scale = 1);

}  // namespace tessera::choose

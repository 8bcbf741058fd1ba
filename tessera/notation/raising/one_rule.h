// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/layout/layout.h"
#include "tessera/layout/placement.h"

namespace tessera::notation {

/// One layout that describes all boxes. Some notations lower to boxes what others express with a
/// single rule. The layout is found by following each dim separately from its first element;
/// nullopt when there is none or it is not found this way.
///
/// Law: the layout is the same function as the pieces, with the same slots.
///
/// Example: 7 elements in [0:4) and [4:7), each in halves on 2 places, are blocks of 2 that go to
/// the places in turn.
std::optional<Layout> one_rule(const Piecewise& pieces);

/// The same for a layout: written with the simplest cuts that its elements allow.
std::optional<Layout> one_rule(const Layout& layout);

}  // namespace tessera::notation

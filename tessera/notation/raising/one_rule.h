// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/layout/layout.h"
#include "tessera/layout/piecewise.h"

namespace tessera::notation {

/// One layout that says all boxes, where each dim's own steps tell one: boxes are how some
/// notations lower what others say by a single rule. Nothing when there is none, or none that is
/// found by following each dim from its first element on.
///
/// Law: the layout is the same function as the pieces, with the same slots.
///
/// Example: 7 elements in [0:4) and [4:7), each in halves on 2 places, are dealt out in blocks
/// of 2.
std::optional<Layout> one_rule(const Piecewise& pieces);

/// The same of a layout, written with the plainest cuts that its elements allow.
std::optional<Layout> one_rule(const Layout& layout);

}  // namespace tessera::notation

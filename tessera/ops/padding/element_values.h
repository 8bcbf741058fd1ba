// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "tessera/graph/op.h"
#include "tessera/ops/padding/state.h"

namespace tessera::ops {

/// The element that an elementwise op makes from elements of its inputs; those that are left out
/// are empty. nullopt for an op or for numbers whose result is not known here.
/// Example: exp of 0 is 1, add of 2 and 3 is 5.
std::optional<double> element_value(const graph::Call& call,
                                    std::span<const std::optional<double>> inputs);

/// Whether an elementwise op makes finite elements of all finite ones of ordinary size; not
/// exponentials, which overflow early, quotients and logarithms.
bool keeps_finite(const graph::Call& call);

/// What an elementwise op makes of such elements, one state per input; an input that is left out is
/// absent. 0·x is 0 if x is finite.
PaddingState element_state(const graph::Call& call, std::span<const PaddingState> inputs,
                           DType output);

/// A number as an element of a type: a value if the type certainly has it, else less.
PaddingState state_of(double number, DType dtype);

}  // namespace tessera::ops

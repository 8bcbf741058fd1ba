// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

/// The form in which dims `dim` and `dim + 1` are one dim, row-major: x = N[dim+1]·x1 + x2.
///
/// If in every fold the coefficient of x1 is N[dim+1] times that of x2, the two terms become one.
/// Otherwise dims are separated first, and the chain of x2 is appended to the chain of x1: x div
/// N[dim+1] is x1 and x mod N[dim+1] is x2.
/// Law: result.evaluate(.., N·x1 + x2, ..) = form.evaluate(.., x1, x2, ..). Error kViewLeavesForm,
/// naming the dim, if a fold joins them with other dims or does not start on a cut.
Result<Form> merge_dims(const Form& form, int dim);

/// The simple case of `merge_dims`, where the coefficients join; empty otherwise.
std::optional<Form> join_dims(const Form& form, int dim);

}  // namespace tessera

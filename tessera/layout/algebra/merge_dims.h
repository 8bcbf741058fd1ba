// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

/// The form in which dims `dim` and `dim + 1` are one dim, row-major: x = N[dim+1]·x1 + x2.
///
/// Where every fold counts x1 in whole multiples of x2's steps the coefficients simply join.
/// Otherwise dims are separated first, and the chain of x1 is continued by the chain of x2: x div
/// N[dim+1] is x1 and x mod N[dim+1] is x2.
/// Law: result.evaluate(.., N·x1 + x2, ..) = form.evaluate(.., x1, x2, ..).
/// Error kViewLeavesForm, naming the dim, where a fold ties them to other dims or starts off a cut.
Result<Form> merge_dims(const Form& form, int dim);

/// The simple half of `merge_dims`: only where the coefficients join; nothing otherwise.
std::optional<Form> join_dims(const Form& form, int dim);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"

namespace tessera {

/// The form of the elements start + step·y of one dim, y < count.
/// Law: result.evaluate(.., y, ..) = form.evaluate(.., start + step·y, ..). Error kBadView if the
/// slice leaves the dim.
Result<Form> slice_dim(const Form& form, int dim, std::int64_t start, std::int64_t count,
                       std::int64_t step);

/// The form of the elements in the box [from, to), which must lie inside the shape and not be
/// empty.
Form restrict_to(const Form& form, const Index& from, const Index& to);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "tessera/base/result.h"
#include "tessera/graph/op.h"
#include "tessera/layout/layout.h"

namespace tessera::frontend {

/// Whether a layout is one of tensors of this type: kShapeMismatch and kBadDType, which begin with
/// `what`.
Status check_place(std::string_view what, const graph::TensorType& type, const Layout& layout);

}  // namespace tessera::frontend

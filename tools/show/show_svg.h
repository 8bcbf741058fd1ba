// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/notation/tensor.h"
#include "tools/show/show_facts.h"

namespace tessera::tools {

/// A tensor as SVG: the elements of its last two dims by place with their slots, its places with
/// those without data struck out, and the memory of one place with padding by cause. Larger ones
/// are drawn by samples: a cell is the first of those that it stands for. Laws: well-formed XML; as
/// many cells as the constants of draw/sheet.h allow, at most; equal tensors give equal texts.
std::string show_svg(const Tensor& tensor, const ShowFacts& facts);

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/spyre/nests.h"
#include "tessera/notation/spyre/spyre.h"
#include "tessera/testing/notation/rule_spyre.h"

/// What the Spyre notation promises beyond the positions of elements, checked by the rule.
namespace tessera::test {

/// The rule of a parsed layout.
SpyreRule rule_of(const notation::SpyreLayout& words, const Shape& shape, DType dtype);

/// Host offset and device slot of each copy.
using Copies = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// What the nests copy when they are run as plain loops, sorted.
Copies run_nests(const std::vector<notation::SpyreNest>& nests);

/// Checks all laws of a text (rule_check.h), and:
///   a stick is 128 bytes; padding is synthetic, of an extent that was rounded up, or of a stick;
///   spelled_out and stride_map_of agree with the rule, and the host offset of every element is
///     Σ device coordinate · stride;
///   a dim_map that dim_map_of finds describes the same layout;
///   the nests of the tensor, and of a random part of it, copy each element once from its position
///     by the host strides to its slot, and nothing else; covered_sticks counts the sticks they
///     touch.
std::string spyre_mistake(const SpyreRule& rule);

}  // namespace tessera::test

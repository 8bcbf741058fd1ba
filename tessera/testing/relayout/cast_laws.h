// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tessera/layout/placement.h"
#include "tessera/relayout/casts/cast.h"
#include "tessera/relayout/program.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/relayout/plan_laws.h"

namespace tessera::test {

/// The layout with elements stored as `storage`, in whole 32x32 tiles where that is a block float.
Layout kept_as(const Layout& layout, DType storage);

/// The content of the source of a cast: any bits, or only 0 and 1, which every type can represent.
enum class Values : std::uint8_t { kAnyBits, kZeroAndOne };

/// The law of plans that cast, for sources and destinations of any type: run() leaves the same
/// bytes as moving and casting each element by the definition of casts, including padding and bytes
/// that are not written; with Rounding::kChecked it returns an error exactly when some element does
/// not fit. In a group of 16 block floats that has data, padding that is not written becomes 0.
/// Empty when the law holds.
std::string cast_mistake(const Layout& from, const Layout& to, relayout::PaddingRule padding,
                         relayout::Rounding rounding, Values values, const Trial& trial,
                         std::uint64_t seed);

}  // namespace tessera::test

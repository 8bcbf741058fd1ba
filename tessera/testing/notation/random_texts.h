// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/testing/notation/rule_check.h"

namespace tessera::test {

/// A tensor in this notation, small enough to try every slot: at most 200 elements, at most 2100
/// slots on all places together, at most 64 places. One half is plain, so that other notations can
/// express it too: even splits, whole tiles and sticks, compact orders, one place or a mesh of two
/// axes. The other half is irregular: odd sizes, padding, gaps, copies, shares, views, pieces,
/// tiles of block floats.
/// Law: parse_tensor reads it as a tensor of that notation.
std::string random_text(std::string_view notation, Dice& dice);

/// The sources of random_text, one per notation; not every text is small, or even valid.
std::string random_native_text(Dice& dice, bool plain);
std::string random_strided_text(Dice& dice, bool plain);
std::string random_pyflame_text(Dice& dice, bool plain);
std::string random_spyre_text(Dice& dice, bool plain);
std::string random_metal_text(Dice& dice, bool plain);
std::string random_today_text(Dice& dice, bool plain);
std::string random_ttnn_text(Dice& dice, bool plain);
std::string random_morello_text(Dice& dice, bool plain);
std::string random_xla_text(Dice& dice, bool plain);
std::string random_onednn_text(Dice& dice, bool plain);
std::string random_cute_text(Dice& dice, bool plain);
std::string random_gspmd_text(Dice& dice, bool plain);
std::string random_dtensor_text(Dice& dice, bool plain);

/// Extents with many divisors, of rank `least` to `most`, with at most 128 elements.
Numbers plain_shape(Dice& dice, std::int64_t least, std::int64_t most);
/// The same, or odd sizes and sometimes 0.
Numbers any_shape(Dice& dice, bool plain, std::int64_t least, std::int64_t most);
/// f32 most of the time.
std::string plain_dtype(Dice& dice);
std::int64_t random_divisor(Dice& dice, std::int64_t n);

}  // namespace tessera::test

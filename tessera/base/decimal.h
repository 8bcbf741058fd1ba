// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera {

/// A sum of many 64-bit numbers as text. Example: decimal(__int128{-7}) = "-7".
/// The smallest of all numbers, -2^127, is no such sum.
std::string decimal(__int128 number);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/notation/notation.h"

/// The entry of each notation, defined in the file of that notation. `notations()` lists them.
namespace tessera {

Notation native_notation();
Notation strided_notation();

}  // namespace tessera

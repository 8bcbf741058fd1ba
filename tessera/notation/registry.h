// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/notation/notation.h"

/// The entry of each notation, defined in the file of that notation. `notations()` lists them.
namespace tessera::notation {

Notation native_notation();
Notation strided_notation();
Notation pyflame_notation();
Notation spyre_notation();
Notation metal_notation();
Notation metal_today_notation();
Notation ttnn_notation();
Notation morello_notation();
Notation xla_notation();
Notation onednn_notation();
Notation cute_notation();
Notation gspmd_notation();
Notation dtensor_notation();

}  // namespace tessera::notation

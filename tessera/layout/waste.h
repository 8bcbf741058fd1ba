// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/layout/layout.h"

namespace tessera {

/// What a layout allocates beside what it holds, in elements of all places together.
struct Waste {
  std::int64_t allocated = 0;
  std::int64_t needed = 0;  ///< every replica counts

  bool more_than(double factor) const;
  /// "96" or "2.5": how many times the data. Only when data are needed.
  std::string factor_text() const;
};

/// Of the elements alone.
/// Example: 8x96x32 as (d0 * 96 + d1, d1, d2) allocates 96 times the data.
Waste waste_of(const Layout& layout);

/// Of the elements in whole tiles: what rounding up the last two dims adds is needed too.
Waste waste_beside_tiles(const Layout& layout, std::int64_t rows, std::int64_t cols);

/// Places that hold nothing because the lines end before they are reached; holes inside a line are
/// not looked for. Nothing when a line reaches places in another way than piece after piece.
/// Example: 53 rows in pieces of 32 on 3 places: 1.
std::optional<std::int64_t> places_past_the_end(const Form& form);

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/layout/placement.h"

namespace tessera::test {

/// The places of an element, share by share, by the definition: every share has the same slot on
/// all of its places.
struct Home {
  std::int64_t slot = 0;
  std::vector<std::vector<std::int64_t>> shares;  ///< virtual numbers, row-major on the mesh
};
Home home_of(const Placement& placement, const Index& index);

}  // namespace tessera::test

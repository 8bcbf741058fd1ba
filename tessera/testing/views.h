// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/layout/view.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/laws.h"

namespace tessera::test {

/// A view with the index map that it must have, composed by the definitions in view.h alone.
struct MappedView {
  View view;
  IndexMap map;
  std::int64_t operations = 0;  ///< number of operations that stayed in the form
};

/// Up to `steps` random operations one after another; those that leave the form are skipped.
MappedView random_view(Dice& dice, const Layout& base, std::int64_t steps);

}  // namespace tessera::test

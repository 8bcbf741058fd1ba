// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/same_places.h"

#include <utility>

#include "tessera/layout/placement.h"
#include "tessera/notation/notation.h"

namespace tessera::notation {

Result<SamePlaces> same_places(const Tensor& a, const Tensor& b, bool on_target) {
  TESSERA_TRY(const Notation* const of_a, find_notation(a.notation));
  TESSERA_TRY(const Notation* const of_b, find_notation(b.notation));
  const Shape& device_a = device_of(a.placement);
  const Shape& device_b = device_of(b.placement);
  const bool is_alone = device_a.elements() == 1 || device_b.elements() == 1;
  const bool is_mixed = of_a->numbers_places || of_b->numbers_places ||
                        (!is_alone && device_a.rank() != device_b.rank());
  SamePlaces same{a.placement, b.placement, is_mixed};
  if (on_target ? of_a->numbers_places : is_mixed) {
    TESSERA_TRY(same.a, with_numbered_places(a.placement));
  }
  if (on_target ? of_b->numbers_places : is_mixed) {
    TESSERA_TRY(same.b, with_numbered_places(b.placement));
  }
  return same;
}

}  // namespace tessera::notation

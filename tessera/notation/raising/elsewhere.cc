// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/elsewhere.h"

#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

std::string spot_text(const Form& form, const Index& index, bool one_place) {
  Place place;
  std::int64_t slot = 0;
  form.evaluate(index, place, slot);
  return cat("slot ", slot, one_place ? "" : cat(" of ", bracketed(place)));
}

}  // namespace

std::string element_elsewhere(const Form& is, const Form& would_be, const Index& index) {
  const bool one_place = is.mesh.elements() == 1 && would_be.mesh.elements() == 1;
  return cat("that element ", bracketed(index), " is in ", spot_text(is, index, one_place),
             ", not in ", spot_text(would_be, index, one_place));
}

std::string spot_text(const Placement& placement, const Index& index) {
  const auto [form, inner] = placement.form_at(index);
  Place place;
  std::int64_t slot = 0;
  form->evaluate(inner, place, slot);
  const std::int64_t copies = form->replicas();
  return cat("slot ", slot, " of place ", bracketed(place),
             copies > 1 ? cat(" and ", copies - 1, " more") : "");
}

}  // namespace tessera::notation

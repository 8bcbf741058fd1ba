// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/elsewhere.h"

#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

struct Found {
  Place place;
  std::int64_t slot = 0;
  std::int64_t copies = 1;
};

Found found_in(const Form& form, const Index& index) {
  Found found;
  form.evaluate(index, found.place, found.slot);
  found.copies = form.replicas();
  return found;
}

Found found_in(const Placement& placement, const Index& index) {
  const auto [form, inner] = placement.form_at(index);
  Found found = found_in(*form, inner);
  if (const Layout* layout = placement.layout()) {
    found.place = layout->spec().device_map.map(layout->mesh(), found.place).place;
  }
  return found;
}

std::string text_of(const Found& found) {
  return cat("slot ", found.slot, " of place ", bracketed(found.place),
             found.copies > 1 ? cat(" and ", found.copies - 1, " more") : "");
}

}  // namespace

Obstacle element_elsewhere(const Form& is, const Form& would_be, const Index& index) {
  const Found here = found_in(is, index);
  const Found there = found_in(would_be, index);
  std::vector<Fact> facts = {fact("index", index), fact("slot", here.slot),
                             fact("expected_slot", there.slot)};
  if (is.mesh.elements() == 1 && would_be.mesh.elements() == 1) {
    return obstacle(why::kElementElsewhere,
                    "that element {index} is in slot {slot}, not in slot {expected_slot}",
                    std::move(facts));
  }
  facts.push_back(fact("place", here.place));
  facts.push_back(fact("expected_place", there.place));
  return obstacle(why::kElementElsewhere,
                  "that element {index} is in slot {slot} of {place}, not in slot {expected_slot} "
                  "of {expected_place}",
                  std::move(facts));
}

Obstacle copies_elsewhere(std::string_view before, const Placement& is, const Placement& would_be,
                          const Index& index) {
  const Found here = found_in(is, index);
  const Found there = found_in(would_be, index);
  Obstacle what =
      obstacle(why::kElementElsewhere, "",
               {fact("index", index), fact("slot", here.slot), fact("expected_slot", there.slot),
                fact("place", here.place), fact("expected_place", there.place),
                fact("copies", here.copies), fact("expected_copies", there.copies)});
  what.words = cat(before, " has element ", bracketed(index), " in ", text_of(there), ", not in ",
                   text_of(here));
  return what;
}

}  // namespace tessera::notation

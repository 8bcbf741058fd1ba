// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/sharing.h"

#include "tessera/base/text.h"
#include "tessera/base/work.h"

namespace tessera::tools {

Result<std::optional<SharedSlot>> shared_slot(const Placement& placement) {
  if (placement.view() == nullptr) return std::optional<SharedSlot>();
  const Work part(kQuestionSteps / 8);
  return overlapping_elements(placement.view()->form());
}

std::string sharing_sentence(const Placement& placement, const SharedSlot& shared) {
  const std::string where =
      placement.mesh().rank() == 0 ? "" : cat(" of place ", bracketed(shared.place));
  std::string sentence =
      cat("elements ", bracketed(shared.first), " and ", bracketed(shared.second), " share slot ",
          shared.slot, where, "; unless windows overlap on purpose, a stride has a typo");
  if (placement.places() == 1) {
    sentence +=
        cat(" (row-major strides are ", bracketed(placement.shape().row_major_strides()), ")");
  }
  return sentence;
}

std::string sharing_warning(const Placement& placement, const Terminal& terminal) {
  const Result<std::optional<SharedSlot>> shared = shared_slot(placement);
  if (!shared || !*shared) return "";
  const std::string text = wrap(
      cat("warning[shared_slot]: ", sharing_sentence(placement, **shared)), terminal, "", "  ");
  return cat(paint(terminal, Paint::kWarning, text.substr(0, text.size() - 1)), "\n");
}

Json sharing_json(const SharedSlot& shared) {
  Json json;
  json["indices"] = Json::array();
  json["indices"].push_back(shared.first);
  json["indices"].push_back(shared.second);
  json["place"] = shared.place;
  json["slot"] = shared.slot;
  return json;
}

std::string sharing_field(const Placement& placement) {
  const Result<std::optional<SharedSlot>> shared = shared_slot(placement);
  if (!shared || !*shared) return "";
  return cat("\"shared_slot\":", dump(sharing_json(**shared)), ",");
}

}  // namespace tessera::tools

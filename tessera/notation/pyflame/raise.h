// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/notation/raising/refusal.h"

/// The parts of raise_pyflame: each one computes one property of a layout, or states why PyFlame
/// cannot express it.
namespace tessera::notation {

/// "PyFlame cannot express ..".
Error pyflame_cannot_express(Obstacle what);
inline Error pyflame_cannot(std::string_view reason, std::string_view words,
                            std::vector<Fact> facts = {}) {
  return pyflame_cannot_express(obstacle(reason, words, std::move(facts)));
}

/// Where the tiles are: on the wafer's first PEs, all moved by one origin, or each on a listed PE.
struct PyflamePes {
  std::optional<PyflameLayout::Pe> origin;
  std::vector<PyflameLayout::Pe> pes;  ///< row-major; only when no origin expresses it
};
/// Lists at most 2^20 PEs.
Result<PyflamePes> pyflame_pes(const Layout& layout);

/// How one dim is distributed, independent of the folds that describe it.
struct PyflameDim {
  int axis = -1;            ///< the PE axis that the dim moves along, if any
  std::int64_t block = 0;   ///< elements before the first move to another PE, if any
  std::int64_t stride = 0;  ///< slots between neighbours on one PE; 0 when there are none
  std::int64_t tile = 1;    ///< elements that a PE allocates for the dim if slots are row-major
};
/// One entry per dim. Only for tensors with elements, on meshes of rank 2 or of one place.
Result<std::vector<PyflameDim>> pyflame_dims(const Layout& layout);

}  // namespace tessera::notation

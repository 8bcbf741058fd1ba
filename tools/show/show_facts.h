// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/sharing.h"

/// tools/show/: the verb `show`. A tensor and optionally a target come in; its numbers and picture
/// go out as text or JSON. Numbers come from layout/, notation/ and target/: nothing here decides
/// where an element is stored.
namespace tessera::tools {

/// Something that is legal but probably not intended.
struct Warning {
  std::string_view code;  ///< "shared_slot", "waste", "empty_places", "mesh_larger_than_used", ..
  std::string message;
};

/// The numbers that `tessera show` prints; lists have one number per fold, of the first piece where
/// there are several.
struct ShowFacts {
  std::vector<std::int64_t> folded_shape;          ///< needed length of the line
  std::vector<std::int64_t> shard_shape;           ///< points of the line on the first place
  std::vector<std::int64_t> atoms_shape;           ///< atoms allocated per place
  std::int64_t logical_bytes = 0;                  ///< of the elements alone, in the storage type
  std::optional<std::int64_t> padding_elements;    ///< nothing when counting takes too long
  std::optional<PaddingCount> padding;             ///< the same by cause
  std::optional<SharedSlot> shared_slot;           ///< two elements that overlap; see sharing.h
  std::optional<std::vector<PlaceClass>> classes;  ///< nothing when finding them takes too long
  std::vector<Warning> warnings;
};

ShowFacts facts_of(const Placement& placement);

/// How many p in [0, E) have only zeros on the mesh: the points that the place at the origin holds.
/// Example: 53 rows cut by (18 on the mesh, 32, 1): 18.
std::int64_t points_on_first_place(const Fold& fold, std::int64_t extent);

}  // namespace tessera::tools

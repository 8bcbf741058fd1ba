// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/moves/price.h"
#include "tessera/moves/stored.h"
#include "tessera/ops/machines/restrictions.h"
#include "tessera/target/machine.h"

namespace tessera::ops {

/// What a transform does to a tensor, apart from where its bytes go.
enum class TransformPart : std::uint8_t {
  kCast,        ///< elements get another type, or another type in memory
  kTilize,      ///< rows become tiles
  kUntilize,    ///< tiles become rows
  kRestickify,  ///< sticks run along another dim
  kRelayout,    ///< any other change inside the places
  kExchange,    ///< elements cross to other places or memories
};
/// "cast", "tilize", "untilize", "restickify", "relayout", "exchange".
std::string_view part_name(TransformPart part);

/// The op layout_transform (and cast, which may change the layout too) between two tensors.
struct Transform {
  std::vector<TransformPart> parts;  ///< in the order above; none if there is nothing to do
  moves::Move move;                  ///< its steps and their time
  /// Whether the machine's kernels can do it; true for machines of no family.
  Allowed allowed;
};

/// The family whose kernels run on a machine, by its rules: sticks, tiles or wavelets.
std::optional<MachineFamily> family_of(const Machine& machine);

/// The transform from A to B on the machine of the model. Errors: those of MoveModel::price;
/// kShapeMismatch; kNotSupported for views and pieces.
/// Example: bf16 rows to 32x32 tiles in the l1 of one core is {kTilize}, one relayout step.
Result<Transform> transform_between(const moves::MoveModel& model, const moves::Stored& a,
                                    const moves::Stored& b);

}  // namespace tessera::ops

// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/refusals.h"

#include <array>

#include "tessera/base/text.h"
#include "tessera/notation/raising/refusal.h"
#include "tessera/testing/notation/refusal_checks.h"
#include "tessera/testing/notation/sayable.h"

namespace tessera::test {
namespace {

namespace why = notation::why;

/// How the claim of a reason is checked.
struct Known {
  std::string_view reason;
  Check check;
  bool searched = true;  ///< whether a search for a text must fail, too
};

constexpr bool kKind = false;  // the kind of tensor is outside the scope: no search applies

constexpr std::array kKnown = {
    Known{why::kPaddedDim, is_padded, kKind},
    Known{why::kEmptySlots, has_empty_slots, kKind},
    Known{why::kMeshRank, has_another_mesh_rank, kKind},
    Known{why::kPartialResult, is_partial, kKind},
    Known{why::kReplicated, is_replicated, kKind},
    Known{why::kTiles, is_tiled, kKind},
    Known{why::kSharedSlots, shares_slots, kKind},
    Known{why::kBoxes, has_boxes, kKind},
    Known{why::kDeviceMap, is_moved_on_device, kKind},
    Known{why::kMeshShape, has_another_mesh},
    Known{why::kTensorRank, has_another_rank},
    Known{why::kMixedCopies, has_shares},
    Known{why::kPartlyRepeated, is_partly_repeated},
    Known{why::kEmptyCopies, is_empty_with_copies},
    Known{why::kStoredAs, is_stored_as},
    Known{why::kStickType, has_no_sticks},

    Known{why::kElementElsewhere, is_elsewhere},
    Known{why::kSharedSlot, does_not_share_slot},
    Known{why::kFirstSlot, begins_in_slot},
    Known{why::kFirstPlace, begins_on_place},
    Known{why::kOneCoordinate, is_on_one_coordinate},
    Known{why::kScalarOnMesh, is_scalar_on_mesh},
    Known{why::kDevices, has_other_devices},

    Known{why::kAllocation, allocates_otherwise},
    Known{why::kBeyondReach, allocates_beyond_reach},
    Known{why::kEmptyTensor, allocates_for_nothing},
    Known{why::kOneElement, allocates_for_one},
    Known{why::kStepsTakeMore, allocates_less_than_steps},
    Known{why::kPartOfStep, allocates_part_of_step},
    Known{why::kPartOfStick, allocates_part_of_stick},
    Known{why::kDimAllocation, allocates_for_dim},
    Known{why::kBlockAllocation, allocates_for_blocks},
    Known{why::kShardShape, allocates_another_shape},
    Known{why::kShardExtent, divides_otherwise},

    Known{why::kRunsDownward, runs_downward},
    Known{why::kNegativeStep, steps_down},
    Known{why::kGaps, steps_along},
    Known{why::kStepNotCovered, steps_along},
    Known{why::kNotRowMajor, steps_in_another_order},
    Known{why::kStepsDoNotDivide, steps_do_not_divide},
    Known{why::kStepsDoNotFit, steps_do_not_fit},
    Known{why::kEmptyBetween, leaves_slots_empty},
    Known{why::kStepsNotNested, only_searched},

    Known{why::kEntangledDims, are_entangled},
    Known{why::kJoinedDims, only_searched},
    Known{why::kCutInWays, only_searched},
    Known{why::kCutFrom, only_searched},
    Known{why::kUnevenPoints, only_searched},
    Known{why::kCutLeavesRest, leaves_a_rest},
    Known{why::kFasterStep, only_searched},
    Known{why::kBlockNotDivided, blocks_do_not_divide},
    Known{why::kBlockPadding, only_searched},
    Known{why::kPiecesInSteps, only_searched},

    Known{why::kAxisShared, dims_share_axis},
    Known{why::kAxisRepeated, only_searched},
    Known{why::kAxisStep, moves_in_axis_steps},
    Known{why::kAxisTwice, only_searched},
    Known{why::kBothAxes, is_on_both_axes},
    Known{why::kDiagonal, only_searched},
    Known{why::kCyclicOnList, is_moved_on_device},
    Known{why::kCoresApart, only_searched},

    Known{why::kRunsInSticks, only_searched},
    Known{why::kApartInSticks, only_searched},

    Known{why::kGridRank, has_another_grid_rank},
    Known{why::kEmptyOnGrid, only_searched},
    Known{why::kLineLength, only_searched},
    Known{why::kInTwoLines, only_searched},
    Known{why::kLineOrder, only_searched},
    Known{why::kNoCollapse, only_searched},
    Known{why::kLineStride, only_searched},

    Known{why::kNoText, only_searched},
};

Mistake mistake_of(const Refused& refused, const Reason& reason) {
  for (const Known& known : kKnown) {
    if (known.reason != reason.name) continue;
    const Facts facts(reason);
    Mistake mistake = known.check(refused, facts);
    if (!facts.missing().empty()) return facts.missing();
    if (!mistake.empty() || !known.searched) return mistake;
    const bool found = finds_words(refused.notation, refused.positions) ||
                       finds_words(refused.notation, untiled(refused.positions));
    return found ? "a search finds words for it" : "";
  }
  return "nobody knows this reason";
}

}  // namespace

std::string refusal_mistake(const Refused& refused, std::span<const Reason> reasons) {
  if (reasons.empty()) return "a refusal without a reason";
  for (const Reason& reason : reasons) {
    const Mistake mistake = mistake_of(refused, reason);
    if (!mistake.empty()) return cat(reason.name, ": ", mistake);
  }
  return {};
}

}  // namespace tessera::test

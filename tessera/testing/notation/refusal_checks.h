// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/testing/notation/refusals_own.h"

/// Checks of what the reasons of several notations claim, by counting in the list of positions. The
/// holes are those of the reasons, in their order.
namespace tessera::test {

/// The positions of neighbours along a dim, pair by pair.
std::vector<std::pair<const RuleSpot*, const RuleSpot*>> neighbours(const Spots& spots,
                                                                    std::size_t dim);
/// Whether any step from an element to the next along the dim on the same places has this many
/// slots.
bool has_step(const Spots& spots, std::size_t dim, std::int64_t slots);

/// "element {i} is in slot {n}[ of {i}], not in slot {n}[ of {i}]": it is in the first.
Mistake is_elsewhere(const Refused& refused, const Holes& holes);
/// "element {i} is in slot {n}..", whatever follows.
Mistake is_at_first(const Refused& refused, const Holes& holes);
/// "an allocation of {n} slots ..".
Mistake allocates(const Refused& refused, const Holes& holes);
/// "an allocation of {n} slots where .. {n}": equal to the first number, different from the last.
Mistake allocates_otherwise(const Refused& refused, const Holes& holes);
/// "an allocation of {n} slots where the strides reach {n}": one past the last slot in use.
Mistake reaches_otherwise(const Refused& refused, const Holes& holes);
/// "an allocation of {n} slots for one element a PE".
Mistake allocates_for_one(const Refused& refused, const Holes& holes);
/// "an allocation of {n} elements for the {n} of dim {n}".
Mistake allocates_for_dim(const Refused& refused, const Holes& holes);
/// "an allocation of {n} slots with {n} from one element of dim {n} to the next".
Mistake allocates_with_steps(const Refused& refused, const Holes& holes);
/// "{n} from one element of dim {n} to the next, {n} along dim {n}".
Mistake steps_in_another_order(const Refused& refused, const Holes& holes);
/// "{n} slots .. along dim {n}".
Mistake steps_along(const Refused& refused, const Holes& holes);
Mistake is_partial(const Refused& refused, const Holes& holes);
/// "{w} stored as {w}".
Mistake is_stored_as(const Refused& refused, const Holes& holes);
/// "data that begin in slot {n}".
Mistake begins_in_slot(const Refused& refused, const Holes& holes);
/// "data that begin on place {i}".
Mistake begins_on_place(const Refused& refused, const Holes& holes);
/// "dims {n} and {n} ..": the position along one depends on the other.
Mistake are_entangled(const Refused& refused, const Holes& holes);
/// For reasons whose numbers come from the notation's own attempt, not from the tensor: the check
/// is that a search finds no text either.
Mistake only_searched(const Refused& refused, const Holes& holes);

}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tessera/testing/notation/refusals.h"

/// Checks of what reasons claim, by counting in the list of positions. The facts of each reason are
/// those of tessera/notation/raising/refusal.h.
namespace tessera::test {

/// What is wrong with a claim; empty when it holds.
using Mistake = std::string;

/// The facts of a reason. A fact that is missing, or not of the type that is asked for, is a
/// mistake of the reason.
class Facts {
 public:
  explicit Facts(const Reason& reason) : reason_(reason) {}

  std::int64_t operator[](std::string_view name) const;  ///< a number; 1 when it is missing
  std::size_t dim(std::string_view name) const;
  Numbers numbers(std::string_view name) const;
  std::string text(std::string_view name) const;
  bool has(std::string_view name) const { return reason_.find(name) != nullptr; }
  /// The facts that were asked for in vain.
  const Mistake& missing() const { return missing_; }

 private:
  void note(std::string_view name) const;

  const Reason& reason_;
  mutable Mistake missing_;
};

using Check = Mistake (*)(const Refused& refused, const Facts& facts);

// The kind of tensor.
Mistake is_padded(const Refused& refused, const Facts& facts);
Mistake has_empty_slots(const Refused& refused, const Facts& facts);
Mistake has_another_mesh_rank(const Refused& refused, const Facts& facts);
Mistake has_another_mesh(const Refused& refused, const Facts& facts);
Mistake has_another_rank(const Refused& refused, const Facts& facts);
Mistake is_partial(const Refused& refused, const Facts& facts);
Mistake has_shares(const Refused& refused, const Facts& facts);
Mistake is_replicated(const Refused& refused, const Facts& facts);
Mistake is_partly_repeated(const Refused& refused, const Facts& facts);
Mistake is_empty_with_copies(const Refused& refused, const Facts& facts);
Mistake is_tiled(const Refused& refused, const Facts& facts);
Mistake is_stored_as(const Refused& refused, const Facts& facts);
Mistake shares_slots(const Refused& refused, const Facts& facts);
Mistake has_boxes(const Refused& refused, const Facts& facts);
Mistake is_moved_on_device(const Refused& refused, const Facts& facts);
Mistake has_no_sticks(const Refused& refused, const Facts& facts);

// Single elements.
Mistake is_elsewhere(const Refused& refused, const Facts& facts);
Mistake does_not_share_slot(const Refused& refused, const Facts& facts);
Mistake begins_in_slot(const Refused& refused, const Facts& facts);
Mistake begins_on_place(const Refused& refused, const Facts& facts);
Mistake is_on_one_coordinate(const Refused& refused, const Facts& facts);
Mistake is_scalar_on_mesh(const Refused& refused, const Facts& facts);
Mistake has_other_devices(const Refused& refused, const Facts& facts);

// The number of slots.
Mistake allocates_otherwise(const Refused& refused, const Facts& facts);
Mistake allocates_beyond_reach(const Refused& refused, const Facts& facts);
Mistake allocates_for_nothing(const Refused& refused, const Facts& facts);
Mistake allocates_for_one(const Refused& refused, const Facts& facts);
Mistake allocates_less_than_steps(const Refused& refused, const Facts& facts);
Mistake allocates_part_of_step(const Refused& refused, const Facts& facts);
Mistake allocates_part_of_stick(const Refused& refused, const Facts& facts);
Mistake allocates_for_dim(const Refused& refused, const Facts& facts);
Mistake allocates_for_blocks(const Refused& refused, const Facts& facts);
Mistake allocates_another_shape(const Refused& refused, const Facts& facts);
Mistake divides_otherwise(const Refused& refused, const Facts& facts);

// Steps between elements.
Mistake runs_downward(const Refused& refused, const Facts& facts);
Mistake steps_down(const Refused& refused, const Facts& facts);
Mistake steps_along(const Refused& refused, const Facts& facts);
Mistake steps_in_another_order(const Refused& refused, const Facts& facts);
Mistake steps_do_not_divide(const Refused& refused, const Facts& facts);
Mistake steps_do_not_fit(const Refused& refused, const Facts& facts);
Mistake leaves_slots_empty(const Refused& refused, const Facts& facts);

// How dims are cut, and where they are on the mesh.
Mistake are_entangled(const Refused& refused, const Facts& facts);
Mistake leaves_a_rest(const Refused& refused, const Facts& facts);
Mistake blocks_do_not_divide(const Refused& refused, const Facts& facts);
Mistake dims_share_axis(const Refused& refused, const Facts& facts);
Mistake moves_in_axis_steps(const Refused& refused, const Facts& facts);
Mistake is_on_both_axes(const Refused& refused, const Facts& facts);
Mistake has_another_grid_rank(const Refused& refused, const Facts& facts);

/// For reasons whose numbers come from the notation's own attempt, not from the tensor: the check
/// is that a search finds no text either.
Mistake only_searched(const Refused& refused, const Facts& facts);

}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::notation {

/// The names of all reasons why a notation cannot express a tensor, and their facts. Notations
/// share them: one name is one kind of claim. Facts in parentheses are present only where they
/// apply. The facts of an attempt ("expected_") come from the nearest text of the notation, all
/// others from the tensor.
namespace why {

// The kind of tensor.
inline constexpr std::string_view kPaddedDim = "padded_dim";    ///< dim, extent, padded_extent
inline constexpr std::string_view kEmptySlots = "empty_slots";  ///< slots, elements; of all places
inline constexpr std::string_view kMeshRank = "mesh_rank";      ///< mesh, least_axes, most_axes
inline constexpr std::string_view kMeshShape = "mesh_shape";    ///< mesh, expected_mesh
inline constexpr std::string_view kTensorRank = "tensor_rank";  ///< rank, least_rank, most_rank
inline constexpr std::string_view kPartialResult = "partial_result";    ///< reduction, places
inline constexpr std::string_view kMixedCopies = "mixed_copies";        ///< axis
inline constexpr std::string_view kReplicated = "replicated";           ///< places, axis
inline constexpr std::string_view kPartlyRepeated = "partly_repeated";  ///< axis, coordinates, of
inline constexpr std::string_view kEmptyCopies = "empty_copies";        ///< copies
inline constexpr std::string_view kTiles = "tiles";                     ///< rows, cols
inline constexpr std::string_view kStoredAs = "stored_as";  ///< dtype, storage, expected_storage
inline constexpr std::string_view kSharedSlots = "shared_slots";    ///< no facts
inline constexpr std::string_view kBoxes = "boxes";                 ///< boxes
inline constexpr std::string_view kPaddingValue = "padding_value";  ///< no facts
inline constexpr std::string_view kMemorySpace = "memory_space";    ///< space
inline constexpr std::string_view kDeviceMap = "device_map";  ///< (index), (places), (rank), (most)
inline constexpr std::string_view kTextTooLong = "text_too_long";  ///< tiles
inline constexpr std::string_view kStickType = "stick_type";       ///< dtype

// One element. `place` and `copies` are given on meshes of several places.
/// index, slot, expected_slot, (place), (expected_place), (copies), (expected_copies)
inline constexpr std::string_view kElementElsewhere = "element_elsewhere";
/// first, second: two elements that the nearest text would put in one slot
inline constexpr std::string_view kSharedSlot = "shared_slot";
inline constexpr std::string_view kFirstSlot = "first_slot";          ///< slot of index 0
inline constexpr std::string_view kFirstPlace = "first_place";        ///< place of index 0
inline constexpr std::string_view kOneCoordinate = "one_coordinate";  ///< axis, coordinate
inline constexpr std::string_view kScalarOnMesh = "scalar_on_mesh";   ///< axis
inline constexpr std::string_view kDevices = "devices";               ///< devices, expected_devices

// The number of slots.
inline constexpr std::string_view kAllocation = "allocation";     ///< slots, expected_slots
inline constexpr std::string_view kBeyondReach = "beyond_reach";  ///< slots, reach
inline constexpr std::string_view kEmptyTensor = "empty_tensor";  ///< slots
inline constexpr std::string_view kOneElement = "one_element";    ///< slots
inline constexpr std::string_view kStepsTakeMore =
    "steps_take_more";                                                ///< slots, steps, step, taken
inline constexpr std::string_view kPartOfStep = "part_of_step";       ///< slots, step, dim
inline constexpr std::string_view kPartOfStick = "part_of_stick";     ///< slots, per_stick, dtype
inline constexpr std::string_view kDimAllocation = "dim_allocation";  ///< dim, extent, allocated
/// dim, allocated, block, places, expected
inline constexpr std::string_view kBlockAllocation = "block_allocation";
inline constexpr std::string_view kShardShape = "shard_shape";  ///< shape, expected_shape; in atoms
inline constexpr std::string_view kShardExtent = "shard_extent";  ///< axis, shard, places, expected

// Steps between elements.
inline constexpr std::string_view kRunsDownward = "runs_downward";       ///< dim
inline constexpr std::string_view kNegativeStep = "negative_step";       ///< dim, step
inline constexpr std::string_view kGaps = "gaps";                        ///< dim, step
inline constexpr std::string_view kStepNotCovered = "step_not_covered";  ///< dim, step, covered
/// dim, step, inner_dim, inner_step
inline constexpr std::string_view kNotRowMajor = "not_row_major";
inline constexpr std::string_view kStepsDoNotDivide = "steps_do_not_divide";  ///< step, outer_step
inline constexpr std::string_view kStepsDoNotFit = "steps_do_not_fit";  ///< steps, step, outer_step
inline constexpr std::string_view kStepsNotNested = "steps_not_nested";  ///< step, outer_step
inline constexpr std::string_view kEmptyBetween = "empty_between";       ///< empty, period
inline constexpr std::string_view kManyStrides = "many_strides";         ///< no facts
inline constexpr std::string_view kMixedStep = "mixed_step";             ///< no facts

// How dims are cut.
inline constexpr std::string_view kEntangledDims = "entangled_dims";  ///< dims
inline constexpr std::string_view kJoinedDims = "joined_dims";        ///< dims
inline constexpr std::string_view kCutInWays = "cut_in_ways";         ///< dim, ways
inline constexpr std::string_view kCutFrom = "cut_from";              ///< dim, start, step
inline constexpr std::string_view kUnevenPoints =
    "uneven_points";  ///< dim, points, expected_points
inline constexpr std::string_view kCutLeavesRest = "cut_leaves_rest";  ///< dim, elements, width
inline constexpr std::string_view kFasterStep = "faster_step";         ///< dim, width, slower_width
inline constexpr std::string_view kBlockNotDivided = "block_not_divided";  ///< dim, block, inner
inline constexpr std::string_view kBlockPadding = "block_padding";         ///< dim, block, padded
inline constexpr std::string_view kTooManyBlocks = "too_many_blocks";      ///< blocks, most
inline constexpr std::string_view kPiecesInSteps = "pieces_in_steps";      ///< piece, steps, width
inline constexpr std::string_view kDigitOrder = "digit_order";             ///< (digits), (tiles)

// Dims on the mesh.
inline constexpr std::string_view kAxisShared = "axis_shared";       ///< axis, dims
inline constexpr std::string_view kAxisRepeated = "axis_repeated";   ///< axis, dim
inline constexpr std::string_view kAxisStep = "axis_step";           ///< axis, dim, step
inline constexpr std::string_view kAxisTwice = "axis_twice";         ///< axis, dim
inline constexpr std::string_view kBothAxes = "both_axes";           ///< dim
inline constexpr std::string_view kDiagonal = "diagonal";            ///< dim
inline constexpr std::string_view kCyclicOnList = "cyclic_on_list";  ///< no facts
inline constexpr std::string_view kCoresApart = "cores_apart";       ///< step, outer_step
/// axis, devices, (dim, extent, per_device)
inline constexpr std::string_view kDeviceAxis = "device_axis";

// Sticks of Spyre.
inline constexpr std::string_view kRunsInSticks = "runs_in_sticks";    ///< run, per_stick
inline constexpr std::string_view kApartInSticks = "apart_in_sticks";  ///< slots, per_stick
inline constexpr std::string_view kNoRowMajor = "no_row_major";        ///< per_stick

// Lines of the metal attributes.
inline constexpr std::string_view kGridRank = "grid_rank";         ///< grid_rank, lines
inline constexpr std::string_view kEmptyOnGrid = "empty_on_grid";  ///< rank, grid_rank
inline constexpr std::string_view kLineLength = "line_length";     ///< dim, length, needed
inline constexpr std::string_view kInTwoLines = "in_two_lines";    ///< dim
inline constexpr std::string_view kLineOrder = "line_order";       ///< dim, line, expected_line
inline constexpr std::string_view kNoCollapse = "no_collapse";     ///< line
inline constexpr std::string_view kLineStride = "line_stride";     ///< dim, stride, expected_stride
inline constexpr std::string_view kTilesOnAxis = "tiles_on_axis";  ///< no facts

/// code: the error of the nearest text of the notation
inline constexpr std::string_view kNoText = "no_text";

}  // namespace why

template <std::integral Number>
Fact fact(std::string_view name, Number value) {
  return {name, static_cast<std::int64_t>(value)};
}
inline Fact fact(std::string_view name, std::vector<std::int64_t> values) {
  return {name, std::move(values)};
}
inline Fact fact(std::string_view name, std::string_view text) { return {name, std::string(text)}; }

/// A list of two numbers.
template <std::integral First, std::integral Second>
Fact fact(std::string_view name, First first, Second second) {
  return {name, std::vector{static_cast<std::int64_t>(first), static_cast<std::int64_t>(second)}};
}

/// What a notation cannot express, in words and as a reason.
struct Obstacle {
  std::string words;
  Reason reason;
};

/// An obstacle whose words contain its facts: "{slot}" is a number or a word, "{index}" a list as
/// [0, 1], "{shape:x}" a list as 3x2, "{dims:and}" a list as 0 and 1. Braces around anything else
/// stay: notations have braces, too.
/// Example: obstacle(why::kFirstSlot, "an offset of {slot} slots", {fact("slot", 5)}).
Obstacle obstacle(std::string_view reason, std::string_view words, std::vector<Fact> facts = {});

/// The obstacle of an error: its message after `before`, with the first of its reasons. An error
/// without reasons is that of a text that the notation does not accept (why::kNoText).
Obstacle obstacle_of(const Error& error, std::string_view before = "");

/// The obstacle as an error, for a function that does not know the notation.
Error as_error(Obstacle what);

/// "NOTATION cannot express WORDS" (kNotSupported).
Error cannot_express(std::string_view notation, Obstacle what,
                     std::string_view help = "the native notation can");

}  // namespace tessera::notation

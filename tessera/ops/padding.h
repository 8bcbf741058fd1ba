// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/op.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/padding/state.h"

namespace tessera::ops {

// =================================================================================================
// Padding as dataflow
//
// Tiles, sticks and shards store a tensor in a larger one, and kernels compute on all of it. What
// an op needs of the padding and what it leaves there follow from its loops. Padding at the end of
// a dim with extent 5 makes the factor of the dim run to 8:
//
//   pass     iterations beyond 5 make elements beyond the output's extent: nothing is needed, and
//            what they make is the op applied to the padding (exp of 0 leaves 1)
//   reduce   iterations beyond 5 contribute to elements inside: they must be neutral. In a product
//            one operand is 0 and the others are finite, because 0·NaN is NaN
//   whole    the same where the op has a neutral number (-inf for a softmax); else the padding must
//            not be there (a mean counts its elements)
//   window   what reaches beyond the end finds padding instead of nothing: it must be neutral
//
// This holds for a factor that is the whole index of a dim in every operand that has it. A dim
// whose index is composed of several factors (a reshape that splits it, the axis of a concat) has
// padding in the wrong places of the result unless the kernel stops at the extent: "exact". A
// factor that some operand has without padding also stops at the extent, and reads no padding.
//
// Elements of tensors are taken to be finite, and indices to count from the beginning: one that
// counts from the end would begin in the padding.
//
// Laws, which the tests check by evaluating ops on padded tensors:
//   1. if every need is met, the elements inside the extents of the outputs are right, whatever
//      the padding has that its state allows;
//   2. the padding of the outputs then is as its state says;
//   3. a need that is not met makes some result wrong.
// =================================================================================================

/// What a call needs of the padding of its inputs, and what it leaves in its outputs.
struct PaddingFlow {
  /// Per input and dim. Empty for inputs that are left out.
  std::vector<std::vector<PaddingNeed>> needs;
  /// Per output and dim, if the needs are met; undef where the op writes nothing.
  std::vector<PaddingStates> outputs;
  /// The inputs after a refill of what does not meet its need.
  std::vector<PaddingStates> refilled;

  friend bool operator==(const PaddingFlow&, const PaddingFlow&) = default;
};

/// The flow through one call, given the state of each input per dim (an empty list for an input
/// that is left out). Where several combinations of needs would do, as in products, the one that
/// refills least is chosen, then the one that makes a later input 0. kShapeMismatch for states of
/// another number of inputs or dims.
/// Example: matmul of A[5, 7] and B[7, 3] whose padding is undef along all dims needs 0 along k of
/// both: 0 in B, and no NaNs in A, which a refill removes.
Result<PaddingFlow> padding_of(const graph::Call& call, const graph::Types& outputs,
                               const Loops& loops, const std::vector<PaddingStates>& inputs);

/// A refill that a graph needs: before `node` runs, all padding of `value` along `dim` becomes
/// `number`. Later readers find it there.
struct Refill {
  std::size_t node = 0;
  graph::ValueId value = 0;
  std::size_t dim = 0;
  double number = 0;
  friend bool operator==(const Refill&, const Refill&) = default;
};

/// A kernel that has to stop at the extent of its input along `dim`, which has padding.
struct Masked {
  std::size_t node = 0;
  std::size_t input = 0;
  std::size_t dim = 0;
  friend bool operator==(const Masked&, const Masked&) = default;
};

struct PaddingPlan {
  std::vector<PaddingStates> values;  ///< as their producers leave them, or as they were given
  std::vector<Refill> refills;        ///< in the order of the nodes
  std::vector<Masked> masked;
};

/// What has to be inserted in a graph so that all its results are right: a refill or a mask only
/// where a node reads padding that does not meet its need. `given` has a state per value and dim:
/// for inputs, parameters and constants what their padding is; for computed values only whether
/// there is padding (absent, or anything else), which is for their layouts to say. An op without
/// loops needs exact inputs. Errors: those of padding_of.
Result<PaddingPlan> plan_padding(const graph::Graph& graph,
                                 const std::vector<PaddingStates>& given);

}  // namespace tessera::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/ops/padding.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::test {

/// How many elements of padding follow each dim of each input.
using PadSizes = std::vector<std::vector<std::int64_t>>;

/// The call on larger tensors: elements beyond an extent are as the states say, numbers otherwise
/// at random; NaNs, infinities and huge numbers where nothing is known. Attributes that state
/// extents state the larger ones.
OpCase padded_call(Dice& dice, const OpCase& made, const ops::Loops& loops, const PadSizes& sizes,
                   const std::vector<ops::PaddingStates>& states);

/// Padding along some dims, the same along dims that one loop runs over.
PadSizes random_padding(Dice& dice, const OpCase& made, const ops::Loops& loops);

/// What padding does in a call (ops::padding_of), so that tests can tell the laws something wrong.
using PaddingRule = std::function<Result<ops::PaddingFlow>(const graph::Call&, const graph::Types&,
                                                           const ops::Loops&,
                                                           const std::vector<ops::PaddingStates>&)>;

/// Padding that loops run over, and what is in it.
struct PaddingRead {
  PadSizes sizes;
  std::vector<ops::PaddingStates> states;
};
/// Of padding of these sizes, in which nothing is known, that over which loops run: as far as all
/// dims of one loop are padded, and none where the call needs the exact extent. It is as bad as it
/// may be after what the call needs has been refilled.
Result<PaddingRead> padding_read(const OpCase& made, const ops::Loops& loops, PadSizes sizes,
                                 const PaddingRule& rule);

/// What differs between the results of a call and the beginning of those on padded tensors, or "".
/// A call that is not valid, or would read outside a tensor, is a difference.
std::string difference(const OpCase& made, const OpCase& padded);

/// Laws 1 and 2 of padding.h for random padding in random states. Returns what is wrong, or "".
std::string padding_law(Dice& dice, const OpCase& made, const ops::Loops& loops);

/// A need of an op, as text, and whether a case was seen that goes wrong without it.
using Witnesses = std::map<std::string, bool>;

/// Law 3: violates each need of a random case alone and notes which made a result wrong. Exact
/// needs are tried with several numbers, each of which must fail in some case.
void try_without(Dice& dice, const OpCase& made, const ops::Loops& loops, Witnesses& seen);

}  // namespace tessera::test

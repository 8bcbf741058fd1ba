// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tessera/ops/propagate.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/ops/padding_law.h"
#include "tessera/testing/ops/random_calls.h"

namespace tessera::test {

/// A layout as people write them, on this mesh: each mesh axis cuts a dim into blocks (or deals
/// blocks round robin), or holds replicas, or is fixed at a coordinate. Memory is row-major.
Layout random_division(Dice& dice, const graph::TensorType& type, const Shape& mesh);

/// The law of an answer, by enumeration. If it is legal, every place computes its iterations from
/// tensors in which all is poisoned that its memory does not hold and the stated halos do not bring
/// (held.h); of an input in shares it has its share. The elements where the output layouts say,
/// reduced over partial axes, are those of the op. The results are the same on the slots that the
/// place allocates, whose padding is as bad as what the op needs of it allows (place_slots.h). If
/// it is not legal although there is a work map, some place lacks what it reads, even with the
/// halos, or what it should make. `rule` says what the op needs of padding. Returns what is wrong,
/// or "".
std::string propagate_law(const OpCase& made, const ops::Question& question,
                          const ops::Answer& answer, const PaddingRule& rule = ops::padding_of);

}  // namespace tessera::test

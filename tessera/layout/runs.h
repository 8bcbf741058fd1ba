// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/layout/layout.h"

namespace tessera {

/// Visit the elements in row-major order (or in `order`: dims from slowest to fastest). Element n
/// of this sequence *breaks* it if it is not in the slot right after element n-1 on the same place.

/// The largest R such that every break is at a multiple of R: elements [kR, (k+1)R) of the sequence
/// are contiguous. The number of elements if there are no breaks.
/// Example: rows cut by (18, 32, 1) break at 18 and 36: the run is 18. Tiles of 3 rows inside packs
/// of 4 break after every 3 rows: the run is 3, and the tile as a whole is not contiguous.
Result<std::int64_t> contiguous_run(const Form& form);
Result<std::int64_t> contiguous_run(const Form& form, const std::vector<int>& order);

/// Whether all elements, in row-major order, are in consecutive slots of one place.
Result<bool> is_contiguous(const Form& form);

/// The largest power of two V such that V elements take at most `max_bytes`, and the sequence
/// consists of whole groups of V elements in V consecutive slots, the first of which is a multiple
/// of V. Partial runs count: a last run of 17 allows only V = 1. At least 1; 1 for block floats.
Result<std::int64_t> vector_width(const Form& form, const Atom& atom, std::int64_t max_bytes);

/// Whether slot(x) = offset + Σ stride[i]·x[i], all elements on one place, without replicas.
Result<bool> is_strided(const Form& form);
/// Those strides (0 for dims of extent 1 or less), or kNotSupported if there are none.
Result<std::vector<std::int64_t>> strides_of(const Form& form);

}  // namespace tessera

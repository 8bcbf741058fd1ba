// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/layout/lines.h"

namespace tessera {

/// Whether two forms put every element in the same slot of the same set of places.
struct Comparison {
  bool equal = true;
  std::optional<Index> first_difference;  ///< the row-major smallest index that differs
};

/// Exact for every pair of forms. Padding, allocation, element type and memory space are ignored.
/// Replicas compare as sets. A partial sum never equals a copy.
/// Law: equal ⇔ no index differs; else first_difference differs and every smaller index agrees.
/// Errors: kShapeMismatch; kMeshMismatch if the ranks of the meshes differ, unless both meshes have
/// a single place.
Result<Comparison> same_function(const Form& a, const Form& b);

/// The same for canonical lines, without replicas: the row-major smallest index at which they
/// differ, or empty. Both must number their places in the same mesh.
Result<std::optional<Index>> first_difference(Lines a, Lines b);

/// The number of elements whose slot or places differ between `a` and `b`.
/// Law: 0 ⇔ same_function. Error kTooLarge if counting would take more than 2^22 steps.
Result<std::int64_t> moved_elements(const Form& a, const Form& b);

/// Whether every place that holds an element in `to` already holds it in `from`, so that no data
/// moves between places (slots may still change). A partial sum needs its reduction, unless both
/// forms are partial in the same way.
Result<bool> compatible_without_movement(const Form& from, const Form& to);

/// Law: same_function(a, b) ⇒ function_hash(a) == function_hash(b), even if the descriptions
/// differ.
Result<std::uint64_t> function_hash(const Form& form);

/// Whether two different indices share a slot of a place, and if so, which.
struct Injectivity {
  bool injective = true;
  std::optional<std::pair<Index, Index>> collision;  ///< first < second, row-major
};

/// Law: injective ⇔ no two indices share a (place, slot); else `collision` does. Error kTooLarge if
/// the strides are so entangled that 2^24 digits do not decide it.
Result<Injectivity> is_injective(const Form& form);

/// kNotInjective, naming two elements, if elements share a slot and so cannot all be written.
Status check_writable(const Form& form);

}  // namespace tessera

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

/// Exact for every pair of forms. Padding, allocation, element type and memory space play no part;
/// replicas compare as sets; a partial sum is never the same as a copy.
/// Law: equal ⇔ no index differs; else first_difference differs and every smaller index agrees.
/// Errors: kShapeMismatch; kMeshMismatch when the meshes' ranks differ and are not both one place.
Result<Comparison> same_function(const Form& a, const Form& b);

/// The same for functions alone, without replicas: the row-major smallest index at which they
/// differ, or nothing. Both count places in one mesh.
Result<std::optional<Index>> first_difference(Lines a, Lines b);

/// How many elements live in another slot or on other places in `b` than in `a`.
/// Law: 0 ⇔ same_function. Error kTooLarge when the count would need more than 2^22 steps.
Result<std::int64_t> moved_elements(const Form& a, const Form& b);

/// Whether every place that must hold an element in `to` holds it already in `from`, so that no
/// data cross between places (slots may still change). A partial sum needs its reduction unless
/// both are partial alike.
Result<bool> compatible_without_movement(const Form& from, const Form& to);

/// Law: same_function(a, b) ⇒ function_hash(a) == function_hash(b), whatever the description.
Result<std::uint64_t> function_hash(const Form& form);

/// Whether two different indices share a slot of a place; if so, which.
struct Injectivity {
  bool injective = true;
  std::optional<std::pair<Index, Index>> collision;  ///< first < second, row-major
};

/// Law: injective ⇔ no two indices share a (place, slot); else `collision` does.
/// Error kTooLarge when strides are so entangled that 2^24 digits do not decide it.
Result<Injectivity> is_injective(const Form& form);

/// kNotInjective, naming two elements, when elements share a slot, so that not each can be written.
Status check_writable(const Form& form);

}  // namespace tessera

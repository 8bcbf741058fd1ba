// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/layout/layout.h"

/// testing/: the references that tests compare the library with. Layouts and random choices come
/// in; expected contents and broken laws, as text, go out. The reference must not call an operation
/// of layout/: it reads the plain structs and follows DESIGN section 1 literally, by loops over
/// every index and every tuple of digits.
namespace tessera::test {

/// Where one element is stored: the places of all replicas, sorted and without repeats, and the
/// slot.
struct NaivePosition {
  Place first;                ///< all replica coordinates zero
  std::vector<Place> places;  ///< sorted
  std::int64_t slot = 0;
  friend bool operator==(const NaivePosition& a, const NaivePosition& b) {
    return a.places == b.places && a.slot == b.slot;
  }
};

/// Straight from the definition: fold, cut, place, one division after another.
NaivePosition naive_evaluate(const Form& form, const Index& index);

/// naive_evaluate of every index, in row-major order.
std::vector<NaivePosition> naive_map(const Form& form);

/// What distinguishes partial sums from copies: for each reduction, the set of coordinate offsets
/// whose shares are combined. Empty when nothing is partial.
std::map<Reduction, std::vector<Place>> naive_partials(const Form& form);

/// The extents that the naive loops need: E of a fold's line, and the needed count of each digit.
std::int64_t naive_extent(const Fold& fold, const Shape& shape);
std::vector<std::int64_t> naive_needed(const Fold& fold, const Shape& shape);

/// Every slot of every place, as element_at must return it.
struct Picture {
  Shape mesh;
  std::int64_t slots = 0;
  /// For place number q (row-major) and slot s, at q·slots + s: the row-major number of the
  /// element, or -1 - cause.
  std::vector<std::int64_t> content;

  std::int64_t at(std::int64_t place, std::int64_t slot) const {
    return content[static_cast<std::size_t>(place * slots + slot)];
  }
};

/// The picture of a layout with `slots` slots per place, by brute force over all allocated digits:
///   - a slot that no tuple of memory digits reaches is a gap;
///   - else a place that no tuple of mesh digits and fills reaches is grid;
///   - else within each fold the innermost failed test decides: Σ_{l>k} d_l·w_l < w_k (w_0 = E), by
///     the cause of the digit after boundary k; a line position that no index has is a gap;
///     across folds the first cause counts; folds that pass alone but not together are a gap;
///   - digits placed nowhere take all their needed values: data if any gives data, else the last
///     cause.
Picture naive_picture(const Form& form, std::int64_t slots);

/// Whether the form is a layout: indices never share a slot, and no two settings of the allocated
/// digits (replicas included, digits without values left out) meet. Only for well-formed forms.
struct NaiveValidity {
  bool indices_injective = true;
  bool digits_injective = true;
  bool ok() const { return indices_injective && digits_injective; }
};
NaiveValidity naive_validity(const Form& form);

/// One past the largest slot that allocated digits reach, 0 when a digit in memory has no values.
std::int64_t naive_reach(const Form& form);

/// A form as one line of text, for messages: shape, mesh, folds, fills, offset.
std::string describe(const Form& form);

}  // namespace tessera::test

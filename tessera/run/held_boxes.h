// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/algebra/replicas.h"
#include "tessera/layout/layout.h"
#include "tessera/run/local_boxes.h"

namespace tessera::run {

/// What the places of a layout hold, prepared once for questions about many places.
///
/// Where every dim has a line and mesh axes of its own, a place holds a product over dims: ranges
/// of dim d that depend only on the coordinates along the axes of d. These are listed once. With
/// other layouts (dims that are joined, or that drive one axis together) every question is answered
/// anew.
///
/// Law: at(place) is what local_boxes gives, perhaps in fewer boxes; without slots, their boxes.
/// Example: [6, 8] on Grid(2, 2): rows [0, 3) or [3, 6) by the first coordinate, columns by the
/// second. Place (1, 0) holds the box of rows [3, 6) and columns [0, 4).
class HeldBoxes {
 public:
  /// Whether boxes are asked for with their slots. Without, they are as few as elements allow, and
  /// `first` and `steps` are 0.
  enum class Slots : std::uint8_t { kAsked, kLeftOut };
  explicit HeldBoxes(const Layout& layout, Slots slots = Slots::kAsked);

  /// Errors: those of local_boxes.
  Result<std::vector<LocalBox>> at(const Place& place) const;

 private:
  /// Elements [from, to) of a dim, in slots slot + (x - from)·step.
  struct Range {
    std::int64_t from = 0;
    std::int64_t to = 0;
    std::int64_t slot = 0;
    std::int64_t step = 0;
  };
  /// The ranges of a dim by the coordinates along its axes: those of number n are
  /// [first[n], first[n + 1]), where n = Σ coordinate·stride.
  struct Dim {
    std::vector<std::size_t> axes;
    std::vector<std::int64_t> strides;
    std::vector<std::size_t> first;
    std::vector<Range> ranges;
  };

  std::optional<std::vector<std::size_t>> folds_of_dims() const;
  bool list();
  void list_dim(const Fold* fold, std::size_t dim);
  bool holds_any(const Place& place) const;

  Layout layout_;
  bool with_slots_ = true;
  bool is_listed_ = false;
  std::vector<std::int64_t> base_;  ///< per mesh axis: the coordinate where all digits are zero
  std::vector<bool> is_driven_;     ///< per mesh axis: by a dim
  std::vector<OffsetSet> copies_;   ///< per mesh axis: where each element is again
  std::int64_t base_slot_ = 0;
  std::vector<Dim> dims_;
};

}  // namespace tessera::run

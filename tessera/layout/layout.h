// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/layout/atom.h"
#include "tessera/layout/device_map.h"
#include "tessera/layout/fold.h"
#include "tessera/layout/form.h"

namespace tessera {

// =================================================================================================
// What a layout is
//
// A tensor of shape N has elements at indices x. A layout says on which places of a mesh, and in
// which slot of their memory, each element lives. It does so in three movements:
//
//   fold   join dims into a line           p = start + Σ coef[i]·x[i]
//   cut    divide, keep the remainder      d_k = v div w_k,  v := v mod w_k      widths w_1 .. w_n
//   = 1 place  give each digit a home          mesh axis, memory, or nothing, with a stride
//
//   coordinate on mesh axis a = Σ d·stride over the digits placed on a
//   slot                      = offset + Σ d·stride over the digits placed in memory
//
// A worked table. Row x0 of 53 rows, cut by (18, 32, 1): 18 rows a core on 3 cores, kept in 32-row
// tiles of one core each. 32 does not divide 18, so no mixed radix can say this; a chain can.
//
//     x0    d1 = x0 div 18   v     d2 = v div 32   v     d3 = v     lives on core   in tile row
//      0          0           0         0           0      0             0              0
//     17          0          17         0          17     17             0             17
//     18          1           0         0           0      0             1              0
//     40          2           4         0           4      4             2              4
//     52          2          16         0          16     16             2             16
//
// Three sizes are kept apart everywhere: the logical extent (53), what is needed (3 cores of 18
// rows), and what is allocated (`count`: 3 cores of one 32-row tile). Slots that are allocated but
// hold no element are padding, and each knows its cause: tile row 18 of core 0 is padding because
// of the tile; tile row 17 of core 2 because the grid does not divide 53.
//
// From simple to strange, each the list of its folds:
//
//   row-major [4, 6]           {x0} by (1 in memory·6)              {x1} by (1 in memory·1)
//   column-major               {x0} by (1 in memory·1)              {x1} by (1 in memory·4)
//   4-wide blocks of columns   {x0} by (1 in memory·4)              {x1} by (4 in memory·24, 1 in
//   memory·1) rows over 2 places         {x0} by (2 on axis 0, 1 in memory·6) {x1} by (1 in
//   memory·1) block-cyclic, 2-row blocks {x0} by (4 in memory·12, 2 on axis 0, 1 in memory·6)  ..
//   all dims over a 1-D mesh   {6·x0 + x1} by (5 on axis 0, 1 in memory·1)
//   odd-even 16                {x0} by (16 in memory·16, 2 in memory·1, 1 in memory·8)
//   tt-mlir 53x63 on 3x2       {x0} by (18 on axis 0, 32 in memory·1024, 1 in memory·32)
//                              {x1} by (32 on axis 1, 32 in memory·1024, 1 in memory·1)
//   sparse sticks              a fold {} by (1 in memory·1) of count 64: one value of 64 is data
//
// The law that everything else is tested against:
//
//     locate(x) = (places, slot)  ⇔  element_at(place, slot) = x  for each of those places,
//
// no two indices share a slot of a place, and every other slot of the allocation is padding.
// =================================================================================================

/// The value that padding holds, when the layout promises one.
struct PaddingValue {
  enum class Kind : std::uint8_t { kUndef, kNumber };  // infinities are numbers
  Kind kind = Kind::kUndef;
  double number = 0;
  static PaddingValue undef() { return {}; }
  static PaddingValue of(double number) { return {Kind::kNumber, number}; }
  friend bool operator==(const PaddingValue&, const PaddingValue&) = default;
};

/// Everything a Layout is made from, as plain fields. Not yet checked: `Layout::make` does that.
struct LayoutSpec {
  Form form;
  DType dtype = DType::kF32;  ///< the tensor's element type; the atom names the one in memory
  Atom atom;
  DeviceMap device_map;
  PaddingValue padding;
  std::string space;                  ///< memory space: "l1", "dram", ..; empty when unsaid
  std::optional<std::int64_t> slots;  ///< slots allocated a place; unsaid means `form.reach()`

  friend bool operator==(const LayoutSpec&, const LayoutSpec&) = default;
};

/// Where an element lives.
struct Location {
  std::vector<Place> places;         ///< one, or one for each replica
  std::int64_t slot = 0;             ///< counted in elements inside a place
  std::optional<std::int64_t> byte;  ///< nothing inside block-float tiles
};

/// A slot without an element, and why.
struct Padding {
  Cause cause = Cause::kGap;
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// What a slot holds.
using Slot = std::variant<Index, Padding>;

class Decoder;

/// A checked layout: owns its memory, is injective, and never changes. See the essay above.
class Layout {
 public:
  /// A layout, or what is wrong with the spec. Besides `Form::check`: the atom fits its type and
  /// divides the allocation, slots cover what the digits reach, the device map is one-to-one, and
  /// the allocated digits are injective; two indices that collide are named in the error.
  static Result<Layout> make(LayoutSpec spec);

  /// Row-major (or any other order of dims, slowest first) on a single place.
  static Result<Layout> row_major(const Shape& shape, DType dtype);
  static Result<Layout> strided(const Shape& shape, DType dtype,
                                const std::vector<std::int64_t>& strides, std::int64_t offset = 0);

  const LayoutSpec& spec() const { return spec_; }
  const Form& form() const { return spec_.form; }
  /// Questions about the function alone take a Form; a Layout is one.
  operator const Form&() const { return spec_.form; }
  const Shape& shape() const { return spec_.form.shape; }
  const Shape& mesh() const { return spec_.form.mesh; }
  DType dtype() const { return spec_.dtype; }
  const Atom& atom() const { return spec_.atom; }

  /// Slots allocated on every place, in elements.
  std::int64_t slots() const { return slots_; }
  std::int64_t shard_bytes() const { return shard_bytes_; }
  std::int64_t places() const { return spec_.form.mesh.elements(); }
  std::int64_t allocated_bytes() const { return shard_bytes_ * places(); }

  /// The places, slot and byte of the element at `index`. kTooLarge for more than 2^24 replicas.
  /// Example: 53x63 on 3x2 with 32x32 tiles: locate({40, 33}) = place {2, 1}, slot 4·32 + 1.
  Result<Location> locate(const Index& index) const;

  /// The logical index stored in `slot` of `place`, or why there is none.
  /// Law: locate(x) = (places, slot)  ⇔  element_at(place, slot) = x for each of the places.
  /// A slot outside the allocation, or a place outside the mesh, is an error; so is (kTooLarge) a
  /// question that takes more than 2^22 steps, which only strides that do not nest or unplaced
  /// digits of very many values can ask.
  /// Example: 53x63 on 3x2 with 32x32 tiles: element_at({0, 0}, 18·32) = Padding{Cause::kTile}.
  Result<Slot> element_at(const Place& place, std::int64_t slot) const;

  /// Equal as descriptions. For equality as functions see `same_function`.
  friend bool operator==(const Layout& a, const Layout& b) { return a.spec_ == b.spec_; }

 private:
  explicit Layout(LayoutSpec spec) : spec_(std::move(spec)) {}
  LayoutSpec spec_;
  std::int64_t slots_ = 0;
  std::int64_t shard_bytes_ = 0;
  std::shared_ptr<const Decoder> decoder_;  // for element_at; shared, because it never changes
};

/// The location of an index by a form alone, as layouts and views answer it.
Result<Location> locate_in(const Form& form, const Atom& atom, const Index& index);

/// Slot offset + Σ stride[i]·x[i] of a single place. Strides may be zero or negative.
Result<Form> strided_form(const Shape& shape, const std::vector<std::int64_t>& strides,
                          std::int64_t offset);

/// The bytes that `slots` slots take on each place of a form, whose data they must hold in whole
/// atoms: kSlotsTooFew, kBadAtom, kOverflow.
Result<std::int64_t> allocated_bytes_of(const Form& form, const Atom& atom, std::int64_t slots);

/// kOutOfRange unless `place` is on the mesh and `slot` is one of its `slots`.
Status check_spot(const Shape& mesh, std::int64_t slots, const Place& place, std::int64_t slot);

}  // namespace tessera

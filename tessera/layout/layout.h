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
#include "tessera/layout/device_map.h"
#include "tessera/layout/form.h"

namespace tessera {

/// The unit of storage: a scalar, or a tile of rows x cols elements whose bytes belong together.
/// The storage type may differ from the tensor's element type (f32 stored as bfp_bf8 tiles).
struct Atom {
  DType storage = DType::kF32;
  std::int64_t rows = 1;
  std::int64_t cols = 1;

  static Atom scalar(DType storage) { return {storage, 1, 1}; }
  static Atom tile(std::int64_t rows, std::int64_t cols, DType storage) {
    return {storage, rows, cols};
  }
  friend bool operator==(const Atom&, const Atom&) = default;

  bool is_tile() const { return rows * cols > 1; }
  std::int64_t elements() const { return rows * cols; }
  /// Checks that rows and cols are positive, and 32x32 if the storage type is a block float.
  Status check() const;

  /// Bytes of `slots` slots, rounded up to whole bytes; empty on overflow.
  std::optional<std::int64_t> bytes(std::int64_t slots) const;
  /// The byte at which `slot` begins; empty for block floats, whose elements have no byte address.
  std::optional<std::int64_t> byte_of(std::int64_t slot) const;
};

// clang-format off
// =================================================================================================
// What a layout is
//
// A tensor of shape N has elements at indices x. A layout states on which places of a mesh, and in
// which slot of their memory, each element is stored. It is computed in three steps:
//
//   fold    join dims into a line                 p = start + Σ coef[i]·x[i]
//   cut     divide the line into digits           v := p;  for each width w_k:
//                                                   d_k = v div w_k,  v := v mod w_k
//                                                 the widths are w_1 .. w_n, and w_n = 1
//   place   assign each digit a target            a mesh axis or memory, with a stride, or nothing
//
//   coordinate on mesh axis a = Σ d·stride over the digits placed on a
//   slot                      = offset + Σ d·stride over the digits placed in memory
//
// A worked table: 53 rows cut by (18, 32, 1). Each of 3 cores holds 18 rows, stored in one 32-row
// tile per core. 32 does not divide 18, so a mixed radix cannot express this. A chain of cuts can.
//
//     x0    d1 = x0 div 18   v     d2 = v div 32   v     d3 = v     on core         in tile row
//      0          0           0         0           0      0             0              0
//     17          0          17         0          17     17             0             17
//     18          1           0         0           0      0             1              0
//     40          2           4         0           4      4             2              4
//     52          2          16         0          16     16             2             16
//
// Tessera always distinguishes three sizes: the logical extent (53), the needed size (3 cores of
// 18 rows), and the allocated size (`count`: 3 cores of one 32-row tile). Allocated slots that hold
// no element are padding, and every padding slot has a cause. Tile row 18 of core 0 is padding
// because of the tile. Tile row 17 of core 2 is padding because the grid does not divide 53.
//
// Examples from simple to complex. A fold is written as {line} by (width target·stride, ..):
//
//   row-major [4, 6]            {x0} by (1 in memory·6)
//                               {x1} by (1 in memory·1)
//   column-major                {x0} by (1 in memory·1)
//                               {x1} by (1 in memory·4)
//   4-wide column blocks [6, 8] {x0} by (1 in memory·4)
//                               {x1} by (4 in memory·24, 1 in memory·1)
//   rows over 2 places          {x0} by (2 on axis 0, 1 in memory·6)
//                               {x1} by (1 in memory·1)
//   block-cyclic, 2-row blocks  {x0} by (4 in memory·12, 2 on axis 0, 1 in memory·6)
//                               {x1} by (1 in memory·1)
//   all dims over a 1-D mesh    {6·x0 + x1} by (5 on axis 0, 1 in memory·1)
//   odd-even 16                 {x0} by (16 in memory·16, 2 in memory·1, 1 in memory·8)
//   tt-mlir 53x63 on 3x2        {x0} by (18 on axis 0, 32 in memory·1024, 1 in memory·32)
//                               {x1} by (32 on axis 1, 32 in memory·1024, 1 in memory·1)
//   sparse sticks               {} by (1 in memory·1) of count 64: one value of 64 is data
//
// All other code is tested against this law:
//
//     locate(x) = (places, slot)  ⇔  element_at(place, slot) = x  for each of those places,
//
// no two indices share a slot of a place, and every other slot of the allocation is padding.
// =================================================================================================
// clang-format on

/// The value of padding slots, if the layout defines one.
struct PaddingValue {
  enum class Kind : std::uint8_t { kUndef, kNumber };  // infinities are numbers
  Kind kind = Kind::kUndef;
  double number = 0;
  static PaddingValue undef() { return {}; }
  static PaddingValue of(double number) { return {Kind::kNumber, number}; }
  friend bool operator==(const PaddingValue&, const PaddingValue&) = default;
};

/// The fields of a Layout, not yet checked. `Layout::make` checks them.
struct LayoutSpec {
  Form form;
  DType dtype = DType::kF32;  ///< the tensor's element type; the atom has the storage type
  Atom atom;
  DeviceMap device_map;
  PaddingValue padding;
  std::string space;                  ///< memory space: "l1", "dram", ..; empty if not given
  std::optional<std::int64_t> slots;  ///< slots allocated per place; default `form.reach()`

  friend bool operator==(const LayoutSpec&, const LayoutSpec&) = default;
};

/// Where an element is stored.
struct Location {
  std::vector<Place> places;         ///< one, or one per replica
  std::int64_t slot = 0;             ///< position inside the place, in elements
  std::optional<std::int64_t> byte;  ///< empty inside block-float tiles
};

/// A slot without an element, and the cause.
struct Padding {
  Cause cause = Cause::kGap;
  friend bool operator==(const Padding&, const Padding&) = default;
};

/// What a slot holds.
using Slot = std::variant<Index, Padding>;

class Decoder;

/// A checked layout: it owns its memory, is injective, and is immutable. See the essay above.
class Layout {
 public:
  /// Makes a layout, or returns what is wrong with the spec. Checks `Form::check`, and that the
  /// atom fits its type and divides the allocation, the slots cover what the digits reach, the
  /// device map is one-to-one, and the allocated digits are injective. The error names two indices
  /// that collide.
  static Result<Layout> make(LayoutSpec spec);

  /// Row-major, or with the given strides, on a single place.
  static Result<Layout> row_major(const Shape& shape, DType dtype);
  static Result<Layout> strided(const Shape& shape, DType dtype,
                                const std::vector<std::int64_t>& strides, std::int64_t offset = 0);

  const LayoutSpec& spec() const { return spec_; }
  const Form& form() const { return spec_.form; }
  /// Functions that need only the mapping take a Form; a Layout converts to one.
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

  /// The logical index stored in `slot` of `place`, or the cause of the padding.
  /// Law: locate(x) = (places, slot)  ⇔  element_at(place, slot) = x for each of the places. A slot
  /// outside the allocation or a place outside the mesh is an error. kTooLarge if the search takes
  /// more than 2^22 steps, which happens only with strides that do not nest or with unplaced digits
  /// that have very many values.
  /// Example: 53x63 on 3x2 with 32x32 tiles: element_at({0, 0}, 18·32) = Padding{Cause::kTile}.
  Result<Slot> element_at(const Place& place, std::int64_t slot) const;

  /// Equality of descriptions. For equality of functions see `same_function`.
  friend bool operator==(const Layout& a, const Layout& b) { return a.spec_ == b.spec_; }

 private:
  explicit Layout(LayoutSpec spec) : spec_(std::move(spec)) {}
  LayoutSpec spec_;
  std::int64_t slots_ = 0;
  std::int64_t shard_bytes_ = 0;
  std::shared_ptr<const Decoder> decoder_;  // for element_at; immutable, so copies share it
};

/// The location of an index in a form. Layouts and views use it for `locate`.
Result<Location> locate_in(const Form& form, const Atom& atom, const Index& index);

/// The form slot(x) = offset + Σ stride[i]·x[i] on a single place. Strides may be zero or negative.
Result<Form> strided_form(const Shape& shape, const std::vector<std::int64_t>& strides,
                          std::int64_t offset);

/// The bytes that `slots` slots take on each place. The slots must cover the data of the form and
/// be whole atoms. Errors: kSlotsTooFew, kBadAtom, kOverflow.
Result<std::int64_t> allocated_bytes_of(const Form& form, const Atom& atom, std::int64_t slots);

/// kOutOfRange unless `place` is on the mesh and `slot` is one of its `slots`.
Status check_position(const Shape& mesh, std::int64_t slots, const Place& place, std::int64_t slot);

}  // namespace tessera

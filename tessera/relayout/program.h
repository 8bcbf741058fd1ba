// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/refine.h"

/// relayout/: moves the elements of a tensor from one placement to another inside one address
/// space. Two Placements come in; a Program says what moves where (pure, printable), a Plan says in
/// which order and with which kernels (fast), and a verifier that shares nothing with either tells
/// whether a program is right. The room touches memory that it is given, and no files.
namespace tessera::relayout {

// =================================================================================================
// What a program is
//
// The memory of a placement is one array: place after place in row-major order of the mesh, and
// `slots` slots on each. A spot (place, slot) is the element place·slots + slot of that array.
//
// A program first fills, then copies:
//
//   fills    nests of loops over destination spots that get the padding value
//   copies   nests of loops that move a source and a destination spot together
//
// The copies are kept as the common refinement of the two placements in product form: factors, each
// a list of pieces; every choice of one piece a factor is one nest. A tensor of 8191 x 8193 into
// 32 x 32 tiles is 2 pieces (255 whole tiles; 31 rows) times 2 pieces: 4 nests. What depends on
// sizes is only extents, so making a program takes microseconds whatever the tensor's size.
//
// Law: running the fills, then the nests as plain loops, in any order, writes every element of the
// tensor to each of its destination spots exactly once, from a spot where the source keeps it; and
// every padding slot of the destination as `padding` says. Nothing else is touched.
// =================================================================================================

/// The memory of one side.
struct Memory {
  Shape mesh;
  std::int64_t slots = 0;  ///< on each place
  Atom atom;
  std::int64_t bytes = 0;  ///< of all places together

  static Memory of(const Placement& placement);
  DType storage() const { return atom.storage; }
  std::int64_t elements() const { return mesh.elements() * slots; }
  /// The number of a spot in the array of all places.
  std::int64_t flat(Spot spot) const { return spot.place * slots + spot.slot; }
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// What padding of the destination is to hold. Pieces promise a value where all of them promise the
/// same, and views promise none.
enum class PaddingRule : std::uint8_t {
  kPromised,  ///< the value that the layout promises; left alone where it promises none
  kZero,      ///< the promised value, or zero where there is none (as in files)
  kLeave,     ///< always left alone
};

/// One loop of a fill: `extent` steps, each moving the destination by `step`.
struct FillLoop {
  std::int64_t extent = 1;
  Spot step;
  friend bool operator==(const FillLoop&, const FillLoop&) = default;
};

/// Destination spots at + Σ i·step, all of which get the program's padding value.
struct FillNest {
  Spot at;
  std::vector<FillLoop> loops;
  std::int64_t spots() const;
  friend bool operator==(const FillNest&, const FillNest&) = default;
};

/// See the essay above. In `copies`, side a is the source and side b the destination; replicas of
/// the destination are a factor of their own that belongs to no dim.
struct Program {
  Memory from;
  Memory to;
  std::vector<Refinement> copies;  ///< one, or one for each pair of boxes of piecewise placements
  std::vector<FillNest> fills;
  double padding = 0;      ///< what the fills write
  bool fills_all = false;  ///< the fills cover data too, which the copies then overwrite

  /// How many copy nests there are, and the nest of a number below that.
  std::int64_t nests() const;
  Nest nest(std::int64_t i) const;
  /// Elements written by copies, replicas counted.
  std::int64_t elements() const;
};

/// The program that brings a tensor from `from` to `to`.
/// Errors: kShapeMismatch; kNotInjective when elements share a slot of `to`; kNotSupported when
/// `from` or `to` keeps partial sums, which moving cannot combine; kTooLarge when the refinement
/// has more than 2^18 pieces a factor, or `from` and `to` more than 2^16 pairs of boxes.
/// A source that keeps several replicas is read at the first.
/// Example: row-major [4, 6] f32 to column-major: one nest of loops 4 (src 6, dst 1) and
/// 6 (src 1, dst 4).
Result<Program> make_program(const Placement& from, const Placement& to,
                             PaddingRule padding = PaddingRule::kPromised);

/// The fills of such a program alone: copies nothing, from no memory.
Program padding_program(const Placement& to, PaddingRule padding);

}  // namespace tessera::relayout

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"

/// relayout/: moves the elements of a tensor from one placement to another inside one address
/// space. Two Placements come in. A Program states which element moves where (pure, printable); a
/// Plan states in which order and with which kernels (fast); a verifier that shares no code with
/// either checks whether a program is correct. This folder reads and writes only the memory that
/// the caller passes, and no files.
namespace tessera::relayout {

// =================================================================================================
// What a program is
//
// The memory of a placement is one array: place after place in row-major order of the mesh, and
// `slots` slots on each. A position (place, slot) is the element place·slots + slot of that array.
//
// A program first fills, then copies:
//
//   fills    nests of loops over destination positions that get the padding value
//   copies   nests of loops that move a source and a destination position together
//
// The copies are kept as the common refinement of the two placements in product form: factors, each
// a list of pieces; every choice of one piece per factor is one nest. A tensor of 8191 x 8193 into
// 32 x 32 tiles is 2 pieces (255 whole tiles; 31 rows) times 2 pieces: 4 nests. Only the extents
// depend on the tensor's size, so making a program takes microseconds for tensors of any size.
//
// Law: running the fills, then the nests as plain loops, in any order, writes every element of the
// tensor to each of its destination positions exactly once, from a position where the source keeps
// it; and writes every padding slot of the destination as `padding` specifies. Nothing else is
// changed.
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
  /// The number of a position in the array of all places.
  std::int64_t flat(Position position) const { return position.place * slots + position.slot; }
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// Which value the padding of the destination must hold. A piecewise placement promises a value if
/// all of its pieces promise the same one; a view promises none.
enum class PaddingRule : std::uint8_t {
  kPromised,  ///< the value that the layout promises; unchanged if it promises none
  kZero,      ///< the promised value, or zero if there is none (as in files)
  kLeave,     ///< always unchanged
};

/// One loop of a fill: `extent` steps, each moving the destination by `step`.
struct FillLoop {
  std::int64_t extent = 1;
  Position step;
  friend bool operator==(const FillLoop&, const FillLoop&) = default;
};

/// The destination positions at + Σ i·step. All of them get the program's padding value.
struct FillNest {
  Position at;
  std::vector<FillLoop> loops;
  std::int64_t positions() const;
  friend bool operator==(const FillNest&, const FillNest&) = default;
};

/// See the text above. In `copies`, side a is the source and side b the destination; replicas of
/// the destination are a separate factor that belongs to no dim.
struct Program {
  Memory from;
  Memory to;
  std::vector<Refinement> copies;  ///< one, or one for each pair of boxes of piecewise placements
  std::vector<FillNest> fills;
  double padding = 0;             ///< what the fills write
  bool fills_cover_data = false;  ///< the fills cover data too, which the copies then overwrite

  /// The number of copy nests, and the nest with number i, 0 <= i < nests().
  std::int64_t nests() const;
  Nest nest(std::int64_t i) const;
  /// Elements written by copies, replicas counted.
  std::int64_t elements() const;
};

/// The program that moves a tensor from `from` to `to`.
/// Errors: kShapeMismatch; kNotInjective when elements share a slot of `to`; kNotSupported when
/// `from` or `to` keeps partial sums, because a move cannot combine them; kTooLarge when the
/// refinement has more than 2^18 pieces per factor, or `from` and `to` have more than 2^16 pairs of
/// boxes. If the source keeps several replicas, the first one is read.
/// Example: row-major [4, 6] f32 to column-major: one nest of loops 4 (src 6, dst 1) and
/// 6 (src 1, dst 4).
Result<Program> make_program(const Placement& from, const Placement& to,
                             PaddingRule padding = PaddingRule::kPromised);

/// Only the fills of such a program: it copies nothing and its source memory is empty.
Program padding_program(const Placement& to, PaddingRule padding);

/// The program as a C99 function `void name(const void* src, void* dst)` that needs nothing but
/// <stdint.h> and <string.h>, for users who want the loops in their own runtime. Both arrays must
/// have the sizes of the program's memories (any alignment) and must not overlap.
///
/// Fills come first, then the copies, as loops around memcpy and memset of contiguous runs. When
/// there are very many nests, they are emitted as tables that one group of loops walks. `title` is
/// the text of the comment above the function, for example the two layouts; it may have several
/// lines.
///
/// Law: the function leaves in `dst` the same bytes as running the program's fills and nests as
/// plain loops.
/// Example: row-major [4, 6] f32 to column-major is
///
///     for (int64_t i0 = 0; i0 < 6; ++i0) {
///       for (int64_t i1 = 0; i1 < 4; ++i1) {
///         memcpy(to + 16 * i0 + 4 * i1, from + 4 * i0 + 24 * i1, 4);
///
/// Errors: kSyntax when `name` is not a C identifier; kNotSupported when the program converts types
/// or moves block floats; kTooLarge for more than 2^14 nests.
Result<std::string> emit_c(const Program& program, std::string_view name,
                           std::string_view title = {});

}  // namespace tessera::relayout

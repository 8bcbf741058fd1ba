// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// What went wrong, as a name that scripts may rely on. Names never change their meaning;
/// `code_name(ErrorCode::kNotInjective)` is "not_injective".
enum class ErrorCode : std::uint8_t {
  // Numbers.
  kOverflow,      ///< a product or sum does not fit a signed 64-bit integer
  kOutOfRange,    ///< an index, place, slot or dim outside what the layout has
  kTooLarge,      ///< deciding exactly would take more work or memory than is reasonable
  kRankTooLarge,  ///< more dims, mesh axes or digits than Tessera accepts
  // Layouts that cannot be.
  kBadShape,        ///< a negative extent
  kBadDType,        ///< an unknown element type, or one that does not fit its atom
  kBadFold,         ///< a fold names a missing or repeated dim, or its line starts below zero
  kBadCut,          ///< a width below 1, a chain that does not end in width 1, a negative stride
  kCountTooSmall,   ///< a digit has fewer values than the data need
  kMeshTooSmall,    ///< a digit or fill reaches past the end of its mesh axis
  kAxisUnsaid,      ///< a mesh axis that no digit uses and no fill explains
  kBadFill,         ///< a fill that contradicts itself
  kBadAtom,         ///< the allocation is not a whole number of atoms
  kBadDeviceMap,    ///< the device map is not a one-to-one map of the mesh
  kSlotsTooFew,     ///< fewer slots allocated than the digits reach
  kNotInjective,    ///< two indices share one slot of one place
  kPaddingOverlap,  ///< padding that is allocated overlaps other allocated slots
  kInvalidShape,    ///< a shape that the layout's fixed sizes do not divide or cover
  kBadPieces,       ///< pieces that overlap, or do not cover the tensor
  // Questions that have no answer.
  kShapeMismatch,   ///< two operands disagree in shape
  kMeshMismatch,    ///< meshes of different rank cannot be compared
  kViewLeavesForm,  ///< a view that fold, cut and place cannot say
  kBadView,         ///< a view with a bad permutation, range, step or factor
  kNotSupported,    ///< a question that this kind of layout does not answer
  kDoesNotFit,      ///< more memory on a place than the machine has there
  // Ranks that work together.
  kPlansDiffer,  ///< ranks that were given different layouts, maps or options
  kBadPacket,    ///< a message of another length or checksum than it should have
  kRankSilent,   ///< a rank that no longer answers
  // Memory.
  kOutOfMemory,   ///< the machine that plans has no memory left
  kBadAlignment,  ///< an alignment that is not a power of two, or too large
  kBadBlock,      ///< a block that a pool did not hand out, has back already, or never got back
  kBadBuffer,     ///< a buffer with a life, size, place or alias that cannot be
  // Text.
  kSyntax,           ///< the text does not follow the grammar
  kUnknownName,      ///< a keyword, notation, flag or option that does not exist
  kUnknownNotation,  ///< no notation has this name
  kUnknownTarget,    ///< no machine has this name
  kBadNumber,        ///< a number that is malformed or does not fit
  kTextTooLong,      ///< the text is longer than Tessera reads
  kContradiction,    ///< a text that says two different things
  kBadTarget,        ///< a machine description with a field that is missing or cannot be
  // The command.
  kUsage,    ///< a command line that cannot be followed
  kBadJson,  ///< a batch request that is not a JSON object, or has a bad value
  kIo,       ///< a file or stream that cannot be read or written
};

/// The stable spelling of `code`: lower case with underscores.
std::string_view code_name(ErrorCode code);

/// Every code, in declaration order.
const std::vector<ErrorCode>& all_error_codes();

/// Half-open byte range [from, to) of the text that an error speaks about.
struct Span {
  std::int64_t from = 0;
  std::int64_t to = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// Why an answer is missing: a stable code, one sentence that names the offending number, where it
/// stands in the text that was read (if there was one), and what would be right.
struct Error {
  ErrorCode code = ErrorCode::kNotSupported;
  std::string message;
  std::optional<Span> span = std::nullopt;
  std::string help = {};
  /// The text that would be right in the place of `span`, when one text alone is.
  std::string correction = {};

  /// The same error, placed in a text. An error that already has a place keeps it.
  Error at(Span where) const;
  /// The same error with its span moved by `offset` bytes, for a text inside a text.
  Error shifted(std::int64_t offset) const;
};

/// The error as a person reads it, with the source line and a caret under the offending text:
///
///     error[syntax]: expected a width, found 'x'
///      --> 1:14
///       | cut d0 by [18, x]
///       |                ^
///      help: widths are positive integers
///
/// Long lines are cut to a window around the caret. Control characters print as '?', so that a
/// hostile text cannot drive the terminal.
std::string render(const Error& error, std::string_view source);

/// The two lines of render() that show `span` in `source`: its line and the carets below.
/// Takes time for what is shown, however long the source or its line is.
std::string excerpt(std::string_view source, Span span);

/// Fit for a terminal: tabs are blanks, control characters (also the C1 set, as UTF-8) are '?'.
std::string printable(std::string_view text);

}  // namespace tessera

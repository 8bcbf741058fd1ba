// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

/// What went wrong. Scripts may rely on the names: they never change their meaning.
/// `code_name(ErrorCode::kNotInjective)` is "not_injective".
enum class ErrorCode : std::uint8_t {
  // Numbers.
  kOverflow,      ///< a product or sum does not fit a signed 64-bit integer
  kOutOfRange,    ///< an index, place, slot or dim outside the layout
  kTooLarge,      ///< an exact answer would take more work or memory than the limit
  kRankTooLarge,  ///< more dims, mesh axes or digits than Tessera accepts
  // Invalid layouts.
  kBadShape,        ///< a negative extent
  kBadDType,        ///< an unknown element type, or one that does not fit its atom
  kBadFold,         ///< a fold names a missing or repeated dim, or its line starts below zero
  kBadCut,          ///< a width below 1, a chain that does not end in width 1, a negative stride
  kCountTooSmall,   ///< a digit has fewer values than the data need
  kMeshTooSmall,    ///< a digit or fill reaches past the end of its mesh axis
  kAxisUnsaid,      ///< a mesh axis without a digit and without a fill
  kBadFill,         ///< a fill that contradicts itself
  kBadAtom,         ///< the allocation is not a whole number of atoms
  kBadDeviceMap,    ///< the device map is not a one-to-one map of the mesh
  kSlotsTooFew,     ///< fewer slots allocated than the digits reach
  kNotInjective,    ///< two indices share one slot of one place
  kPaddingOverlap,  ///< padding that is allocated overlaps other allocated slots
  kInvalidShape,    ///< a shape that the layout's fixed sizes do not divide or cover
  kBadPieces,       ///< pieces that overlap, or do not cover the tensor
  // Operations without a result.
  kShapeMismatch,   ///< two operands disagree in shape
  kMeshMismatch,    ///< meshes of different rank cannot be compared
  kViewLeavesForm,  ///< a view that fold, cut and place cannot express
  kBadView,         ///< a view with a bad permutation, range, step or factor
  kNotSupported,    ///< an operation that this kind of layout does not support
  kDoesNotFit,      ///< a place needs more memory than the machine has there
  // Exchange between ranks.
  kPlansDiffer,  ///< the ranks have different layouts, maps or options
  kBadPacket,    ///< a message with a wrong length or checksum
  kRankSilent,   ///< a rank that no longer responds
  // Memory.
  kOutOfMemory,   ///< the host has no memory left
  kBadAlignment,  ///< an alignment that is not a power of two, or too large
  kBadBlock,      ///< a block that a pool did not allocate, was freed already, or was never freed
  kBadBuffer,     ///< a buffer with an invalid lifetime, size, place or alias
  // Planning.
  kBadProblem,  ///< a problem of choices whose lists disagree, or with a negative number
  // Text.
  kSyntax,           ///< the text does not follow the grammar
  kUnknownName,      ///< a keyword, notation, flag or option that does not exist
  kUnknownNotation,  ///< no notation has this name
  kUnknownTarget,    ///< no machine has this name
  kBadNumber,        ///< a number that is malformed or does not fit
  kTextTooLong,      ///< the text is longer than the limit
  kContradiction,    ///< a text that contradicts itself
  kBadTarget,        ///< a machine description with a missing or invalid field
  // Graphs.
  kBadGraph,  ///< a graph with a cycle, a value that nothing defines, or one that is defined twice
  kBadNode,   ///< a node with a wrong number of inputs or outputs, or an invalid attribute
  // The command.
  kUsage,    ///< an invalid command line
  kBadJson,  ///< a batch request that is not a JSON object, or has a bad value
  kIo,       ///< a file or stream that cannot be read or written
};

/// The stable spelling of `code`: lower case with underscores.
std::string_view code_name(ErrorCode code);

/// Every code, in declaration order.
const std::vector<ErrorCode>& all_error_codes();

/// Half-open byte range [from, to) of the text that an error refers to.
struct Span {
  std::int64_t from = 0;
  std::int64_t to = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// A named number, list of numbers or word of a reason. Names never change their meaning.
struct Fact {
  std::string_view name;  ///< of static storage: "slot"
  std::variant<std::int64_t, std::vector<std::int64_t>, std::string> value;
  friend bool operator==(const Fact&, const Fact&) = default;
};

/// What a sentence of an error claims, for programs: a stable name and the facts of the sentence.
/// Example: "element_elsewhere" with index [0, 1], slot 3 and expected_slot 5.
struct Reason {
  std::string_view name;  ///< of static storage: lower case with underscores
  std::vector<Fact> facts = {};

  /// The fact of this name; null when there is none.
  const Fact* find(std::string_view fact) const;
  /// Its value; nullopt when there is no fact of this name and type.
  std::optional<std::int64_t> number(std::string_view fact) const;
  std::optional<std::vector<std::int64_t>> numbers(std::string_view fact) const;
  std::optional<std::string> text(std::string_view fact) const;

  friend bool operator==(const Reason&, const Reason&) = default;
};

/// Why there is no result: a stable code, one sentence that names the offending number, its
/// position in the text that was read (if there was one), and what would be right.
struct Error {
  ErrorCode code = ErrorCode::kNotSupported;
  std::string message;
  std::optional<Span> span = std::nullopt;
  std::string help = {};
  /// The correct text in place of `span`, if exactly one text is correct.
  std::string correction = {};
  /// What the sentence claims. A notation that cannot express a tensor gives one reason or more;
  /// most other errors have none.
  std::vector<Reason> reasons = {};

  /// The same error with a span. An error that already has a span keeps it.
  Error at(Span where) const;
  /// The same error with its span moved by `offset` bytes, for a text inside another text.
  Error shifted(std::int64_t offset) const;
};

/// The error formatted for people, with the source line and a caret under the offending text:
///
///     error[syntax]: expected a width, found 'x'
///      --> 1:14
///       | cut d0 by [18, x]
///       |                ^
///      help: widths are positive integers
///
/// With the name of the file that `source` is from, the second line is " --> a.csv:1:14". Long
/// lines are cut to a window around the caret. Control characters print as '?', so that a hostile
/// text cannot control the terminal.
std::string render(const Error& error, std::string_view source, std::string_view file = {});

/// The two lines of render() that show `span` in `source`: its line and the carets below. The time
/// depends on what is shown, not on the length of the source or of its line.
std::string excerpt(std::string_view source, Span span);

/// The text made safe for a terminal: tabs become spaces, control characters (also the C1 set, as
/// UTF-8) become '?'.
std::string printable(std::string_view text);

/// Ends the program: the value of a Result was taken without asking whether there is one, which is
/// a bug in the program. Writes the error that the Result holds to standard error first.
[[noreturn]] void missing_value(const Error& error);
/// The same for the error of a Result that has a value.
[[noreturn]] void missing_error();

/// An answer of type T, or the Error that says why there is none. Taking the value of a Result that
/// has none ends the program, in every build.
/// Example:
///     Result<Shape> shape = Shape::make({53, 63});
///     if (!shape) return shape.error();
///     use(*shape);
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    require_value();
    return *std::get_if<0>(&state_);
  }
  T& value() & {
    require_value();
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    require_value();
    return std::move(*std::get_if<0>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    if (ok()) missing_error();
    return *std::get_if<1>(&state_);
  }

 private:
  void require_value() const {
    if (!ok()) missing_value(*std::get_if<1>(&state_));
  }

  std::variant<T, Error> state_;
};

/// The result of a check: no value, or an Error.
struct Ok {};
using Status = Result<Ok>;
inline Status ok_status() { return Ok{}; }

// These two are macros because only a macro can return from the function that uses it.
#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)

/// TESSERA_TRY(const Shape shape, Shape::make(extents)); declares `shape`, or returns the error.
#define TESSERA_TRY(declaration, expression)             \
  auto TESSERA_CONCAT(result_, __LINE__) = (expression); \
  if (!TESSERA_CONCAT(result_, __LINE__).ok()) {         \
    return TESSERA_CONCAT(result_, __LINE__).error();    \
  }                                                      \
  declaration = std::move(TESSERA_CONCAT(result_, __LINE__)).value()

/// TESSERA_CHECK_OK(check(fold)); returns the error of a Status, if it has one.
#define TESSERA_CHECK_OK(expression)                                     \
  do {                                                                   \
    if (auto status = (expression); !status.ok()) return status.error(); \
  } while (false)

}  // namespace tessera

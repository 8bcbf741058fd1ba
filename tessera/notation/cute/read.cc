// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/cute/text.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kHelp = "shape:stride with the same nesting, such as cute<(4,8):(8,1)>";
constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxNumbers = 256;

/// A tuple as read from the text, and the spans of its top-level items.
struct TupleText {
  IntTuple tuple;
  Span whole;
  std::vector<Span> items;
};

Error unsupported(Word word, std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat(what, " is not supported"), word.span,
               "plain layouts of numbers, such as cute<(4,8):(8,1)>"};
}

/// A number as CuTe prints it: 8, or _8 when it is known at compile time.
Result<std::int64_t> read_number(Cursor& cursor, std::size_t& numbers) {
  const Word word = cursor.next();
  if (++numbers > kMaxNumbers) {
    return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxNumbers, " numbers"), word.span,
                 "use fewer modes"};
  }
  if (word.text == "Sw" || word.text == "S") return unsupported(word, "a swizzle");
  cursor.accept("_");
  TESSERA_TRY(const std::int64_t number, cursor.integer("a number or '('", kHelp));
  if (cursor.peek() == '@') return unsupported(cursor.next(), "a stride along a basis ('@')");
  return number;
}

Result<IntTuple> read_tuple(Cursor& cursor, int depth, std::size_t& numbers,
                            std::vector<Span>& items) {
  IntTuple tuple;
  const Word open = cursor.next();
  if (!cursor.accept("(")) {
    TESSERA_TRY(tuple.number, read_number(cursor, numbers));
    return tuple;
  }
  if (depth == kMaxDepth) {
    return Error{ErrorCode::kRankTooLarge, cat("modes nest deeper than ", kMaxDepth), open.span,
                 "flatten the modes"};
  }
  tuple.is_tuple = true;
  if (cursor.accept(")")) return tuple;
  do {
    std::vector<Span> inner;
    const std::int64_t from = cursor.position();
    TESSERA_TRY(IntTuple item, read_tuple(cursor, depth + 1, numbers, inner));
    items.push_back(cursor.since(from));
    tuple.items.push_back(std::move(item));
  } while (cursor.accept(","));
  TESSERA_CHECK_OK(cursor.expect(")", kHelp));
  return tuple;
}

Result<TupleText> read_tuple(Cursor& cursor, std::size_t& numbers) {
  TupleText text;
  const std::int64_t from = cursor.position();
  TESSERA_TRY(text.tuple, read_tuple(cursor, 0, numbers, text.items));
  text.whole = cursor.since(from);
  if (!text.tuple.is_tuple) text.items = {text.whole};
  return text;
}

bool congruent(const IntTuple& a, const IntTuple& b) {
  return a.is_tuple == b.is_tuple &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), congruent);
}

/// The strides of a shape without gaps; the leftmost dim is the fastest.
Result<IntTuple> compact(const IntTuple& shape, Checked& below) {
  IntTuple stride;
  stride.is_tuple = shape.is_tuple;
  if (!shape.is_tuple) {
    TESSERA_TRY(stride.number, below.value("a stride"));
    below *= shape.number;
    return stride;
  }
  for (const IntTuple& item : shape.items) {
    TESSERA_TRY(IntTuple inner, compact(item, below));
    stride.items.push_back(std::move(inner));
  }
  return stride;
}

std::vector<IntTuple> modes(IntTuple tuple) {
  if (tuple.is_tuple) return std::move(tuple.items);
  return {std::move(tuple)};
}

/// The product of a mode's extents; nullopt when it overflows or an extent is negative.
std::optional<std::int64_t> elements_of(const IntTuple& mode) {
  if (!mode.is_tuple) return mode.number < 0 ? std::nullopt : std::optional(mode.number);
  Checked product = 1;
  for (const IntTuple& item : mode.items) {
    const std::optional<std::int64_t> inner = elements_of(item);
    if (!inner) return std::nullopt;
    product *= *inner;
  }
  return product.overflowed() ? std::nullopt : std::optional(product.raw());
}

/// Checks that each mode has as many elements as its dim.
Status check_extents(const CuteText& text, const Shape& shape) {
  const std::vector<IntTuple>& extents = text.words.shape;
  if (extents.size() != shape.rank()) return ok_status();  // reported by `lower`
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    const std::optional<std::int64_t> elements = elements_of(extents[dim]);
    if (!elements || *elements == shape[dim]) continue;
    Error error = mode_mismatch(dim, *elements, shape[dim]).at(text.modes[dim]);
    if (!extents[dim].is_tuple) error.correction = std::to_string(shape[dim]);
    return error;
  }
  return ok_status();
}

}  // namespace

Error mode_mismatch(std::size_t mode, std::int64_t elements, std::int64_t extent) {
  return Error{ErrorCode::kContradiction,
               cat("mode ", mode, " has ", elements, " elements where the dim has ", extent),
               std::nullopt, "each top-level mode is one dim of the tensor"};
}

Result<CuteText> read_cute(std::string_view source, const Shape& shape) {
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("cute", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  const std::int64_t from = cursor.position();
  std::size_t numbers = 0;
  TESSERA_TRY(TupleText extents, read_tuple(cursor, numbers));
  IntTuple stride;
  if (cursor.accept(":")) {
    TESSERA_TRY(TupleText said, read_tuple(cursor, numbers));
    stride = std::move(said.tuple);
  } else if (cursor.peek() == '>') {
    Checked below = 1;
    const Result<IntTuple> strides = compact(extents.tuple, below);
    if (!strides) return strides.error().at(extents.whole);
    stride = *strides;
  }
  CuteText text;
  text.whole = cursor.since(from);
  if (cursor.next().text == "o") return unsupported(cursor.next(), "a composition ('o')");
  TESSERA_CHECK_OK(cursor.expect(">", kHelp));
  TESSERA_CHECK_OK(cursor.expect_end());
  if (!congruent(extents.tuple, stride)) {
    return Error{ErrorCode::kContradiction,
                 cat("shape ", tuple_text(extents.tuple), " and stride ", tuple_text(stride),
                     " have different nesting"),
                 text.whole, std::string(kHelp)};
  }
  text.modes = std::move(extents.items);
  text.words.bare = !extents.tuple.is_tuple;
  text.words.shape = modes(std::move(extents.tuple));
  text.words.stride = modes(std::move(stride));
  TESSERA_CHECK_OK(check_extents(text, shape));
  return text;
}

}  // namespace tessera::notation

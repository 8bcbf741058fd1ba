// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/cursor.h"
#include "tessera/notation/native_text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/registry.h"

namespace tessera {
namespace {

constexpr std::size_t kMaxText = std::size_t{16} << 20;

struct TensorType {
  Shape shape;
  DType dtype = DType::kF32;
};

/// (INT 'x')* DTYPE
Result<TensorType> read_type(Cursor& cursor) {
  constexpr std::string_view kHelp = "a tensor is such as tensor<53x63xf32, strided<[63, 1]>>";
  const std::int64_t from = cursor.position();
  std::vector<std::int64_t> extents;
  while (cursor.peek() == '-' || cursor.peek() == '?' ||
         (cursor.peek() >= '0' && cursor.peek() <= '9')) {
    const Span next = cursor.next().span;
    if (cursor.peek() == '?') {
      return Error{ErrorCode::kBadShape, cat("dim ", extents.size(), " has the unknown extent '?'"),
                   next, "a layout needs every extent: write a number"};
    }
    if (extents.size() == kMaxRank) {
      return Error{ErrorCode::kRankTooLarge, cat("a tensor of more than ", kMaxRank, " dims"), next,
                   "collapse dims that are never told apart"};
    }
    TESSERA_TRY(const std::int64_t extent, cursor.integer("an extent", kHelp));
    if (extent < 0) {
      return Error{ErrorCode::kBadShape,
                   cat("dim ", extents.size(), " has the negative extent ", extent),
                   cursor.since(next.from), "extents are 0 or more"};
    }
    extents.push_back(extent);
    TESSERA_CHECK_OK(cursor.expect("x", kHelp));
  }
  const Span extents_span = cursor.since(from);
  TensorType type;
  TESSERA_TRY(type.dtype, cursor.dtype());
  Result<Shape> shape = Shape::make(std::move(extents));
  if (!shape) return shape.error().at(extents_span);
  type.shape = *std::move(shape);
  return type;
}

std::string write_tensor(const Shape& shape, DType dtype, std::string_view layout) {
  return cat("tensor<", shape.to_string(), shape.rank() == 0 ? "" : "x", dtype_name(dtype), ", ",
             layout, ">");
}

Error missing_layout(const Cursor& cursor, const TensorType& type) {
  return cursor.expected(
      "a layout",
      cat("row-major is ",
          write_tensor(type.shape, type.dtype,
                       cat("strided<", bracketed(type.shape.row_major_strides()), ">"))));
}

/// Where the '>' that closes `tensor<` stands, or the size of the text when there is none. Arrows
/// (->, <=) are not brackets.
std::size_t closing_bracket(std::string_view text, std::size_t from) {
  std::size_t depth = 1;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '<' && text.substr(i, 2) != "<=") ++depth;
    if (text[i] == '>' && text[i - 1] != '-' && --depth == 0) return i;
  }
  return text.size();
}

bool continues_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

/// The notation whose keyword `layout` begins with, or kUnknownNotation.
Result<const Notation*> notation_of(std::string_view layout) {
  for (const Notation& notation : notations()) {
    const std::string_view rest = layout.substr(std::min(notation.keyword.size(), layout.size()));
    const bool ends =
        !continues_name(notation.keyword.back()) || rest.empty() || !continues_name(rest.front());
    if (layout.starts_with(notation.keyword) && ends) return &notation;
  }
  std::size_t end = layout.starts_with('#') ? 1 : 0;
  while (end < layout.size() && continues_name(layout[end])) ++end;
  const std::string_view name = layout.substr(0, std::max<std::size_t>(end, 1));
  std::vector<std::string_view> keywords;
  for (const Notation& notation : notations()) keywords.push_back(notation.keyword);
  return Error{ErrorCode::kUnknownNotation, cat("no notation begins with ", quote_name(name)),
               Span{0, static_cast<std::int64_t>(name.size())}, did_you_mean(name, keywords)};
}

}  // namespace

const std::vector<Notation>& notations() {
  static const std::vector<Notation> list = {native_notation(), strided_notation()};
  return list;
}

Result<const Notation*> find_notation(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Notation& notation : notations()) {
    if (notation.name == name) return &notation;
    names.push_back(notation.name);
  }
  return Error{ErrorCode::kUnknownNotation, cat("no notation is called ", quote_name(name)),
               std::nullopt, did_you_mean(name, names)};
}

Result<Tensor> parse_tensor(std::string_view text) {
  if (text.size() > kMaxText) {
    return Error{ErrorCode::kTextTooLong,
                 cat("a text of ", text.size(), " bytes; at most ", kMaxText, " are read"),
                 Span{0, 0}, "a tensor is one line"};
  }
  Cursor cursor(text);
  constexpr std::string_view kHelp = "a tensor is written tensor<53x63xf32, LAYOUT>";
  TESSERA_CHECK_OK(cursor.expect_word("tensor", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  TESSERA_TRY(const TensorType type, read_type(cursor));
  if (cursor.peek() == '>' || cursor.at_end()) return missing_layout(cursor, type);
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  if (cursor.peek() == '>' || cursor.at_end()) return missing_layout(cursor, type);

  // The layout speaks before its closing bracket does: a slip inside may have unbalanced it.
  const auto begin = static_cast<std::size_t>(cursor.position());
  const std::size_t end = closing_bracket(text, begin);
  const std::string_view layout_text = text.substr(begin, end - begin);
  Result<const Notation*> notation = notation_of(layout_text);
  if (!notation) return notation.error().shifted(cursor.position());
  Result<Layout> layout = (*notation)->parse(layout_text, type.shape, type.dtype);
  if (!layout) {
    return layout.error()
        .at(Span{0, static_cast<std::int64_t>(layout_text.size())})
        .shifted(cursor.position());
  }
  cursor = Cursor(text, "the end of the text", end);
  TESSERA_CHECK_OK(cursor.expect(">", "close 'tensor<'"));
  TESSERA_CHECK_OK(cursor.expect_end());
  return Tensor{*std::move(layout), std::string((*notation)->name)};
}

Result<std::string> print_tensor(const Layout& layout, const Notation& notation) {
  TESSERA_TRY(const std::string text, notation.print(layout));
  return write_tensor(layout.shape(), layout.dtype(), text);
}

std::string print_native(const Layout& layout) {
  return write_tensor(layout.shape(), layout.dtype(), write_native(layout));
}

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/native/text.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/raising/refusal.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxText = std::size_t{16} << 20;

std::string join(const WrittenTensor& written) {
  return cat("tensor<", write_tensor_type(written.type.shape.extents(), written.type.element), ", ",
             written.layout, ">");
}

Error missing_layout(const Cursor& cursor, const TensorType& type) {
  return cursor.expected(
      "a layout",
      cat("row-major is ",
          join({type, cat("strided<", bracketed(type.shape.row_major_strides()), ">")})));
}

/// The position of the '>' that closes `tensor<`, or the size of the text when there is none.
/// Arrows (->, <=) are not brackets.
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

/// A keyword that ends in a dot is a family of names (`pyflame.Grid`); any other is a whole name.
bool begins_with(std::string_view layout, std::string_view keyword) {
  if (!layout.starts_with(keyword)) return false;
  const std::string_view rest = layout.substr(keyword.size());
  return keyword.ends_with('.') || rest.empty() || !continues_name(rest.front());
}

/// The notation with a keyword that `layout` begins with, or kUnknownNotation.
Result<const Notation*> notation_of(std::string_view layout) {
  std::vector<std::string_view> keywords;
  for (const Notation& notation : notations()) {
    for (const std::string_view keyword : notation.keywords) {
      if (begins_with(layout, keyword)) return &notation;
      keywords.push_back(keyword);
    }
  }
  std::size_t end = layout.starts_with('#') ? 1 : 0;
  while (end < layout.size() && continues_name(layout[end])) ++end;
  if (end == 0 && !layout.empty()) {
    // A whole character, which in UTF-8 may have several bytes.
    do {
      ++end;
    } while (end < layout.size() && (static_cast<unsigned char>(layout[end]) & 0xC0U) == 0x80U);
  }
  const std::string_view name = layout.substr(0, end);
  // `pyflme.Grid` is near no keyword, but its family is near `pyflame.`.
  const std::string_view family = name.substr(0, std::min(name.size(), name.find('.') + 1));
  const bool whole = nearest_name(name, keywords).has_value() || family.size() < 2;
  return Error{ErrorCode::kUnknownNotation, cat("no notation begins with ", quote_name(name)),
               Span{0, static_cast<std::int64_t>(name.size())},
               did_you_mean(whole ? name : family, keywords)};
}

Result<WrittenTensor> raise(const Placement& placement, const Notation& notation) {
  if (const Layout* layout = placement.layout()) return notation.raise(*layout);
  if (const View* view = placement.view()) {
    if (notation.raise_view != nullptr) return notation.raise_view(*view);
    return cannot_express(notation.name, obstacle(why::kSharedSlots, "elements that share a slot"));
  }
  const Piecewise& pieces = *placement.pieces();
  if (notation.raise_pieces != nullptr) return notation.raise_pieces(pieces);
  return cannot_express(notation.name, obstacle(why::kBoxes, "{boxes} boxes, each with a layout",
                                                {fact("boxes", pieces.pieces().size())}));
}

}  // namespace

const std::vector<Notation>& notations() {
  static const std::vector<Notation> list = {
      native_notation(),  strided_notation(),     pyflame_notation(), spyre_notation(),
      metal_notation(),   metal_today_notation(), ttnn_notation(),    morello_notation(),
      xla_notation(),     onednn_notation(),      cute_notation(),    gspmd_notation(),
      dtensor_notation(),
  };
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
                 cat("a text of ", text.size(), " bytes; at most ", kMaxText, " are accepted"),
                 Span{0, 0}, "a tensor is one line"};
  }
  Cursor cursor(text);
  constexpr std::string_view kHelp = "a tensor is written tensor<53x63xf32, LAYOUT>";
  TESSERA_CHECK_OK(cursor.expect_word("tensor", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  const std::int64_t type_from = cursor.position();
  Span extents;
  TESSERA_TRY(TensorType type, read_tensor_type(cursor, &extents));
  const Span type_span = cursor.since(type_from);
  if (cursor.peek() == '>' || cursor.at_end()) return missing_layout(cursor, type);
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  if (cursor.peek() == '>' || cursor.at_end()) return missing_layout(cursor, type);

  type.extents_at = Span{extents.from - cursor.position(), extents.to - cursor.position()};

  // Errors of the layout come before an error of its closing bracket: a mistake inside may have
  // unbalanced the brackets.
  const auto begin = static_cast<std::size_t>(cursor.position());
  const std::size_t end = closing_bracket(text, begin);
  const std::string_view layout_text = text.substr(begin, end - begin);
  Result<const Notation*> notation = notation_of(layout_text);
  if (!notation) return notation.error().shifted(cursor.position());
  if (type.element.is_tile() && !(*notation)->takes_tiles) {
    return Error{ErrorCode::kBadDType, cat("a tensor of tiles in ", (*notation)->name, " notation"),
                 type_span,
                 cat("write the logical shape and its element type, such as 64x64x",
                     dtype_name(type.dtype()))};
  }
  Result<Tensor> tensor = (*notation)->read(layout_text, type);
  if (!tensor) {
    return tensor.error()
        .at(Span{0, static_cast<std::int64_t>(layout_text.size())})
        .shifted(cursor.position());
  }
  cursor = Cursor(text, "the end of the text", end);
  TESSERA_CHECK_OK(cursor.expect(">", "close 'tensor<'"));
  TESSERA_CHECK_OK(cursor.expect_end());
  return tensor;
}

std::string print_tensor(const Tensor& tensor) {
  const Result<const Notation*> notation = find_notation(tensor.notation);
  return notation ? join((*notation)->write(tensor)) : print_native(tensor.placement);
}

Result<std::string> print_tensor(const Placement& placement, const Notation& notation) {
  TESSERA_TRY(const WrittenTensor written, raise(placement, notation));
  return join(written);
}

std::vector<std::string_view> notation_names() {
  std::vector<std::string_view> names;
  for (const Notation& notation : notations()) names.push_back(notation.name);
  return names;
}

const AnyTerms& terms_of(const Tensor& tensor) {
  static const AnyTerms none;
  return tensor.terms ? tensor.terms->value : none;
}

std::string print_native(const Placement& placement) {
  return join({TensorType::of(placement.shape(), placement.dtype()), write_native(placement)});
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/cursor.h"
#include "tessera/notation/xla/xla.h"

/// Reads and writes XLA layouts. The grammar is that of layouts in HLO texts: properties follow the
/// colon in one order, each at most once (xla/hlo/parser: ParseLayout).
namespace tessera::notation {
namespace {

constexpr std::string_view kHelp = "such as xla{1,0} or xla{1,0:T(8,128)(2,1)}";

/// The properties in the order of HLO texts.
struct Property {
  std::string_view name;
  std::string_view refused;  ///< why Tessera does not support it; empty when it does
};
constexpr std::array<Property, 10> kProperties = {{
    {"D", "the level types of a sparse array"},
    {"T", ""},
    {"L", ""},
    {"#", "the index type of a sparse array"},
    {"*", "the pointer type of a sparse array"},
    {"E", ""},
    {"S", ""},
    {"SC", "data split between memories"},
    {"P", "the physical shape of a sparse array"},
    {"M", "a prefix of metadata"},
}};
constexpr std::size_t kUnknown = kProperties.size();

Result<std::vector<std::int64_t>> read_tile(Cursor& cursor, std::size_t limit) {
  TESSERA_CHECK_OK(cursor.expect("(", kHelp));
  std::vector<std::int64_t> tile;
  do {
    if (tile.size() == limit) {
      return Error{ErrorCode::kRankTooLarge, cat("tiles of more than ", kMaxXlaNumbers, " numbers"),
                   cursor.next().span, "tiles have as many numbers as dims"};
    }
    if (cursor.accept("*")) {
      tile.push_back(XlaLayout::kCombine);
      continue;
    }
    const std::int64_t from = cursor.position();
    TESSERA_TRY(const std::int64_t size, cursor.integer("a tile size or '*'", kHelp));
    if (size < 1) {
      return Error{ErrorCode::kBadCut, cat("a tile of ", size), cursor.since(from),
                   "tile sizes are 1 or more"};
    }
    tile.push_back(size);
  } while (cursor.accept(","));
  if (!cursor.accept(")")) return cursor.expected("',' or ')'", kHelp);
  return tile;
}

Status read_tiles(Cursor& cursor, XlaLayout& words, XlaSpans& spans) {
  std::size_t left = kMaxXlaNumbers;
  do {
    if (words.tiles.size() == kMaxXlaTiles) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxXlaTiles, " tiles"),
                   cursor.next().span, "use fewer tiles"};
    }
    const std::int64_t from = cursor.position();
    TESSERA_TRY(std::vector<std::int64_t> tile, read_tile(cursor, left));
    left -= tile.size();
    words.tiles.push_back(std::move(tile));
    spans.tiles.push_back(cursor.since(from));
  } while (cursor.peek() == '(');
  return ok_status();
}

Status read_number(Cursor& cursor, std::string_view what, std::optional<std::int64_t>& number,
                   Span& span) {
  TESSERA_CHECK_OK(cursor.expect("(", kHelp));
  const std::int64_t from = cursor.position();
  TESSERA_TRY(number, cursor.integer(what, kHelp));
  span = cursor.since(from);
  return cursor.expect(")", kHelp);
}

/// The number of the property that `name` is, or kUnknown.
std::size_t property_number(std::string_view name) {
  std::size_t number = 0;
  while (number < kUnknown && kProperties[number].name != name) ++number;
  return number;
}

Status read_properties(Cursor& cursor, XlaLayout& words, XlaSpans& spans) {
  std::size_t next = 0;  // the first property that may still come
  while (cursor.peek() != '}' && !cursor.at_end()) {
    const Word word = cursor.next();
    const std::size_t number = property_number(word.text);
    if (number == kUnknown) {
      return cursor.expected("T(..), L(..), E(..), S(..) or '}'", kHelp);
    }
    if (number < next) {
      return Error{ErrorCode::kSyntax,
                   cat(quote_name(word.text), " after ", quote_name(kProperties[next - 1].name)),
                   word.span, "each property is listed once, in the order T L E S"};
    }
    next = number + 1;
    if (!kProperties[number].refused.empty()) {
      return Error{ErrorCode::kNotSupported,
                   cat(quote_name(word.text), " specifies ", kProperties[number].refused),
                   word.span, "only dense layouts of one memory are supported: T, L, E and S"};
    }
    cursor.accept(word.text);
    if (word.text == "T") {
      TESSERA_CHECK_OK(read_tiles(cursor, words, spans));
    } else if (word.text == "L") {
      TESSERA_CHECK_OK(
          read_number(cursor, "a tail alignment", words.tail_alignment, spans.tail_alignment));
    } else if (word.text == "E") {
      TESSERA_CHECK_OK(
          read_number(cursor, "an element size in bits", words.element_bits, spans.element_bits));
    } else {
      TESSERA_CHECK_OK(
          read_number(cursor, "a memory space", words.memory_space, spans.memory_space));
    }
  }
  if (next == 0) return cursor.expected("T(..), L(..), E(..) or S(..)", kHelp);
  return ok_status();
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("xla", kHelp));
  TESSERA_CHECK_OK(cursor.expect("{", kHelp));
  XlaLayout words;
  XlaSpans spans;
  const std::int64_t from = cursor.position();
  while (cursor.peek() != ':' && cursor.peek() != '}') {
    if (!words.minor_to_major.empty() && !cursor.accept(",")) {
      return cursor.expected("',', ':' or '}'", kHelp);
    }
    if (words.minor_to_major.size() == kMaxRank) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxRank, " dims"),
                   cursor.next().span, "each dim once"};
    }
    TESSERA_TRY(const std::int64_t dim, cursor.integer("a dim", kHelp));
    words.minor_to_major.push_back(dim);
  }
  spans.order = cursor.since(from);
  if (words.minor_to_major.empty()) spans.order = {from, from};
  if (cursor.accept(":")) TESSERA_CHECK_OK(read_properties(cursor, words, spans));
  TESSERA_CHECK_OK(cursor.expect("}", kHelp));
  TESSERA_CHECK_OK(cursor.expect_end());
  TESSERA_TRY(Layout layout, lower(words, type.shape, type.dtype(), &spans));
  return Tensor{std::move(layout), "xla", make_terms(std::move(words))};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const XlaLayout words, raise_xla(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout().shape(), tensor.layout().dtype()),
          write(std::get<XlaLayout>(terms_of(tensor)))};
}

std::string tile_text(const std::vector<std::int64_t>& tile) {
  std::string text;
  for (const std::int64_t size : tile) {
    text += cat(text.empty() ? "" : ",", size == XlaLayout::kCombine ? "*" : std::to_string(size));
  }
  return cat("(", text, ")");
}

}  // namespace

std::string write(const XlaLayout& words) {
  std::string properties;
  for (const std::vector<std::int64_t>& tile : words.tiles) properties += tile_text(tile);
  if (!words.tiles.empty()) properties = cat("T", properties);
  if (words.tail_alignment) properties += cat("L(", *words.tail_alignment, ")");
  if (words.element_bits) properties += cat("E(", *words.element_bits, ")");
  if (words.memory_space) properties += cat("S(", *words.memory_space, ")");
  return cat("xla{", join(words.minor_to_major, ","), properties.empty() ? "" : ":", properties,
             "}");
}

Notation xla_notation() {
  return {.name = "xla",
          .keywords = {"xla"},
          .example = "tensor<3x5xf32, xla{1,0:T(2,2)}>",
          .read = read,
          .raise = raise,
          .write = write_tensor};
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tessera/base/text.h"
#include "tessera/notation/native/text.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxItems = 256;  // maximum number of folds and fills of a layout
constexpr std::array<std::string_view, 10> kKeys = {
    "mesh", "replicate", "partial", "fixed", "offset", "slots", "atom", "pad", "space", "device"};

Error said_twice(const Word& key) {
  return Error{ErrorCode::kContradiction, cat(key.text, " is given twice"), key.span,
               "give it once"};
}

Error too_many(std::string_view what, Span where) {
  return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxItems, " ", what), where,
               cat("at most ", kMaxItems, " ", what, " fit in one layout")};
}

Result<Said<std::int64_t>> read_amount(Cursor& cursor, std::string_view what) {
  TESSERA_CHECK_OK(cursor.expect("="));
  const std::int64_t from = cursor.position();
  TESSERA_TRY(const std::int64_t value, cursor.integer(what));
  return Said<std::int64_t>{value, cursor.since(from)};
}

/// DTYPE | 'tile' '(' INT 'x' INT ',' DTYPE ')'
Result<Said<Atom>> read_atom(Cursor& cursor) {
  TESSERA_CHECK_OK(cursor.expect("="));
  const std::int64_t from = cursor.position();
  Atom atom;
  if (cursor.accept_word("tile")) {
    TESSERA_CHECK_OK(cursor.expect("(", "a tile is such as tile(32x32, bfp_bf8)"));
    TESSERA_TRY(atom.rows, cursor.integer("the rows of a tile"));
    TESSERA_CHECK_OK(cursor.expect("x", "a tile is such as tile(32x32, bfp_bf8)"));
    TESSERA_TRY(atom.cols, cursor.integer("the columns of a tile"));
    TESSERA_CHECK_OK(cursor.expect(",", "a tile is such as tile(32x32, bfp_bf8)"));
    TESSERA_TRY(atom.storage, cursor.dtype());
    TESSERA_CHECK_OK(cursor.expect(")"));
  } else {
    TESSERA_TRY(atom.storage, cursor.dtype());
  }
  return Said<Atom>{atom, cursor.since(from)};
}

Result<Said<PaddingValue>> read_padding(Cursor& cursor) {
  TESSERA_CHECK_OK(cursor.expect("="));
  const std::int64_t from = cursor.position();
  PaddingValue value;
  if (!cursor.accept_word("undef")) {
    TESSERA_TRY(const double number,
                cursor.real("a padding value", "undef, inf, -inf or a number"));
    value = PaddingValue::of(number);
  }
  return Said<PaddingValue>{value, cursor.since(from)};
}

Result<Said<std::string>> read_space(Cursor& cursor) {
  TESSERA_CHECK_OK(cursor.expect("="));
  TESSERA_TRY(const Word name, cursor.identifier("a memory space", "such as l1 or dram"));
  return Said<std::string>{std::string(name.text), name.span};
}

Result<Reduction> read_reduction(Cursor& cursor) {
  TESSERA_TRY(const Word name, cursor.identifier("a reduction", "such as sum or max"));
  constexpr std::array kReductions = {Reduction::kSum, Reduction::kProduct, Reduction::kMin,
                                      Reduction::kMax, Reduction::kAnd,     Reduction::kOr};
  std::array<std::string_view, kReductions.size()> names;
  for (std::size_t i = 0; i < kReductions.size(); ++i) {
    names[i] = reduction_name(kReductions[i]);
    if (names[i] == name.text) return kReductions[i];
  }
  return Error{ErrorCode::kUnknownName, cat("no reduction is called ", quote_name(name.text)),
               name.span, did_you_mean(name.text, names)};
}

/// Reads the text after replicate, partial or fixed: '(' AXIS .. ')'
Result<FillText> read_fill(Cursor& cursor, std::string_view key, std::int64_t from) {
  FillText text;
  TESSERA_CHECK_OK(cursor.expect("("));
  TESSERA_TRY(const int axis, read_numbered(cursor, 'm', "a mesh axis such as m0"));
  if (key == "fixed") {
    TESSERA_CHECK_OK(cursor.expect("=", "a fixed axis is such as fixed(m0=0)"));
    TESSERA_TRY(const std::int64_t value, cursor.integer("a coordinate"));
    text.fill = Fill::fixed(axis, value);
  } else {
    std::int64_t count = 1;
    std::int64_t stride = 1;
    if (cursor.accept("#")) {
      TESSERA_TRY(count, cursor.integer("a count"));
      text.count_said = true;
    }
    if (cursor.accept("*")) {
      TESSERA_TRY(stride, cursor.integer("a stride"));
    }
    text.fill = Fill::replicate(axis, count, stride);
    if (key == "partial") {
      TESSERA_CHECK_OK(cursor.expect(",", "a partial axis is such as partial(m0, sum)"));
      TESSERA_TRY(const Reduction reduction, read_reduction(cursor));
      text.fill = Fill::partial(axis, count, reduction, stride);
    }
  }
  TESSERA_CHECK_OK(cursor.expect(")"));
  text.span = cursor.since(from);
  return text;
}

template <typename T>
Status say_once(std::optional<T>& slot, const Word& key, Result<T> value) {
  if (!value) return value.error();
  if (slot) return said_twice(key);
  slot = *std::move(value);
  return ok_status();
}

Status read_item(Cursor& cursor, NativeText& text) {
  if (cursor.peek() == '{') {
    if (text.folds.size() == kMaxItems) return too_many("folds", cursor.next().span);
    TESSERA_TRY(FoldText fold, read_fold(cursor));
    text.folds.push_back(std::move(fold));
    return ok_status();
  }
  TESSERA_TRY(const Word key,
              cursor.identifier("an item",
                                "a fold such as {d0} / (1 -> mem), or a key such as "
                                "mesh=[2, 2]"));
  if (key.text == "mesh") {
    TESSERA_CHECK_OK(cursor.expect("="));
    return say_once(text.mesh, key, read_mesh(cursor, "the extent of a mesh axis"));
  }
  if (key.text == "replicate" || key.text == "partial" || key.text == "fixed") {
    if (text.fills.size() == kMaxItems) return too_many("fills", key.span);
    TESSERA_TRY(const FillText fill, read_fill(cursor, key.text, key.span.from));
    text.fills.push_back(fill);
    return ok_status();
  }
  if (key.text == "offset") return say_once(text.offset, key, read_amount(cursor, "an offset"));
  if (key.text == "slots") return say_once(text.slots, key, read_amount(cursor, "a slot count"));
  if (key.text == "atom") return say_once(text.atom, key, read_atom(cursor));
  if (key.text == "pad") return say_once(text.padding, key, read_padding(cursor));
  if (key.text == "space") return say_once(text.space, key, read_space(cursor));
  if (key.text == "device") {
    TESSERA_CHECK_OK(cursor.expect("="));
    const auto size = text.mesh ? std::optional(text.mesh->value.elements()) : std::nullopt;
    return say_once(text.device, key, read_device(cursor, size));
  }
  return Error{ErrorCode::kUnknownName, cat("no item is called ", quote_name(key.text)), key.span,
               did_you_mean(key.text, kKeys)};
}

/// '<' [ item { ',' item } ] '>'
Result<NativeText> read_items(Cursor& cursor) {
  NativeText text;
  TESSERA_CHECK_OK(cursor.expect("<", "the native notation is native<items>"));
  if (cursor.accept(">")) return text;
  do {
    TESSERA_CHECK_OK(read_item(cursor, text));
  } while (cursor.accept(","));
  if (!cursor.accept(">")) return cursor.expected("',' or '>'");
  return text;
}

/// '[' [ INT ':' INT { ',' INT ':' INT } ] ']'
Result<Said<Box>> read_box(Cursor& cursor) {
  constexpr std::string_view kHelp = "a box is such as [0:2, 3:5]: a range of each dim";
  const std::int64_t from = cursor.position();
  TESSERA_CHECK_OK(cursor.expect("[", kHelp));
  Box box;
  if (cursor.accept("]")) return Said<Box>{box, cursor.since(from)};
  do {
    if (box.from.size() == kMaxRank) {
      return Error{ErrorCode::kRankTooLarge, cat("a box of more than ", kMaxRank, " ranges"),
                   cursor.next().span, "one range per dim"};
    }
    TESSERA_TRY(const std::int64_t first, cursor.integer("the first index of a range", kHelp));
    TESSERA_CHECK_OK(cursor.expect(":", kHelp));
    TESSERA_TRY(const std::int64_t end, cursor.integer("the end of a range", kHelp));
    box.from.push_back(first);
    box.to.push_back(end);
  } while (cursor.accept(","));
  if (!cursor.accept("]")) return cursor.expected("',' or ']'", kHelp);
  return Said<Box>{box, cursor.since(from)};
}

/// '<' box 'native' '<' items '>' { ',' .. } '>'
Result<std::vector<NativePieceText>> read_pieces(Cursor& cursor) {
  constexpr std::string_view kHelp = "pieces are boxes, each with a layout: [0:3] native<..>";
  std::vector<NativePieceText> pieces;
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  do {
    if (pieces.size() == kMaxPieces) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxPieces, " pieces"),
                   cursor.next().span, cat("at most ", kMaxPieces)};
    }
    NativePieceText piece;
    TESSERA_TRY(Said<Box> box, read_box(cursor));
    piece.box = std::move(box.value);
    piece.box_span = box.span;
    const std::int64_t from = cursor.position();
    TESSERA_CHECK_OK(cursor.expect_word("native", kHelp));
    TESSERA_TRY(piece.layout, read_items(cursor));
    piece.layout.whole = cursor.since(from);
    pieces.push_back(std::move(piece));
  } while (cursor.accept(","));
  if (!cursor.accept(">")) return cursor.expected("',' or '>'", kHelp);
  return pieces;
}

}  // namespace

Result<Said<Shape>> read_mesh(Cursor& cursor, std::string_view what) {
  const std::int64_t from = cursor.position();
  TESSERA_TRY(std::vector<std::int64_t> extents, cursor.integers(what, kMaxRank));
  const Result<Shape> mesh = Shape::make(std::move(extents));
  if (!mesh) return mesh.error().at(cursor.since(from));
  return Said<Shape>{*mesh, cursor.since(from)};
}

Result<NativeAny> read_native(std::string_view source) {
  Cursor cursor(source, "the end of the layout");
  NativeAny text;
  const std::int64_t from = cursor.position();
  TESSERA_CHECK_OK(cursor.expect_word("native"));
  if (cursor.accept(".")) {
    constexpr std::array<std::string_view, 2> kKinds = {"view", "pieces"};
    TESSERA_TRY(const Word kind, cursor.identifier("view or pieces"));
    if (kind.text != kKinds[0] && kind.text != kKinds[1]) {
      return Error{ErrorCode::kUnknownName,
                   cat("no native layout is called ", quote_name(cat("native.", kind.text))),
                   kind.span, did_you_mean(kind.text, kKinds)};
    }
    text.kind = kind.text == kKinds[0] ? NativeAny::Kind::kView : NativeAny::Kind::kPieces;
  }
  if (text.kind == NativeAny::Kind::kPieces) {
    TESSERA_TRY(text.pieces, read_pieces(cursor));
  } else {
    TESSERA_TRY(text.layout, read_items(cursor));
  }
  TESSERA_CHECK_OK(cursor.expect_end());
  text.whole = text.layout.whole = cursor.since(from);
  return text;
}

}  // namespace tessera::notation

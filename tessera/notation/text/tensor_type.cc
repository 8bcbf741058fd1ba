// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/text/tensor_type.h"

#include <utility>

#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kTensorHelp = "a tensor is such as tensor<53x63xf32, strided<[63, 1]>>";
constexpr std::string_view kTileHelp = "a tile is such as !ttcore.tile<32x32, bf16>";

bool at_number(const Cursor& cursor) {
  return cursor.peek() == '-' || cursor.peek() == '?' ||
         (cursor.peek() >= '0' && cursor.peek() <= '9');
}

/// One extent of `what`; dims count from 0 in messages.
Result<std::int64_t> read_extent(Cursor& cursor, std::size_t dim, std::string_view help) {
  const Span next = cursor.next().span;
  if (cursor.peek() == '?') {
    return Error{ErrorCode::kBadShape, cat("dim ", dim, " has the unknown extent '?'"), next,
                 "a layout needs every extent: write a number"};
  }
  if (dim == kMaxRank) {
    return Error{ErrorCode::kRankTooLarge, cat("a tensor of more than ", kMaxRank, " dims"), next,
                 "collapse dims that are always used together"};
  }
  TESSERA_TRY(const std::int64_t extent, cursor.integer("an extent", help));
  if (extent < 0) {
    return Error{ErrorCode::kBadShape, cat("dim ", dim, " has the negative extent ", extent),
                 cursor.since(next.from), "extents are 0 or more"};
  }
  return extent;
}

/// Tiles spell unsigned types as u32, everything else as MLIR does.
std::string tile_type_name(DType dtype) {
  const std::string_view name = dtype_name(dtype);
  return name.starts_with("ui") ? cat("u", name.substr(2)) : std::string(name);
}

}  // namespace

TensorType TensorType::of(Shape shape, DType dtype) {
  return {std::move(shape), Atom::scalar(dtype)};
}

Result<std::vector<std::int64_t>> read_extents(Cursor& cursor, std::string_view what) {
  std::vector<std::int64_t> extents;
  const std::string help = cat(what, " is written such as 3x2");
  do {
    TESSERA_TRY(const std::int64_t extent, read_extent(cursor, extents.size(), help));
    extents.push_back(extent);
  } while (cursor.accept("x"));
  return extents;
}

Result<Atom> read_element(Cursor& cursor) {
  if (cursor.peek() != '!') {
    TESSERA_TRY(const DType dtype, cursor.dtype());
    return Atom::scalar(dtype);
  }
  const std::int64_t from = cursor.position();
  cursor.accept("!");
  TESSERA_TRY(const Word dialect, cursor.identifier("'ttcore'", kTileHelp));
  if (dialect.text != "tt" && dialect.text != "ttcore") {
    return Error{ErrorCode::kUnknownName, cat("unknown dialect ", quote_name(dialect.text)),
                 dialect.span, std::string(kTileHelp)};
  }
  TESSERA_CHECK_OK(cursor.expect(".", kTileHelp));
  TESSERA_CHECK_OK(cursor.expect_word("tile", kTileHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kTileHelp));
  const std::int64_t size_from = cursor.position();
  TESSERA_TRY(const std::vector<std::int64_t> size, read_extents(cursor, "a tile"));
  if (size.size() != 2) {
    return Error{ErrorCode::kBadAtom, cat("a tile of ", size.size(), " dims"),
                 cursor.since(size_from), "tiles have two, such as 32x32"};
  }
  TESSERA_CHECK_OK(cursor.expect(",", kTileHelp));
  TESSERA_TRY(const DType dtype, cursor.dtype());
  TESSERA_CHECK_OK(cursor.expect(">", kTileHelp));
  const Atom tile = Atom::tile(size[0], size[1], dtype);
  if (const Status status = tile.check(); !status) return status.error().at(cursor.since(from));
  return tile;
}

Result<TensorType> read_tensor_type(Cursor& cursor, Span* extents) {
  const std::int64_t from = cursor.position();
  std::vector<std::int64_t> numbers;
  while (at_number(cursor)) {
    TESSERA_TRY(const std::int64_t extent, read_extent(cursor, numbers.size(), kTensorHelp));
    numbers.push_back(extent);
    TESSERA_CHECK_OK(cursor.expect("x", kTensorHelp));
  }
  const Span span = cursor.since(from);
  if (extents != nullptr) *extents = span;
  TESSERA_TRY(const Atom element, read_element(cursor));
  Result<Shape> shape = Shape::make(std::move(numbers));
  if (!shape) return shape.error().at(span);
  return TensorType{*std::move(shape), element};
}

std::string write_tensor_type(const std::vector<std::int64_t>& extents, const Atom& element,
                              std::string_view dialect) {
  std::string text;
  for (const std::int64_t extent : extents) text += cat(extent, "x");
  if (!element.is_tile()) return cat(text, dtype_name(element.storage));
  return cat(text, "!", dialect, ".tile<", element.rows, "x", element.cols, ", ",
             tile_type_name(element.storage), ">");
}

}  // namespace tessera::notation

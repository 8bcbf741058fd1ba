// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/xla.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/notation/cursor.h"
#include "tessera/notation/physical_dims.h"
#include "tessera/notation/registry.h"

namespace tessera {
namespace {

constexpr std::string_view kHelp = "such as xla{1,0} or xla{1,0:T(8,128)(2,1)}";
constexpr std::size_t kMaxTiles = 16;

struct XlaSpans {
  Span order;
  std::vector<Span> tiles;
};

Error at(Error error, const Span* span) { return span != nullptr ? error.at(*span) : error; }

Status check_order(const XlaLayout& words, const Shape& shape, const Span* span) {
  const std::vector<std::int64_t>& order = words.minor_to_major;
  const auto wrong = [&](std::string message) {
    std::vector<std::int64_t> row_major;
    for (std::size_t dim = shape.rank(); dim-- > 0;) {
      row_major.push_back(static_cast<std::int64_t>(dim));
    }
    return at({ErrorCode::kContradiction, std::move(message), std::nullopt,
               cat("each dim once, the fastest first: row-major is {", join(row_major, ","), "}")},
              span);
  };
  if (order.size() != shape.rank()) {
    return wrong(cat(order.size(), order.size() == 1 ? " dim" : " dims", " for a tensor of rank ",
                     shape.rank()));
  }
  std::vector<bool> seen(shape.rank(), false);
  for (const std::int64_t dim : order) {
    if (dim < 0 || dim >= static_cast<std::int64_t>(shape.rank())) {
      return wrong(cat("dim ", dim, " of a tensor of rank ", shape.rank()));
    }
    if (seen[static_cast<std::size_t>(dim)]) return wrong(cat("dim ", dim, " stands twice"));
    seen[static_cast<std::size_t>(dim)] = true;
  }
  return ok_status();
}

struct Physical {
  std::vector<std::vector<Term>> lines;
  std::vector<PhysicalDim> dims;  ///< slowest first
};

Result<Physical> physical_shape(const XlaLayout& words, const Shape& shape) {
  Physical physical;
  for (auto dim = words.minor_to_major.rbegin(); dim != words.minor_to_major.rend(); ++dim) {
    const int line = static_cast<int>(physical.lines.size());
    physical.lines.push_back({{static_cast<int>(*dim), 1}});
    physical.dims.push_back({line, 1, shape[static_cast<std::size_t>(*dim)], Cause::kTile, {}});
  }
  return physical;
}

/// `*` over dim `at` joins it with the next faster one.
Status combine(Physical& physical, std::size_t at) {
  PhysicalDim& slow = physical.dims[at];
  PhysicalDim& fast = physical.dims[at + 1];
  std::vector<Term> joined = physical.lines[static_cast<std::size_t>(slow.line)];
  for (Term& term : joined) {
    TESSERA_TRY(term.coef, (Checked(term.coef) * std::max<std::int64_t>(fast.count, 1))
                               .value("the length of combined dims"));
  }
  std::vector<Term>& line = physical.lines[static_cast<std::size_t>(fast.line)];
  line.insert(line.begin(), joined.begin(), joined.end());
  physical.lines[static_cast<std::size_t>(slow.line)].clear();
  TESSERA_TRY(fast.count, (Checked(fast.count) * slow.count).value("the length of combined dims"));
  physical.dims.erase(physical.dims.begin() + static_cast<std::ptrdiff_t>(at));
  return ok_status();
}

Status apply_tile(Physical& physical, std::vector<std::int64_t> tile, bool first,
                  const Span* span) {
  for (std::size_t i = 0; i < tile.size();) {
    if (tile[i] != XlaLayout::kCombine) {
      if (tile[i] < 1) {
        return at({ErrorCode::kBadCut, cat("a tile of ", tile[i]), std::nullopt,
                   "tile sizes are 1 or more"},
                  span);
      }
      ++i;
      continue;
    }
    if (!first || i + 1 == tile.size() || physical.dims.size() < tile.size() - i) {
      return at({ErrorCode::kNotSupported,
                 first ? "'*' without a faster dim to join" : "'*' in a tile after the first",
                 std::nullopt, "'*' joins a dim of the first tile with the next faster one"},
                span);
    }
    TESSERA_CHECK_OK(combine(physical, physical.dims.size() - (tile.size() - i)));
    tile.erase(tile.begin() + static_cast<std::ptrdiff_t>(i));
  }
  while (physical.dims.size() < tile.size()) {
    physical.dims.insert(physical.dims.begin(), {-1, 1, 1, Cause::kTile, {}});
  }
  std::vector<PhysicalDim> inner;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    PhysicalDim& dim = physical.dims[physical.dims.size() - tile.size() + i];
    const SplitDim parts = split_dim(dim, tile[i], Cause::kTile);
    dim = parts.outer;
    inner.push_back(parts.inner);
  }
  physical.dims.insert(physical.dims.end(), inner.begin(), inner.end());
  if (physical.dims.size() > kMaxRank) {
    return at({ErrorCode::kRankTooLarge, cat("more than ", kMaxRank, " dims after tiling"),
               std::nullopt, "use fewer tiles"},
              span);
  }
  return ok_status();
}

Result<Layout> lower_at(const XlaLayout& words, const Shape& shape, DType dtype,
                        const XlaSpans* spans) {
  TESSERA_CHECK_OK(check_order(words, shape, spans != nullptr ? &spans->order : nullptr));
  TESSERA_TRY(Physical physical, physical_shape(words, shape));
  for (std::size_t i = 0; i < words.tiles.size(); ++i) {
    TESSERA_CHECK_OK(apply_tile(physical, words.tiles[i], i == 0,
                                spans != nullptr ? &spans->tiles[i] : nullptr));
  }
  // Lines that were joined into others are gone.
  std::vector<std::vector<Term>> lines;
  for (PhysicalDim& dim : physical.dims) {
    if (dim.line < 0) continue;
    const std::vector<Term>& terms = physical.lines[static_cast<std::size_t>(dim.line)];
    const auto found = std::find(lines.begin(), lines.end(), terms);
    dim.line = static_cast<int>(found - lines.begin());
    if (found == lines.end()) lines.push_back(terms);
  }
  TESSERA_TRY(const Layout layout, lower_physical(shape, dtype, lines, physical.dims));
  if (!words.memory_space) return layout;
  LayoutSpec spec = layout.spec();
  spec.space = cat("s", *words.memory_space);
  return Layout::make(std::move(spec));
}

Result<std::vector<std::int64_t>> read_tile(Cursor& cursor) {
  TESSERA_CHECK_OK(cursor.expect("(", kHelp));
  std::vector<std::int64_t> tile;
  do {
    if (tile.size() == kMaxRank) {
      return Error{ErrorCode::kRankTooLarge, cat("a tile of more than ", kMaxRank, " dims"),
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
  TESSERA_CHECK_OK(cursor.expect(")", kHelp));
  return tile;
}

Status read_properties(Cursor& cursor, XlaLayout& words, XlaSpans& spans) {
  while (cursor.peek() != '}' && !cursor.at_end()) {
    const Word name = cursor.next_identifier();
    if (cursor.accept_word("T")) {
      if (!words.tiles.empty()) {
        return Error{ErrorCode::kSyntax, "tiles are said twice", name.span,
                     "all tiles follow one T: T(8,128)(2,1)"};
      }
      while (cursor.peek() == '(' || words.tiles.empty()) {
        if (words.tiles.size() == kMaxTiles) {
          return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxTiles, " tiles"),
                       cursor.next().span, "use fewer tiles"};
        }
        const std::int64_t from = cursor.position();
        TESSERA_TRY(std::vector<std::int64_t> tile, read_tile(cursor));
        words.tiles.push_back(std::move(tile));
        spans.tiles.push_back(cursor.since(from));
      }
    } else if (cursor.accept_word("S")) {
      TESSERA_CHECK_OK(cursor.expect("(", kHelp));
      TESSERA_TRY(words.memory_space, cursor.integer("a memory space"));
      TESSERA_CHECK_OK(cursor.expect(")", kHelp));
    } else {
      return Error{name.text.empty() ? ErrorCode::kSyntax : ErrorCode::kNotSupported,
                   cat("expected T(..) or S(..), found ", quote_name(cursor.next().text)),
                   cursor.next().span,
                   "tiles T and the memory space S are read; other properties of XLA layouts say "
                   "nothing about where elements are, leave them out"};
    }
  }
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
    if (!words.minor_to_major.empty()) TESSERA_CHECK_OK(cursor.expect(",", kHelp));
    if (words.minor_to_major.size() == kMaxRank) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxRank, " dims"),
                   cursor.next().span, "each dim once"};
    }
    TESSERA_TRY(const std::int64_t dim, cursor.integer("a dim", kHelp));
    words.minor_to_major.push_back(dim);
  }
  spans.order = cursor.since(from);
  if (cursor.accept(":")) TESSERA_CHECK_OK(read_properties(cursor, words, spans));
  TESSERA_CHECK_OK(cursor.expect("}", kHelp));
  TESSERA_CHECK_OK(cursor.expect_end());
  TESSERA_TRY(Layout layout, lower_at(words, type.shape, type.dtype(), &spans));
  return Tensor{std::move(layout), "xla", std::move(words)};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const XlaLayout words, raise_xla(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout.shape(), tensor.layout.dtype()),
          write(std::get<XlaLayout>(tensor.words))};
}

std::string tile_text(const std::vector<std::int64_t>& tile) {
  std::string text;
  for (const std::int64_t size : tile) {
    text += cat(text.empty() ? "" : ",", size == XlaLayout::kCombine ? "*" : std::to_string(size));
  }
  return cat("(", text, ")");
}

}  // namespace

Result<Layout> lower(const XlaLayout& words, const Shape& shape, DType dtype) {
  return lower_at(words, shape, dtype, nullptr);
}

std::string write(const XlaLayout& words) {
  std::string properties;
  for (const std::vector<std::int64_t>& tile : words.tiles) properties += tile_text(tile);
  if (!words.tiles.empty()) properties = cat("T", properties);
  if (words.memory_space) properties += cat("S(", *words.memory_space, ")");
  return cat("xla{", join(words.minor_to_major, ","), properties.empty() ? "" : ":", properties,
             "}");
}

Notation xla_notation() {
  return {"xla", {"xla"}, "tensor<3x5xf32, xla{1,0:T(2,2)}>", read, raise, write_tensor};
}

}  // namespace tessera

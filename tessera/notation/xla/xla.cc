// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/xla/xla.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/raising/physical_dims.h"

namespace tessera::notation {
namespace {

using Numbers = std::vector<std::int64_t>;

Error at(const Error& error, const Span* span) { return span != nullptr ? error.at(*span) : error; }

Status check_order(const XlaLayout& words, const Shape& shape, const Span* span) {
  const Numbers& order = words.minor_to_major;
  const auto wrong = [&](std::string message) {
    Numbers row_major;
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
    if (seen[static_cast<std::size_t>(dim)]) return wrong(cat("dim ", dim, " is listed twice"));
    seen[static_cast<std::size_t>(dim)] = true;
  }
  return ok_status();
}

struct Physical {
  std::vector<std::vector<Term>> lines;
  std::vector<TiledDim> dims;  ///< slowest first
};

Physical physical_shape(const XlaLayout& words, const Shape& shape) {
  Physical physical;
  for (const std::int64_t dim : std::views::reverse(words.minor_to_major)) {
    const int line = static_cast<int>(physical.lines.size());
    physical.lines.push_back({{static_cast<int>(dim), 1}});
    physical.dims.push_back({line, 1, shape[static_cast<std::size_t>(dim)], Cause::kTile, {}});
  }
  return physical;
}

/// `*` over dim `at` joins it with the next faster one.
Status combine(Physical& physical, std::size_t at) {
  const TiledDim slow = physical.dims[at];
  physical.dims.erase(physical.dims.begin() + static_cast<std::ptrdiff_t>(at));
  TiledDim& fast = physical.dims[at];
  if (slow.line < 0) return ok_status();  // a missing dim has one index
  std::vector<Term>& joined = physical.lines[static_cast<std::size_t>(slow.line)];
  if (fast.line < 0) {
    fast = slow;
    return ok_status();
  }
  for (Term& term : joined) {
    TESSERA_TRY(term.coef, (Checked(term.coef) * std::max<std::int64_t>(fast.count, 1))
                               .value("the length of combined dims"));
  }
  std::vector<Term>& line = physical.lines[static_cast<std::size_t>(fast.line)];
  line.insert(line.begin(), joined.begin(), joined.end());
  joined.clear();
  TESSERA_TRY(fast.count, (Checked(fast.count) * slow.count).value("the length of combined dims"));
  return ok_status();
}

Status check_tile(const Numbers& tile, bool first) {
  const auto wrong = [](ErrorCode code, std::string message) {
    return Error{code, std::move(message), std::nullopt,
                 "'*' joins a dim of the first tile with the next faster one: T(*,128)"};
  };
  if (tile.empty()) return wrong(ErrorCode::kBadCut, "a tile without numbers");
  for (const std::int64_t size : tile) {
    if (size == XlaLayout::kCombine && !first) {
      return wrong(ErrorCode::kNotSupported, "'*' in a tile after the first");
    }
    if (size != XlaLayout::kCombine && size < 1) {
      return Error{ErrorCode::kBadCut, cat("a tile of ", size), std::nullopt,
                   "tile sizes are 1 or more"};
    }
  }
  if (tile.back() == XlaLayout::kCombine) {
    return wrong(ErrorCode::kBadCut, "'*' without a faster dim to join");
  }
  return ok_status();
}

Status apply_tile(Physical& physical, Numbers tile) {
  if (physical.dims.size() < tile.size()) {
    physical.dims.insert(physical.dims.begin(), tile.size() - physical.dims.size(),
                         {-1, 1, 1, Cause::kTile, {}});
  }
  for (std::size_t i = 0; i < tile.size();) {
    if (tile[i] != XlaLayout::kCombine) {
      ++i;
      continue;
    }
    TESSERA_CHECK_OK(combine(physical, physical.dims.size() - (tile.size() - i)));
    tile.erase(tile.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::vector<TiledDim> inner;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    TiledDim& dim = physical.dims[physical.dims.size() - tile.size() + i];
    TESSERA_TRY(SplitDim parts, split_dim(dim, tile[i], Cause::kTile));
    dim = std::move(parts.outer);
    inner.push_back(std::move(parts.inner));
  }
  physical.dims.insert(physical.dims.end(), inner.begin(), inner.end());
  return ok_status();
}

/// Removes lines that were joined into others.
void forget_joined(Physical& physical) {
  std::vector<std::vector<Term>> lines;
  for (TiledDim& dim : physical.dims) {
    if (dim.line < 0) continue;
    const std::vector<Term>& terms = physical.lines[static_cast<std::size_t>(dim.line)];
    const auto found = std::find(lines.begin(), lines.end(), terms);
    dim.line = static_cast<int>(found - lines.begin());
    if (found == lines.end()) lines.push_back(terms);
  }
  physical.lines = std::move(lines);
}

Status take_properties(const XlaLayout& words, const XlaSpans* spans, LayoutSpec& spec,
                       std::int64_t slots) {
  if (words.tail_alignment) {
    const Span* span = spans != nullptr ? &spans->tail_alignment : nullptr;
    if (*words.tail_alignment < 1) {
      return at({ErrorCode::kBadNumber, cat("a tail alignment of ", *words.tail_alignment),
                 std::nullopt, "L(n) rounds the slots up to a multiple of n, at least 1"},
                span);
    }
    const Result<std::int64_t> rounded =
        (Checked(ceil_div(slots, *words.tail_alignment)) * *words.tail_alignment)
            .value("the number of slots");
    if (!rounded) return at(rounded.error(), span);
    if (*rounded != slots) spec.slots = *rounded;
  }
  const std::optional<DType> storage = xla_storage(spec.dtype, words.element_bits);
  if (!storage) {
    return at({ErrorCode::kNotSupported,
               cat("an element of ", dtype_name(spec.dtype), " in ", words.element_bits.value_or(0),
                   " bits"),
               std::nullopt, "E(n) widens integers to 8, 16, 32 or 64 bits, or is the type's own"},
              spans != nullptr ? &spans->element_bits : nullptr);
  }
  spec.atom = Atom::scalar(*storage);
  if (words.memory_space && *words.memory_space < 0) {
    return at({ErrorCode::kBadNumber, cat("a memory space of ", *words.memory_space), std::nullopt,
               "memory spaces count from 0, the default one"},
              spans != nullptr ? &spans->memory_space : nullptr);
  }
  if (words.memory_space.value_or(0) != 0) spec.space = cat("s", *words.memory_space);
  return ok_status();
}

}  // namespace

std::optional<DType> xla_storage(DType dtype, std::optional<std::int64_t> bits) {
  const std::optional<std::int64_t> own = dtype_bits(dtype);
  if (!own) return std::nullopt;
  const std::int64_t wanted = bits.value_or(0) != 0 ? *bits : std::max<std::int64_t>(*own, 8);
  if (wanted == *own) return dtype;
  if (wanted < *own) return std::nullopt;
  const auto of_bits = [&](const std::array<DType, 4>& types) -> std::optional<DType> {
    for (const DType type : types) {
      if (dtype_bits(type) == wanted) return type;
    }
    return std::nullopt;
  };
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
      return of_bits({DType::kU8, DType::kU16, DType::kU32, DType::kU64});
    case DType::kSI8:
    case DType::kSI16:
    case DType::kSI32:
      return of_bits({DType::kSI8, DType::kSI16, DType::kSI32, DType::kSI64});
    case DType::kI2:
    case DType::kI4:
      if (wanted == 4) return DType::kI4;
      [[fallthrough]];
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
      return of_bits({DType::kI8, DType::kI16, DType::kI32, DType::kI64});
    default:
      return std::nullopt;
  }
}

Result<Layout> lower(const XlaLayout& words, const Shape& shape, DType dtype,
                     const XlaSpans* spans) {
  TESSERA_CHECK_OK(check_order(words, shape, spans != nullptr ? &spans->order : nullptr));
  Physical physical = physical_shape(words, shape);
  std::size_t numbers = 0;
  for (const Numbers& tile : words.tiles) numbers += tile.size();
  if (words.tiles.size() > kMaxXlaTiles || numbers > kMaxXlaNumbers) {
    return Error{ErrorCode::kRankTooLarge,
                 cat(words.tiles.size(), " tiles of ", numbers, " numbers: more than ",
                     kMaxXlaTiles, " or ", kMaxXlaNumbers),
                 std::nullopt, "use fewer tiles"};
  }
  for (std::size_t i = 0; i < words.tiles.size(); ++i) {
    const Span* span = spans != nullptr ? &spans->tiles[i] : nullptr;
    if (const Status status = check_tile(words.tiles[i], i == 0); !status) {
      return at(status.error(), span);
    }
    if (const Status status = apply_tile(physical, words.tiles[i]); !status) {
      return at(status.error(), span);
    }
  }
  forget_joined(physical);
  const Result<Layout> tiled = lower_physical(shape, dtype, physical.lines, physical.dims);
  if (!tiled && spans != nullptr) {
    if (words.tiles.empty()) return tiled.error().at(spans->order);
    return tiled.error().at({spans->tiles.front().from, spans->tiles.back().to});
  }
  if (!tiled) return tiled.error();
  LayoutSpec spec = tiled->spec();
  TESSERA_CHECK_OK(take_properties(words, spans, spec, tiled->slots()));
  return Layout::make(std::move(spec));
}

}  // namespace tessera::notation

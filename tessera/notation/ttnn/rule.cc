// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/ttnn/rule.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

using Memory = TtnnLayout::Memory;

std::string map_help(const Shape& shape, const Atom& element) {
  const Result<AffineMap> map = ttnn_collapse(shape, element);
  return map ? cat("TTNN's map is ", write_affine_map(*map)) : std::string();
}

Error contradiction(std::string message, std::string help, std::string correction = {}) {
  return Error{ErrorCode::kContradiction, std::move(message), std::nullopt, std::move(help),
               std::move(correction)};
}

/// An invalid map; TTNN derives exactly one map for a tensor.
Error wrong_map(std::string message, const Shape& shape, const Atom& element) {
  const Result<AffineMap> map = ttnn_collapse(shape, element);
  return contradiction(std::move(message), map_help(shape, element),
                       map ? write_affine_map(*map) : std::string());
}

/// TTNN has strides, not maps: a line is a sum of dims.
Status check_sums(const AffineMap& map, const Shape& shape, const Atom& element) {
  for (const AffineResult& result : map.results) {
    const bool rises = std::all_of(result.terms.begin(), result.terms.end(),
                                   [](const Term& term) { return term.coef > 0; });
    if (result.is_linear() && result.constant == 0 && rises) continue;
    return Error{ErrorCode::kNotSupported,
                 cat("TTNN cannot lay out ", write_affine_map({map.dims, {result}})), std::nullopt,
                 cat("each result is 0 or a sum of dims times positive numbers; ",
                     map_help(shape, element))};
  }
  return ok_status();
}

/// Dims that a line joins must leave room for each other once they are padded.
Status check_room(const AffineResult& result, const Shape& shape, const Shape& padded,
                  const Atom& element) {
  std::vector<Term> terms;
  for (const Term& term : result.terms) {
    if (padded[static_cast<std::size_t>(term.dim)] > 1) terms.push_back(term);
  }
  const auto held = [&](const Term& term) { return shape[static_cast<std::size_t>(term.dim)] > 1; };
  std::sort(terms.begin(), terms.end(), [&](const Term& a, const Term& b) {
    return std::pair(a.coef, held(a)) < std::pair(b.coef, held(b));
  });
  Checked taken = 1;
  for (const Term& term : terms) {
    if (held(term) && term.coef < taken.saturated()) {
      return wrong_map(
          cat("d", term.dim, " steps by ", term.coef, " over dims that take ", taken.saturated(),
              " after padding to ", element.rows, "x", element.cols, " tiles"),
          shape, element);
    }
    taken += Checked(term.coef) * (padded[static_cast<std::size_t>(term.dim)] - 1);
  }
  return ok_status();
}

Status check_linear(const TtnnLayout& words, const Shape& shape) {
  const Atom& element = words.memref.element;
  const std::size_t lines = words.linear.results.size();
  if (static_cast<std::size_t>(words.linear.dims) != shape.rank()) {
    return wrong_map(cat("a map of ", words.linear.dims, words.linear.dims == 1 ? " dim" : " dims",
                         " for a tensor of rank ", shape.rank()),
                     shape, element);
  }
  if (lines > kMaxRank) {
    return Error{ErrorCode::kRankTooLarge, cat("a map with ", lines, " results"), std::nullopt,
                 cat("at most ", kMaxRank)};
  }
  TESSERA_CHECK_OK(check_sums(words.linear, shape, element));
  if (element.is_tile() && lines < 2) {
    return wrong_map(cat("a map with ", lines, lines == 1 ? " result" : " results", " for ",
                         element.rows, "x", element.cols, " tiles"),
                     shape, element);
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    const auto has_dim = [&](const AffineResult& result) {
      return std::any_of(result.terms.begin(), result.terms.end(), [&](const Term& term) {
        return static_cast<std::size_t>(term.dim) == dim;
      });
    };
    if (shape[dim] > 1 && !shape.empty() &&
        std::none_of(words.linear.results.begin(), words.linear.results.end(), has_dim)) {
      return wrong_map(
          cat("no result of the map uses d", dim, ", which has ", shape[dim], " elements"), shape,
          element);
    }
  }
  return ok_status();
}

/// Which memories have which memory layouts.
Status check_memory(const TtnnLayout& words, const TtnnSpans* spans) {
  const std::string& space = words.memref.space;
  const std::string_view memory = ttnn_memory_name(words.memory);
  if (space == "system" && words.memory != Memory::kUnsaid) {
    return at_part(contradiction(cat("a tensor in system memory with the memory layout ", memory),
                                 "system memory has none: omit it", ">"),
                   spans, &TtnnSpans::memory_item);
  }
  if (space != "system" && words.memory == Memory::kUnsaid) {
    return at_part(contradiction(cat("a tensor in ", space, " without a memory layout"),
                                 "give it after the memref: <interleaved>, or <block_sharded>"),
                   spans, &TtnnSpans::memref);
  }
  if (words.is_sharded() && space != "l1" && space != "dram") {
    return at_part(contradiction(cat("a ", memory, " tensor in ", space),
                                 "only tensors in l1 and dram are sharded"),
                   spans, &TtnnSpans::memory);
  }
  if (words.memory == Memory::kBlockSharded && space == "dram") {
    return at_part(contradiction("a block_sharded tensor in dram",
                                 "dram supports interleaved, height_sharded and width_sharded"),
                   spans, &TtnnSpans::memory);
  }
  if (words.is_sharded() && words.ignore_physical_layout) {
    return at_part(Error{ErrorCode::kNotSupported,
                         cat("ignorePhysicalLayout does not specify where the shards of a ", memory,
                             " tensor are"),
                         std::nullopt, "a layout specifies where every element is: omit the flag"},
                   spans, &TtnnSpans::memory);
  }
  if (!words.is_sharded() && !words.core_ranges.empty()) {
    return at_part(contradiction(cat("core ranges for a tensor that is not sharded"),
                                 "omit core_ranges, or use height_sharded, width_sharded or "
                                 "block_sharded"),
                   spans, &TtnnSpans::cores);
  }
  return ok_status();
}

Status check_grid(const TtnnLayout& words) {
  const std::vector<std::int64_t>& grid = words.grid;
  Checked places = 1;
  for (const std::int64_t extent : grid) {
    if (extent < 1) {
      return contradiction(cat("grid ", join(grid, "x"), " is empty"), "each extent is 1 or more");
    }
    places *= extent;
  }
  TESSERA_TRY([[maybe_unused]] const std::int64_t count, places.value("the number of places"));
  if (grid.size() != 2) {
    return contradiction(cat("a grid of ", grid.size(), grid.size() == 1 ? " dim" : " dims"),
                         "a grid has rows and columns, such as 8x8");
  }
  if (words.is_sharded()) {
    const std::size_t lines = words.linear.results.size();
    if (lines == 2) return ok_status();
    return contradiction(
        cat("a sharded tensor whose map has ", lines, lines == 1 ? " result" : " results"),
        "shards are cut from rows and columns: two results");
  }
  if (words.memref.space == "l1" || places.raw() == 1) return ok_status();
  return contradiction(cat("grid ", join(grid, "x"), " for a tensor in ", words.memref.space,
                           words.memory == Memory::kInterleaved ? ", interleaved" : ""),
                       "expected <1x1>", "1x1");
}

Result<std::vector<std::int64_t>> share_of_a_core(const TtnnLayout& words,
                                                  const std::vector<std::int64_t>& atoms) {
  Checked all = 1;
  for (const std::int64_t count : atoms) all *= count;
  TESSERA_TRY(const std::int64_t total, all.value("the number of atoms"));
  return std::vector<std::int64_t>{1, ceil_div(total, words.grid[0] * words.grid[1])};
}

}  // namespace

Error at_part(const Error& error, const TtnnSpans* spans, Span TtnnSpans::* part) {
  return spans != nullptr ? error.at(spans->*part) : error;
}

std::string_view ttnn_memory_name(Memory memory) {
  switch (memory) {
    case Memory::kUnsaid:
      return "";
    case Memory::kInterleaved:
      return "interleaved";
    case Memory::kHeightSharded:
      return "height_sharded";
    case Memory::kWidthSharded:
      return "width_sharded";
    case Memory::kBlockSharded:
      return "block_sharded";
  }
  return "";
}

std::string ttnn_buffer_type(std::string_view space) {
  return cat("#ttnn.buffer_type<", space == "system" ? "system_memory" : space, ">");
}

std::vector<std::int64_t> ttnn_pieces(const TtnnLayout& words) {
  const std::vector<std::int64_t>& grid = words.grid;
  switch (words.memory) {
    case Memory::kHeightSharded:
      return {grid[0] * grid[1], 1};
    case Memory::kWidthSharded:
      return {1, grid[0] * grid[1]};
    case Memory::kBlockSharded:
      return grid;
    case Memory::kUnsaid:
    case Memory::kInterleaved:
      break;
  }
  return {1, 1};
}

Result<Shape> ttnn_padded(const Shape& shape, const Atom& element) {
  std::vector<std::int64_t> extents = shape.extents();
  const std::size_t rank = extents.size();
  const auto round_up = [&](std::size_t dim, std::int64_t tile) {
    Checked padded = Checked(ceil_div(extents[dim], tile)) * tile;
    extents[dim] = padded.saturated();
  };
  if (rank > 0) round_up(rank - 1, element.cols);
  if (rank > 1) round_up(rank - 2, element.rows);
  return Shape::make(std::move(extents));
}

Result<AffineMap> ttnn_collapse(const Shape& shape, const Atom& element) {
  TESSERA_TRY(const Shape padded, ttnn_padded(shape, element));
  AffineMap map{static_cast<int>(shape.rank()), {AffineResult{}, AffineResult{}}};
  if (shape.rank() == 0) return map;
  const int last = map.dims - 1;
  map.results[1].terms = {{last, 1}};
  std::int64_t rows = 1;  // divides the product of the padded extents, which fits
  for (int dim = last; dim-- > 0;) {
    map.results[0].terms.insert(map.results[0].terms.begin(), {dim, rows});
    rows *= std::max<std::int64_t>(padded[static_cast<std::size_t>(dim)], 1);
  }
  return map;
}

Result<TtnnNumbers> ttnn_numbers(const TtnnLayout& words, const Shape& shape,
                                 const TtnnSpans* spans) {
  const Atom& element = words.memref.element;
  TESSERA_CHECK_OK(element.check());
  if (const Status status = check_linear(words, shape); !status) {
    return at_part(status.error(), spans, &TtnnSpans::linear);
  }
  TESSERA_CHECK_OK(check_memory(words, spans));
  if (const Status status = check_grid(words); !status) {
    return at_part(status.error(), spans, &TtnnSpans::grid);
  }
  const Result<Shape> padded = ttnn_padded(shape, element);
  if (!padded) return at_part(padded.error(), spans, &TtnnSpans::memref);
  TtnnNumbers numbers;
  const std::size_t lines = words.linear.results.size();
  numbers.tile.assign(lines, 1);
  if (element.is_tile()) {
    numbers.tile[lines - 2] = element.rows;
    numbers.tile[lines - 1] = element.cols;
  }
  numbers.pieces = words.is_sharded() ? ttnn_pieces(words) : std::vector<std::int64_t>(lines, 1);
  for (std::size_t line = 0; line < lines; ++line) {
    const AffineResult& result = words.linear.results[line];
    if (element.is_tile()) {
      if (const Status status = check_room(result, shape, *padded, element); !status) {
        return at_part(status.error(), spans, &TtnnSpans::linear);
      }
    }
    const Result<std::int64_t> length = line_length(result, *padded);
    if (!length) return at_part(length.error(), spans, &TtnnSpans::linear);
    numbers.atoms.push_back(ceil_div(*length, numbers.tile[line]));
    const auto whole = (Checked(numbers.atoms[line]) * numbers.tile[line]).value("a line");
    if (!whole) return at_part(whole.error(), spans, &TtnnSpans::linear);
    numbers.physical.push_back(*whole);
    numbers.shard.push_back(ceil_div(*whole, numbers.pieces[line]));
    numbers.memref.push_back(ceil_div(numbers.shard[line], numbers.tile[line]));
  }
  if (words.memref.space == "l1" && !words.is_sharded()) {
    TESSERA_TRY(numbers.memref, share_of_a_core(words, numbers.atoms));
  }
  return numbers;
}

}  // namespace tessera::notation

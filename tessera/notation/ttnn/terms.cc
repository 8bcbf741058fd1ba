// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/ttnn/terms.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

using Pair = std::array<std::int64_t, 2>;

Error at(const Error& error, const TermsSpans* spans, Span TermsSpans::* item) {
  return spans != nullptr ? error.at(spans->*item) : error;
}

Error contradiction(std::string message, std::string help) {
  return Error{ErrorCode::kContradiction, std::move(message), std::nullopt, std::move(help)};
}

/// The volume, then PyTorch's strides.
std::string packed(const Shape& shape) {
  std::vector<std::int64_t> stride = shape.row_major_strides();
  stride.insert(stride.begin(), shape.elements());
  return cat("packed it is stride=", bracketed(stride));
}

Status check_stride(const TtnnTerms& words, const Shape& shape) {
  const std::vector<std::int64_t>& stride = words.stride;
  if (stride.size() != shape.rank() + 1) {
    return contradiction(cat(stride.size(), stride.size() == 1 ? " stride" : " strides",
                             " for a tensor of rank ", shape.rank()),
                         cat("the volume, then one stride per dim: ", packed(shape)));
  }
  for (const std::int64_t step : stride) {
    if (step < (shape.empty() ? 0 : 1)) {
      return contradiction(cat("a stride of ", step), packed(shape));
    }
  }
  if (shape.rank() > 0 && shape[shape.rank() - 1] > 1 && stride.back() != 1) {
    return contradiction(cat("the last dim has the stride ", stride.back()),
                         "the last dim is contiguous: its stride is 1");
  }
  return ok_status();
}

/// The number of rows per step along each dim except the last. Rows without columns, which only an
/// empty tensor has, do not determine it: those rows are packed.
Status fill_steps(const TtnnTerms& words, const Shape& shape, TermsNumbers& numbers) {
  const std::int64_t cols = numbers.physical[1];
  for (std::size_t i = 0; i + 1 < shape.rank(); ++i) {
    if (cols == 0 ? words.stride[i] == 0 : words.stride[i] % cols == 0) continue;
    return contradiction(cat(i == 0 ? "the volume" : "a stride", " of ", words.stride[i],
                             " is not a whole number of rows of ", cols),
                         cat("all dims but the last collapse into rows of stride[-2] = ", cols));
  }
  Checked packed_rows = 1;
  for (std::size_t dim = shape.rank(); dim-- > 0;) {
    if (dim + 1 == shape.rank()) continue;
    const std::int64_t step = cols == 0 ? packed_rows.saturated() : words.stride[dim + 1] / cols;
    numbers.steps.insert(numbers.steps.begin(), step);
    packed_rows *= std::max<std::int64_t>(shape[dim], 1);
  }
  return ok_status();
}

/// Rows and columns of the physical tensor, which must hold what the data need.
Status fill_physical(const TtnnTerms& words, const Shape& shape, TermsNumbers& numbers) {
  const std::size_t rank = shape.rank();
  const std::int64_t cols = rank == 0 ? words.stride[0] : words.stride[rank - 1];
  numbers.physical[1] = cols;
  TESSERA_CHECK_OK(fill_steps(words, shape, numbers));
  Checked rows = 1;
  bool no_rows = false;
  for (std::size_t dim = 0; dim + 1 < rank; ++dim) {
    rows += Checked(numbers.steps[dim]) * (shape[dim] - 1);
    no_rows = no_rows || shape[dim] == 0;
  }
  numbers.needed = {no_rows ? 0 : rows.saturated(), rank == 0 ? 1 : shape[rank - 1]};
  numbers.physical[0] = rank < 2 ? 1 : cols == 0 ? numbers.needed[0] : words.stride[0] / cols;
  if (numbers.needed[0] <= numbers.physical[0] && numbers.needed[1] <= numbers.physical[1]) {
    return ok_status();
  }
  return contradiction(cat("a physical tensor of ", join(numbers.physical, "x"), " for ",
                           numbers.needed[0], " rows of ", numbers.needed[1], " elements"),
                       packed(shape));
}

/// Shards and tiles, in the same way for both lines.
Status fill_shards(const TtnnTerms& words, const TermsSpans* spans, TermsNumbers& numbers) {
  const bool tiled = words.tile_shape != Pair{0, 0};
  numbers.tile = tiled ? words.tile_shape : Pair{1, 1};
  for (std::size_t i = 0; i < 2; ++i) {
    if (numbers.tile[i] < 1) {
      return at(contradiction(cat("a tile of ", join(words.tile_shape, "x")), "such as [32, 32]"),
                spans, &TermsSpans::tile);
    }
    if (words.shard_shape[i] < 1) {
      return at(contradiction(cat("a shard of ", join(words.shard_shape, "x")),
                              cat("a single shard is ", bracketed(numbers.physical))),
                spans, &TermsSpans::shard);
    }
    const std::int64_t shards = ceil_div(numbers.physical[i], words.shard_shape[i]);
    numbers.grid[i] = std::max<std::int64_t>(shards, 1);
    numbers.atoms[i] = ceil_div(words.shard_shape[i], numbers.tile[i]);
    const auto padded = (Checked(numbers.atoms[i]) * numbers.tile[i]).value("a padded shard");
    if (!padded) return at(padded.error(), spans, &TermsSpans::shard);
    numbers.physical_shard[i] = *padded;
  }
  const auto slots =
      (Checked(numbers.physical_shard[0]) * numbers.physical_shard[1]).value("a padded shard");
  if (!slots) return at(slots.error(), spans, &TermsSpans::shard);
  return ok_status();
}

/// One line: the physical extent, then shards, then tiles.
Fold fold_line(const TtnnTerms& words, const TermsNumbers& numbers, std::size_t line,
               std::vector<Term> terms) {
  const std::int64_t tile = numbers.tile[line];
  const std::int64_t atom = numbers.tile[0] * numbers.tile[1];
  const std::int64_t stride = line == 0 ? numbers.atoms[1] * atom : atom;
  const std::int64_t inner = line == 0 ? numbers.tile[1] : 1;
  Fold fold{std::move(terms), 0, {}};
  if (numbers.needed[line] < numbers.physical[line]) {
    // A digit that is always 0 separates the gaps of the strides from the padding of the grid.
    fold.cuts.push_back({numbers.physical[line], 1, Target::nothing(), 1, Cause::kGap});
  }
  fold.cuts.push_back({words.shard_shape[line], numbers.grid[line],
                       Target::mesh(static_cast<int>(line)), 1, Cause::kGrid});
  if (tile > 1) {
    fold.cuts.push_back({tile, numbers.atoms[line], Target::memory(), stride, Cause::kTile});
    fold.cuts.push_back({1, tile, Target::memory(), inner, Cause::kTile});
  } else {
    fold.cuts.push_back({1, numbers.atoms[line], Target::memory(), stride, Cause::kTile});
  }
  return fold;
}

}  // namespace

Result<TermsNumbers> terms_numbers(const TtnnTerms& words, const Shape& shape,
                                   const TermsSpans* spans) {
  TermsNumbers numbers;
  if (const Status status = check_stride(words, shape); !status) {
    return at(status.error(), spans, &TermsSpans::stride);
  }
  if (const Status status = fill_physical(words, shape, numbers); !status) {
    return at(status.error(), spans, &TermsSpans::stride);
  }
  TESSERA_CHECK_OK(fill_shards(words, spans, numbers));
  if (words.grid_shape && *words.grid_shape != numbers.grid) {
    return at(
        contradiction(cat("grid_shape ", bracketed(*words.grid_shape), " for ",
                          join(numbers.physical, "x"), " in shards of ",
                          join(words.shard_shape, "x"), ": expected ", bracketed(numbers.grid)),
                      cat("write grid_shape=", bracketed(numbers.grid))),
        spans, &TermsSpans::grid);
  }
  if (words.physical_shard_shape && *words.physical_shard_shape != numbers.physical_shard) {
    return at(contradiction(
                  cat("physical_shard_shape ", bracketed(*words.physical_shard_shape),
                      " for shards of ", join(words.shard_shape, "x"), " in tiles of ",
                      join(numbers.tile, "x"), ": expected ", bracketed(numbers.physical_shard)),
                  cat("write physical_shard_shape=", bracketed(numbers.physical_shard))),
              spans, &TermsSpans::physical_shard);
  }
  return numbers;
}

Result<Layout> lower_terms(const TtnnTerms& words, const Shape& shape, DType dtype,
                           const TermsSpans* spans) {
  TESSERA_TRY(const TermsNumbers numbers, terms_numbers(words, shape, spans));
  LayoutSpec spec;
  spec.dtype = dtype;
  spec.atom = Atom::tile(numbers.tile[0], numbers.tile[1], dtype);
  if (const Status status = spec.atom.check(); !status) {
    return at(status.error(), spans, &TermsSpans::tile);
  }
  spec.form.shape = shape;
  Result<Shape> mesh = Shape::make({numbers.grid[0], numbers.grid[1]});
  if (!mesh) return at(mesh.error(), spans, &TermsSpans::shard);
  spec.form.mesh = *std::move(mesh);
  std::vector<Term> rows;
  for (std::size_t dim = 0; dim < numbers.steps.size(); ++dim) {
    // Only in an empty tensor a dim can have a step of 0 rows.
    if (numbers.steps[dim] > 0) rows.push_back({static_cast<int>(dim), numbers.steps[dim]});
  }
  std::vector<Term> cols;
  if (shape.rank() > 0) cols.push_back({static_cast<int>(shape.rank()) - 1, 1});
  spec.form.folds = {fold_line(words, numbers, 0, std::move(rows)),
                     fold_line(words, numbers, 1, std::move(cols))};
  Result<Layout> layout = Layout::make(std::move(spec));
  if (!layout) return at(layout.error(), spans, &TermsSpans::stride);
  return layout;
}

Result<Layout> lower(const TtnnTerms& words, const Shape& shape, DType dtype) {
  return lower_terms(words, shape, dtype, nullptr);
}

}  // namespace tessera::notation

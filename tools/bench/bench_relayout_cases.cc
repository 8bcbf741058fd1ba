// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/layout.h"
#include "tools/bench/bench_relayout.h"

namespace tessera::tools {
namespace {

using Extents = std::vector<std::int64_t>;
constexpr std::int64_t kSmall = std::int64_t{16} << 20;  // above: goals beyond the caches
constexpr std::array kDTypes = {DType::kF32, DType::kBF16, DType::kI8};

std::int64_t bytes_of(DType dtype) { return *dtype_bits(dtype) / 8; }

/// The share to reach by element size: 4, 2 and 1 byte.
struct Goals {
  double f32 = 0, two = 0, one = 0;
  std::optional<double> of(DType dtype) const {
    const double goal = bytes_of(dtype) == 4 ? f32 : bytes_of(dtype) == 2 ? two : one;
    return goal > 0 ? std::optional(goal) : std::nullopt;
  }
};

std::int64_t power_of_two_below(std::int64_t n) {
  std::int64_t power = 1;
  while (power <= n / 2) power *= 2;
  return power;
}

/// What all cases of one size and type have in common.
class Suite {
 public:
  Suite(std::int64_t bytes, DType dtype, std::vector<RelayoutCase>& cases)
      : bytes_(bytes), dtype_(dtype), elements_(bytes / bytes_of(dtype)), cases_(cases) {}

  Status transposes();
  Status tiles();
  Status sticks();
  Status channels();
  Status odd_even();
  Status blocks();
  Status permutations();

 private:
  /// Near-square powers of two: 8192x8192 for 256 MiB of f32, 8192x16384 for two bytes.
  std::array<std::int64_t, 2> matrix() const {
    const std::int64_t n = power_of_two_below(elements_);
    std::int64_t rows = 1;
    while (4 * rows * rows <= n) rows *= 2;
    return {rows, n / rows};
  }
  Result<Placement> strided(const Extents& extents, const Extents& strides) const {
    TESSERA_TRY(const Shape shape, Shape::make(extents));
    TESSERA_TRY(Layout layout, Layout::strided(shape, dtype_, strides));
    return Placement(std::move(layout));
  }
  Result<Placement> dense(const Extents& extents) const {
    TESSERA_TRY(const Shape shape, Shape::make(extents));
    TESSERA_TRY(Layout layout, Layout::row_major(shape, dtype_));
    return Placement(std::move(layout));
  }
  /// One line per dim, with the given cuts.
  Result<Placement> cut(const Extents& extents, std::vector<std::vector<Cut>> cuts,
                        Extents mesh = {}, PaddingValue padding = PaddingValue::undef()) const {
    LayoutSpec spec;
    TESSERA_TRY(spec.form.shape, Shape::make(extents));
    TESSERA_TRY(spec.form.mesh, Shape::make(std::move(mesh)));
    for (std::size_t d = 0; d < cuts.size(); ++d) {
      spec.form.folds.push_back({{{static_cast<int>(d), 1}}, 0, std::move(cuts[d])});
    }
    spec.dtype = dtype_;
    spec.atom = Atom::scalar(dtype_);
    spec.padding = padding;
    TESSERA_TRY(Layout layout, Layout::make(std::move(spec)));
    return Placement(std::move(layout));
  }
  static Cut memory(std::int64_t width, std::int64_t count, std::int64_t stride) {
    return {width, count, Target::memory(), stride, Cause::kAlignment};
  }
  static Cut mesh(std::int64_t width, std::int64_t count, int axis) {
    return {width, count, Target::mesh(axis), 1, Cause::kGrid};
  }
  /// Row-major tiles of rows x columns, each row-major inside; zeros where they reach past the end.
  Result<Placement> tiled(const Extents& extents, std::int64_t rows, std::int64_t columns) const;
  /// Blocks of `block` x `block` distributed over 8x8 places, each with one row-major array.
  Result<Placement> dealt(const Extents& extents, std::int64_t block) const;

  Status add(std::string_view name, std::string_view group, Result<Placement> from,
             Result<Placement> to, const Goals& large, const Goals& small = {},
             const std::optional<PeerMove>& move = std::nullopt) {
    TESSERA_TRY(Placement source, std::move(from));
    TESSERA_TRY(Placement destination, std::move(to));
    std::string full = cat(name, "/", join(source.shape().extents(), "x"));
    cases_.push_back({std::move(full), std::string(group), dtype_, std::move(source),
                      std::move(destination), (bytes_ > kSmall ? large : small).of(dtype_), move});
    return ok_status();
  }

  std::int64_t bytes_;
  DType dtype_;
  std::int64_t elements_;
  std::vector<RelayoutCase>& cases_;
};

PeerMove blocked_move(const Extents& dims) {
  PeerMove move;
  move.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), move.dims);
  return move;
}

void set_dense(PeerSide& side, const Extents& dims) {
  std::int64_t stride = 1;
  for (std::size_t d = dims.size(); d-- > 0;) {
    side.padded[d] = dims[d];
    side.strides[d] = stride;
    stride *= dims[d];
  }
}

/// Two block levels over a matrix: the extents rounded up to blocks.
void set_tiled(PeerSide& side, const Extents& dims, std::int64_t rows, std::int64_t columns) {
  const std::int64_t down = ceil_div(dims[0], rows);
  const std::int64_t across = ceil_div(dims[1], columns);
  side.padded[0] = down * rows;
  side.padded[1] = across * columns;
  side.strides[0] = across * rows * columns;
  side.strides[1] = rows * columns;
  side.blocks = 2;
  side.block_dims[1] = 1;
  side.block_sizes[0] = rows;
  side.block_sizes[1] = columns;
}

PeerMove turned_round(PeerMove move) {
  std::swap(move.source, move.destination);
  return move;
}

Status Suite::transposes() {
  const auto [rows, columns] = matrix();
  const Goals small{.58, .58, .58};
  TESSERA_CHECK_OK(add("transpose", "transpose", dense({rows, columns}),
                       strided({rows, columns}, {1, rows}), {.70, .55, .42}, small));
  return add("transpose_odd", "transpose_odd", dense({rows - 1, columns + 1}),
             strided({rows - 1, columns + 1}, {1, rows - 1}), {.52, .45, .35}, small);
}

Result<Placement> Suite::tiled(const Extents& extents, std::int64_t rows,
                               std::int64_t columns) const {
  const std::int64_t down = ceil_div(extents[0], rows);
  const std::int64_t across = ceil_div(extents[1], columns);
  return cut(extents,
             {{memory(rows, down, across * rows * columns), memory(1, rows, columns)},
              {memory(columns, across, rows * columns), memory(1, columns, 1)}},
             {}, PaddingValue::of(0));
}

Status Suite::tiles() {
  const auto [rows, columns] = matrix();
  const Goals large{.90, .85, .85};
  const Goals small{.85, .85, .85};
  for (const Extents& shape : {Extents{rows, columns}, Extents{rows - 1, columns + 1}}) {
    PeerMove move = blocked_move(shape);
    set_dense(move.source, shape);
    set_tiled(move.destination, shape, 32, 32);
    const bool whole = shape[0] == rows;
    TESSERA_CHECK_OK(add(whole ? "tile" : "tile_padded", whole ? "tiles" : "tiles_padded",
                         dense(shape), tiled(shape, 32, 32), large, small, move));
    if (!whole) continue;
    TESSERA_CHECK_OK(add("untile", "tiles", tiled(shape, 32, 32), dense(shape), large, small,
                         turned_round(move)));
  }
  return ok_status();
}

/// 128-byte sticks along the columns of [N, 256]: device order (stick of a row, row, inside).
Status Suite::sticks() {
  const std::int64_t rows = elements_ / 256;
  const std::int64_t stick = 128 / bytes_of(dtype_);
  const Extents shape = {rows, 256};
  const auto in_sticks = [&] {
    return cut(shape, {{memory(1, rows, stick)},
                       {memory(stick, 256 / stick, rows * stick), memory(1, stick, 1)}});
  };
  PeerMove move = blocked_move(shape);
  set_dense(move.source, shape);
  move.destination.padded[0] = rows;
  move.destination.padded[1] = 256;
  move.destination.strides[0] = stick;
  move.destination.strides[1] = rows * stick;
  move.destination.blocks = 1;
  move.destination.block_dims[0] = 1;
  move.destination.block_sizes[0] = stick;
  const Goals large{.85, .85, .85};
  TESSERA_CHECK_OK(add("to_sticks", "sticks", dense(shape), in_sticks(), large, {}, move));
  return add("from_sticks", "sticks", in_sticks(), dense(shape), large, {}, turned_round(move));
}

/// Images: 16 channels together, channels last, and the same with 3 channels.
Status Suite::channels() {
  std::int64_t side = 128;
  while (side > 4 && 256 * side * side > elements_) side /= 2;
  const std::int64_t plane = side * side;
  const Extents shape = {std::max<std::int64_t>(1, elements_ / (256 * plane)), 256, side, side};
  const auto in_sixteens = [&] {
    return cut(shape, {{memory(1, shape[0], 256 * plane)},
                       {memory(16, 16, 16 * plane), memory(1, 16, 1)},
                       {memory(1, side, 16 * side)},
                       {memory(1, side, 16)}});
  };
  PeerMove move = blocked_move(shape);
  set_dense(move.source, shape);
  move.destination = move.source;
  move.destination.strides[1] = 16 * plane;
  move.destination.strides[2] = 16 * side;
  move.destination.strides[3] = 16;
  move.destination.blocks = 1;
  move.destination.block_dims[0] = 1;
  move.destination.block_sizes[0] = 16;
  TESSERA_CHECK_OK(
      add("nchw_to_16c", "16c", dense(shape), in_sixteens(), {.80, .80, .80}, {}, move));
  TESSERA_CHECK_OK(add("16c_to_nchw", "16c", in_sixteens(), dense(shape), {.70, .70, .70}, {},
                       turned_round(move)));

  std::int64_t image = 224;
  while (image > 4 && 3 * image * image > elements_) image /= 2;
  const Extents three = {std::max<std::int64_t>(1, (elements_ + image) / (3 * image * image)), 3,
                         image, image};
  struct Both {
    const Extents& shape;
    std::string_view group;
    Goals goals;
  };
  for (const Both& both : {Both{shape, "channels_last", {.70, .70, .60}},
                           Both{three, "3_channels", {.90, .90, .90}}}) {
    const Extents& s = both.shape;
    const Extents last = {s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]};
    TESSERA_CHECK_OK(add("nchw_to_nhwc", both.group, dense(s), strided(s, last), both.goals));
    TESSERA_CHECK_OK(add("nhwc_to_nchw", both.group, strided(s, last), dense(s), both.goals));
  }
  return ok_status();
}

/// In every 16 elements of a row the even ones first.
Status Suite::odd_even() {
  const auto [rows, columns] = matrix();
  const Extents shape = {rows, columns};
  return add("odd_even_16", "odd_even", dense(shape),
             cut(shape, {{memory(1, rows, columns)},
                         {memory(16, columns / 16, 16), memory(2, 8, 1), memory(1, 2, 8)}}),
             {});
}

Result<Placement> Suite::dealt(const Extents& extents, std::int64_t block) const {
  const std::int64_t down = ceil_div(extents[0], 8 * block);
  const std::int64_t across = ceil_div(extents[1], 8 * block);
  const std::int64_t row = across * block;
  return cut(extents,
             {{memory(8 * block, down, block * row), mesh(block, 8, 0), memory(1, block, row)},
              {memory(8 * block, across, block), mesh(block, 8, 1), memory(1, block, 1)}},
             {8, 8});
}

/// From blocks of 8x8 to blocks of 100x100: stored one after another, and distributed over places.
Status Suite::blocks() {
  // 1600 is the smallest extent that both blocks divide on 8 places; 200 on one, which leaves
  // places with unequal shares.
  const auto root = static_cast<std::int64_t>(std::sqrt(static_cast<double>(elements_)));
  const std::int64_t unit = root >= 6400 ? 1600 : root >= 200 ? 200 : 8;
  const std::int64_t rows = root / unit * unit;
  const Extents shape = {rows, elements_ / rows / unit * unit};
  const Goals large{.65, .65, .65};
  TESSERA_CHECK_OK(
      add("blocks_8_to_100", "block_cyclic", tiled(shape, 8, 8), tiled(shape, 100, 100), large));
  return add("block_cyclic_8_to_100", "block_cyclic", dealt(shape, 8), dealt(shape, 100), large);
}

struct Six {
  std::string_view name;
  std::array<std::int64_t, 6> large, small, tiny;
};

Status Suite::permutations() {
  constexpr std::array<std::array<int, 6>, 5> kPermutations = {{{0, 3, 2, 5, 4, 1},
                                                                {3, 2, 0, 5, 1, 4},
                                                                {2, 0, 4, 1, 5, 3},
                                                                {3, 2, 5, 1, 0, 4},
                                                                {5, 4, 3, 2, 1, 0}}};
  // The extents of the last kind are not in the order of the dims: the first two belong to the dims
  // that are innermost on either side, so that both sides have runs of 128 bytes.
  constexpr std::array<Six, 4> kKinds = {{
      {"equal", {32, 15, 15, 32, 15, 15}, {16, 8, 8, 16, 8, 8}, {4, 3, 3, 4, 3, 3}},
      {"first", {112, 14, 14, 13, 13, 14}, {112, 6, 6, 6, 6, 7}, {7, 3, 3, 4, 3, 3}},
      {"last", {14, 14, 13, 13, 14, 112}, {7, 6, 6, 6, 6, 112}, {3, 3, 4, 3, 3, 7}},
      {"wide", {32, 32, 15, 15, 15, 15}, {32, 32, 5, 6, 6, 6}, {8, 8, 2, 3, 2, 3}},
  }};
  for (const Six& kind : kKinds) {
    const auto& sizes = bytes_ > kSmall           ? kind.large
                        : bytes_ >= (kSmall >> 4) ? kind.small
                                                  : kind.tiny;
    for (const std::array<int, 6>& permutation : kPermutations) {
      Extents extents(sizes.begin(), sizes.end());
      if (kind.name == "wide") {
        const auto inner = static_cast<std::size_t>(permutation[5]);
        std::size_t next = 2;
        for (std::size_t d = 0; d < 5; ++d) extents[d] = d == inner ? sizes[0] : sizes[next++];
        extents[5] = sizes[1];
      }
      // Axis i of the result is axis permutation[i] of the source.
      Extents strides(6, 0);
      std::int64_t stride = 1;
      for (std::size_t i = 6; i-- > 0;) {
        const auto axis = static_cast<std::size_t>(permutation[i]);
        strides[axis] = stride;
        stride *= extents[axis];
      }
      const Extents order(permutation.begin(), permutation.end());
      const double goal = kind.name == "wide" ? .60 : .30;
      TESSERA_CHECK_OK(add(cat("permute_", join(order, ""), "_", kind.name),
                           cat("permute_", kind.name), dense(extents), strided(extents, strides),
                           {goal, goal, goal}));
    }
  }
  return ok_status();
}

}  // namespace

std::int64_t RelayoutCase::bytes() const { return from.shape().elements() * bytes_of(dtype); }

Result<std::vector<RelayoutCase>> relayout_cases(std::int64_t bytes) {
  std::vector<RelayoutCase> cases;
  for (const auto family : {&Suite::transposes, &Suite::tiles, &Suite::sticks, &Suite::channels,
                            &Suite::odd_even, &Suite::blocks}) {
    for (const DType dtype : kDTypes) {
      Suite suite(bytes, dtype, cases);
      TESSERA_CHECK_OK((suite.*family)());
    }
  }
  Suite suite(bytes, DType::kF32, cases);
  TESSERA_CHECK_OK(suite.permutations());
  return cases;
}

}  // namespace tessera::tools

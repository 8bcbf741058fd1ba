// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kernels/panel_product.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

// clang-format off
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tessera/run/kernels/panel_product.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
// clang-format on

#ifndef TESSERA_RUN_PANEL_PRODUCT_ONCE_
#define TESSERA_RUN_PANEL_PRODUCT_ONCE_
namespace tessera::run::kernels {
namespace {

/// What is independent of the instruction set.

using Offsets = std::span<const std::int64_t>;

constexpr std::int64_t kTerms = 512;    // of a panel
constexpr std::int64_t kColumns = 192;  // of the panels that are kept at the same time

/// The step from each offset to the next, if it is always the same.
inline std::optional<std::int64_t> step_of(Offsets offsets) {
  if (offsets.size() < 2) return 1;
  const std::int64_t step = offsets[1] - offsets[0];
  for (std::size_t n = 2; n < offsets.size(); ++n) {
    if (offsets[n] - offsets[n - 1] != step) return std::nullopt;
  }
  return step;
}

inline float element_of(const ProductSide& side, std::int64_t i, std::int64_t k) {
  const auto row = static_cast<std::size_t>(i);
  const auto term = static_cast<std::size_t>(k);
  for (const ProductBound& bound : side.bounds) {
    const std::int64_t x = bound.start + bound.rows[row] + bound.terms[term];
    if (x < 0 || x >= bound.extent) return 0;
  }
  return side.data[side.rows[row] + side.terms[term]];
}

/// Rows and terms of a side.
struct Part {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t term = 0;
  std::int64_t terms = 0;
};

/// packed[k·width + i] = element (row + i, term + k), with zeros up to the width.
inline void pack(const ProductSide& side, const Part& part, std::int64_t width, float* packed) {
  const Offsets rows = Offsets(side.rows).subspan(static_cast<std::size_t>(part.row),
                                                  static_cast<std::size_t>(part.rows));
  const Offsets terms =
      Offsets(side.terms)
          .subspan(static_cast<std::size_t>(part.term), static_cast<std::size_t>(part.terms));
  if (part.rows < width) std::fill_n(packed, width * part.terms, 0.0F);
  if (!side.bounds.empty()) {
    for (std::int64_t k = 0; k < part.terms; ++k) {
      for (std::int64_t i = 0; i < part.rows; ++i) {
        packed[k * width + i] = element_of(side, part.row + i, part.term + k);
      }
    }
  } else if (step_of(rows) == 1) {
    for (const std::int64_t term : terms) {
      std::copy_n(side.data + rows[0] + term, part.rows, packed);
      packed += width;
    }
  } else {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const float* const row = side.data + rows[i];
      float* to = packed + i;
      for (const std::int64_t term : terms) {
        *to = row[term];
        to += width;
      }
    }
  }
}

/// A few rows of a and a panel of b.
struct Operands {
  const float* const* rows;  ///< where each row of a begins
  std::int64_t step;         ///< from term to term of a row
  const float* panel;
  std::int64_t pitch;  ///< from term to term of the panel
  std::int64_t terms;
};

/// A block of results.
struct Results {
  float alpha;
  float* to;
  const std::int64_t* rows;
  const std::int64_t* columns;
  std::int64_t width;  ///< how many columns
  bool dense;          ///< the columns are neighbours
};

}  // namespace
}  // namespace tessera::run::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::run::kernels::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_SCALABLE
// Vectors whose size the compiler does not know cannot be in arrays: the compiler makes its own.
constexpr std::int64_t kLanes = 4;
using Numbers = std::array<float, kLanes>;
HWY_INLINE Numbers load(const float* from) {
  Numbers v;
  std::copy_n(from, kLanes, v.begin());
  return v;
}
HWY_INLINE void store(const Numbers& v, float* to) { std::copy_n(v.begin(), kLanes, to); }
HWY_INLINE Numbers set(float x) {
  Numbers v;
  v.fill(x);
  return v;
}
HWY_INLINE Numbers multiply_add(const Numbers& a, const Numbers& b, const Numbers& c) {
  Numbers v;
  for (std::size_t n = 0; n < v.size(); ++n) v[n] = a[n] * b[n] + c[n];
  return v;
}
#else
using Tag = hn::CappedTag<float, 16>;
using Numbers = hn::Vec<Tag>;
constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(Tag()));
HWY_INLINE Numbers load(const float* from) { return hn::LoadU(Tag(), from); }
HWY_INLINE void store(Numbers v, float* to) { hn::StoreU(v, Tag(), to); }
HWY_INLINE Numbers set(float x) { return hn::Set(Tag(), x); }
HWY_INLINE Numbers multiply_add(Numbers a, Numbers b, Numbers c) { return hn::MulAdd(a, b, c); }
#endif

// Rows and vectors of a block of results: it fills most of the registers, of which the processor
// has 32 or 16.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif
constexpr int kVectors = 3;

template <int kHeight, int kWide>
HWY_INLINE void put(const Results& results, const Numbers (&sums)[kHeight][kWide]) {
  if (results.dense && results.width == kWide * kLanes) {
    const Numbers alpha = set(results.alpha);
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) {
      float* const to = results.to + results.rows[r] + results.columns[0];
#pragma GCC unroll 3
      for (int v = 0; v < kWide; ++v) {
        store(multiply_add(alpha, sums[r][v], load(to + v * kLanes)), to + v * kLanes);
      }
    }
    return;
  }
  for (int r = 0; r < kHeight; ++r) {
    float row[kWide * kLanes];
    for (int v = 0; v < kWide; ++v) store(sums[r][v], row + v * kLanes);
    float* const to = results.to + results.rows[r];
    for (std::int64_t j = 0; j < results.width; ++j) {
      to[results.columns[j]] += results.alpha * row[j];
    }
  }
}

/// One block of results.
template <int kHeight, int kWide>
HWY_NOINLINE void add_block(const Operands& operands, const Results& results) {
  Numbers sums[kHeight][kWide];
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kWide; ++v) sums[r][v] = set(0);
  }
  const float* rows[kHeight];
#pragma GCC unroll 8
  for (int r = 0; r < kHeight; ++r) rows[r] = operands.rows[r];
  const float* panel = operands.panel;
  const std::int64_t end = operands.terms * operands.step;
  for (std::int64_t k = 0; k != end; k += operands.step) {
    Numbers b[kWide];
#pragma GCC unroll 3
    for (int v = 0; v < kWide; ++v) b[v] = load(panel + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kHeight; ++r) {
      const Numbers a = set(rows[r][k]);
#pragma GCC unroll 3
      for (int v = 0; v < kWide; ++v) sums[r][v] = multiply_add(a, b[v], sums[r][v]);
    }
    panel += operands.pitch;
  }
  put<kHeight, kWide>(results, sums);
}

template <int kHeight>
HWY_INLINE void add_width(int vectors, const Operands& operands, const Results& results) {
  if (vectors == 1) return add_block<kHeight, 1>(operands, results);
  if (vectors == 2) return add_block<kHeight, 2>(operands, results);
  add_block<kHeight, kVectors>(operands, results);
}

HWY_INLINE void add_blocks(int height, int vectors, const Operands& operands,
                           const Results& results) {
  if (height == 8) return add_width<kRows>(vectors, operands, results);  // only where kRows is 8
  if (height == 4) return add_width<4>(vectors, operands, results);
  if (height == 2) return add_width<2>(vectors, operands, results);
  add_width<1>(vectors, operands, results);
}

/// The largest height of a block that so many rows have.
constexpr int height_of(std::int64_t rows) {
  int height = kRows;
  while (height > rows) height /= 2;
  return height;
}

/// A panel of b: where it is read.
struct Panel {
  const float* data;
  std::int64_t pitch;
  std::int64_t column;
  std::int64_t width;
  int vectors;
};

void AddPanelProduct(float alpha, const ProductSide& a, const ProductSide& b, float* to,
                     Offsets to_rows, Offsets to_columns) {
  constexpr std::int64_t kWidth = kVectors * kLanes;
  constexpr std::int64_t kFewRows = 16;  // fewer do not repay a copy of b
  const auto m = static_cast<std::int64_t>(a.rows.size());
  const auto n = static_cast<std::int64_t>(b.rows.size());
  const auto terms = static_cast<std::int64_t>(a.terms.size());
  const std::int64_t deep = std::min(terms, kTerms);
  const std::int64_t panels = (std::min(n, kColumns) + kWidth - 1) / kWidth;
  constexpr std::size_t kLine = 64;  // bytes of a cache line, which a vector should not cross
  std::size_t bytes = static_cast<std::size_t>(deep * (panels * kWidth + kRows)) * sizeof(float);
  const auto room = std::make_unique_for_overwrite<std::byte[]>(bytes + kLine);
  void* start = room.get();
  bytes += kLine;
  auto* const panel_room = static_cast<float*>(std::align(kLine, bytes - kLine, start, bytes));
  float* const packed_rows = panel_room + deep * panels * kWidth;
  const bool b_in_place = m < kFewRows && b.bounds.empty() && step_of(b.terms).has_value();
  const bool a_is_plain = a.bounds.empty();
  for (std::int64_t column = 0; column < n; column += panels * kWidth) {
    const std::int64_t columns = std::min(panels * kWidth, n - column);
    for (std::int64_t term = 0; term < terms; term += deep) {
      const std::int64_t count = std::min(deep, terms - term);
      std::array<Panel, kColumns / kVectors> list;
      std::size_t listed = 0;
      float* packed = panel_room;
      for (std::int64_t j = 0; j < columns; j += kWidth) {
        const std::int64_t width = std::min(kWidth, columns - j);
        const auto vectors = static_cast<int>((width + kLanes - 1) / kLanes);
        const Offsets in_panel = Offsets(b.rows).subspan(static_cast<std::size_t>(column + j),
                                                         static_cast<std::size_t>(width));
        const auto first = static_cast<std::size_t>(term);
        if (b_in_place && width == vectors * kLanes && step_of(in_panel) == 1) {
          const std::int64_t pitch = terms > 1 ? b.terms[1] - b.terms[0] : 0;
          list[listed++] = {b.data + in_panel[0] + b.terms[first], pitch, column + j, width,
                            vectors};
          continue;
        }
        pack(b, {column + j, width, term, count}, std::int64_t{vectors} * kLanes, packed);
        list[listed++] = {packed, std::int64_t{vectors} * kLanes, column + j, width, vectors};
        packed += count * vectors * kLanes;
      }
      const Offsets here =
          Offsets(a.terms).subspan(static_cast<std::size_t>(term), static_cast<std::size_t>(count));
      const std::optional<std::int64_t> step = step_of(here);
      const bool is_walkable = step == 1 || (step && *step != 0 && columns <= 2 * kWidth);
      const bool a_in_place = a_is_plain && is_walkable;
      for (std::int64_t row = 0; row < m;) {
        const int height = height_of(m - row);
        const float* rows[kRows];
        if (!a_in_place) pack(a, {row, height, term, count}, height, packed_rows);
        for (int r = 0; r < height; ++r) {
          const auto at = static_cast<std::size_t>(row + r);
          rows[r] = a_in_place ? a.data + a.rows[at] + here[0] : packed_rows + r;
        }
        for (std::size_t p = 0; p < listed; ++p) {
          const Panel& panel = list[p];
          const Offsets out = to_columns.subspan(static_cast<std::size_t>(panel.column),
                                                 static_cast<std::size_t>(panel.width));
          add_blocks(height, panel.vectors,
                     {rows, a_in_place ? *step : height, panel.data, panel.pitch, count},
                     {alpha, to, to_rows.data() + row, out.data(), panel.width, step_of(out) == 1});
        }
        row += height;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::run::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tessera::run::kernels {

HWY_EXPORT(AddPanelProduct);

void add_panel_product(float alpha, const ProductSide& a, const ProductSide& b, float* to,
                       std::span<const std::int64_t> to_rows,
                       std::span<const std::int64_t> to_columns) {
  if (a.rows.empty() || b.rows.empty() || a.terms.empty()) return;
  HWY_DYNAMIC_DISPATCH(AddPanelProduct)(alpha, a, b, to, to_rows, to_columns);
}

}  // namespace tessera::run::kernels
#endif

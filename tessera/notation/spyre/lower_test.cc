// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tessera/layout/regions.h"
#include "tessera/testing/notation/spyre_checks.h"

// Every slot of random layouts against the notation's own rule, by plain division.
namespace tessera::notation::spyre_test {
namespace {

/// What a slot holds must be what the rule gives for its device coordinates, on every core.
void expect_slots(const Case& c, const Layout& layout, const Numbers& device_size,
                  const std::vector<std::optional<Index>>& held) {
  Numbers cores = c.words.cores;
  cores.resize(device_size.size(), 1);
  Numbers piece = device_size;
  for (std::size_t j = 0; j < piece.size(); ++j) piece[j] = (piece[j] + cores[j] - 1) / cores[j];
  std::int64_t slots = 1;
  for (const std::int64_t extent : piece) slots *= extent;
  ASSERT_EQ(layout.slots(), slots);
  ASSERT_EQ(layout.shard_bytes(), slots / device_size.back() * 128);
  if (layout.places() * slots > 10000) return;  // too many to examine
  std::int64_t found = 0;
  for (std::int64_t core = 0; core < layout.places(); ++core) {
    const Numbers core_at = coordinates_of(core, cores);
    for (std::int64_t slot = 0; slot < slots; ++slot) {
      Numbers at = coordinates_of(slot, piece);
      bool inside = true;
      for (std::size_t j = 0; j < at.size(); ++j) {
        at[j] += core_at[j] * piece[j];
        inside = inside && at[j] < device_size[j];
      }
      const std::optional<Index> expected =
          inside ? held[static_cast<std::size_t>(slot_of(at, device_size))] : std::nullopt;
      const Result<Slot> actual =
          layout.element_at(c.words.cores.empty() ? Place{} : Place{core}, slot);
      ASSERT_TRUE(actual.ok()) << actual.error().message;
      ASSERT_EQ(std::holds_alternative<Index>(*actual), expected.has_value())
          << "core " << core << " slot " << slot;
      if (!expected) continue;
      ASSERT_EQ(std::get<Index>(*actual), *expected);
      ++found;
    }
  }
  ASSERT_EQ(found, c.shape.elements());
}

void expect_dims(const Case& c, const Numbers& device_size, const Numbers& dims) {
  const Result<Layout> layout = lower(c.words, c.shape, c.dtype);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  std::int64_t slots = 1;
  for (const std::int64_t extent : device_size) slots *= extent;
  std::vector<std::optional<Index>> held(static_cast<std::size_t>(slots));
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    held[static_cast<std::size_t>(slot)] =
        element_by_dims(coordinates_of(slot, device_size), device_size, dims, c.shape);
  }
  expect_slots(c, *layout, device_size, held);
}

void expect_strides(const Case& c) {
  const Result<Layout> layout = lower(c.words, c.shape, c.dtype);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  const Numbers host = c.words.host_stride.value_or(c.shape.row_major_strides());
  std::int64_t slots = 1;
  for (const std::int64_t extent : c.words.device_size) slots *= extent;
  std::vector<std::optional<Index>> held(static_cast<std::size_t>(slots));
  for_each_index(c.shape, [&](const Index& index) {
    const Numbers at =
        coordinates_by_strides(host_offset(index, host), c.words.device_size, c.words.map);
    held[static_cast<std::size_t>(slot_of(at, c.words.device_size))] = index;
  });
  expect_slots(c, *layout, c.words.device_size, held);
}

TEST(SpyreLower, DimMapsByPlainDivision) {
  Random random(1);
  for (int i = 0; i < 150; ++i) {
    Case c = random.dims();
    if (i % 3 == 0) random.divide(c);
    SCOPED_TRACE(describe(c));
    expect_dims(c, c.words.device_size, c.words.map);
    if (HasFatalFailure()) return;
  }
}

TEST(SpyreLower, StrideMapsByPlainDivision) {
  Random random(2);
  for (int i = 0; i < 150; ++i) {
    Case c = random.strides();
    if (i % 3 == 0) random.divide(c);
    SCOPED_TRACE(describe(c));
    expect_strides(c);
    if (HasFatalFailure()) return;
  }
}

TEST(SpyreLower, DefaultsAreWhatTheySpellOut) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const Case c = random.defaults();
    SCOPED_TRACE(describe(c));
    const Result<SpyreLayout> spelled = spelled_out(c.words, c.shape, c.dtype);
    ASSERT_TRUE(spelled.ok()) << spelled.error().message;
    const Result<Numbers> dims = dim_map_of(c.words, c.shape, c.dtype);
    ASSERT_TRUE(dims.ok()) << dims.error().message;
    expect_dims(c, spelled->device_size, *dims);
    if (HasFatalFailure()) return;
    EXPECT_EQ(print_native(*lower(c.words, c.shape, c.dtype)),
              print_native(*lower(*spelled, c.shape, c.dtype)));
  }
}

TEST(SpyreLower, StridesOfADimMapReachEveryElement) {
  Random random(4);
  for (int i = 0; i < 100; ++i) {
    const Case c = i % 2 == 0 ? random.dims() : random.defaults();
    SCOPED_TRACE(describe(c));
    const Result<Numbers> strides = stride_map_of(c.words, c.shape, c.dtype);
    const Result<SpyreLayout> spelled = spelled_out(c.words, c.shape, c.dtype);
    const Result<Layout> layout = lower(c.words, c.shape, c.dtype);
    ASSERT_TRUE(strides.ok() && spelled.ok() && layout.ok());
    const Numbers host = c.words.host_stride.value_or(c.shape.row_major_strides());
    for_each_index(c.shape, [&](const Index& index) {
      const Numbers at = coordinates_of(layout->locate(index)->slot, spelled->device_size);
      std::int64_t offset = 0;
      for (std::size_t j = 0; j < at.size(); ++j) {
        ASSERT_TRUE((*strides)[j] >= 0 || at[j] == 0);
        offset += at[j] * (*strides)[j];
      }
      ASSERT_EQ(offset, host_offset(index, host));
    });
    if (HasFatalFailure()) return;
  }
}

/// padding counts by cause: synthetic, gap, alignment, stick, tile, grid.
std::array<std::int64_t, kCauses> causes(const Shape& shape, const SpyreLayout& words,
                                         DType dtype) {
  const Result<Layout> layout = lower(words, shape, dtype);
  EXPECT_TRUE(layout.ok()) << layout.error().message;
  const Result<PaddingCount> count = padding(*layout);
  EXPECT_TRUE(count.ok());
  return count->by_cause;
}
using Causes = std::array<std::int64_t, kCauses>;

TEST(SpyreLower, PaddingHasTheCauseOfItsDim) {
  // 240 of 256 columns: the last of four sticks has 48 of 64; 16 lanes per row are left.
  EXPECT_EQ(causes(shape_of({512, 240}), dim_map({4, 512, 64}, {1, 0, 1}), DType::kF16),
            (Causes{0, 0, 0, std::int64_t{512} * 16, 0, 0}));
  EXPECT_EQ(causes(shape_of({512, 240}), stride_map({4, 512, 64}, {64, 240, 1}), DType::kF16),
            (Causes{0, 0, 0, std::int64_t{512} * 16, 0, 0}));
  // The same from a host whose rows are 256 apart: still the stick, not a gap.
  EXPECT_EQ(
      causes(shape_of({512, 240}), stride_map({4, 512, 64}, {64, 256, 1}, {256, 1}), DType::kF16),
      (Causes{0, 0, 0, std::int64_t{512} * 16, 0, 0}));
  // Two more sticks and 88 more rows than needed: whole sticks of them are alignment. Rows beyond
  // 512 are alignment in all lanes, because alignment comes before stick.
  EXPECT_EQ(causes(shape_of({512, 240}), dim_map({6, 600, 64}, {1, 0, 1}), DType::kF16),
            (Causes{0, 0, 88 * 6 * 64 + 512 * 2 * 64, std::int64_t{512} * 16, 0, 0}));
  // The padded example of the Spyre document: [100, 200, 500] in [256, 8, 128, 64] by [1, 2, 0, 2].
  // Of 256·128 pairs of rows 200·100 hold data, each 8 sticks of which the last has 52 elements.
  EXPECT_EQ(
      causes(shape_of({100, 200, 500}), dim_map({256, 8, 128, 64}, {1, 2, 0, 2}), DType::kF16),
      (Causes{0, 0, std::int64_t{256 * 128 - 200 * 100} * 512, std::int64_t{200} * 100 * 12, 0,
              0}));
  // Sparse: 63 of 64 lanes are synthetic.
  EXPECT_EQ(causes(shape_of({512, 256}), dim_map({256, 512, 64}, {1, 0, -1}), DType::kF16),
            (Causes{std::int64_t{256} * 512 * 63, 0, 0, 0, 0, 0}));
  // Every other host element: a stick covers 64 host elements of which 32 are ours.
  EXPECT_EQ(causes(shape_of({64}), stride_map({2, 64}, {64, 1}, {2}), DType::kF16),
            (Causes{0, 63, 0, 1, 0, 0}));
  // 5 rows over 2 cores: 3 and 2, the sixth is left over by the grid.
  SpyreLayout divided = dim_map({1, 5, 64}, {1, 0, 1});
  divided.cores = {1, 2, 1};
  EXPECT_EQ(causes(shape_of({5, 64}), divided, DType::kF16), (Causes{0, 0, 0, 0, 0, 64}));
}

}  // namespace
}  // namespace tessera::notation::spyre_test

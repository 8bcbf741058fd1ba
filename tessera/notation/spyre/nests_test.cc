// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/nests.h"

#include <set>

#include "tessera/notation/spyre/facts.h"
#include "tessera/testing/notation/spyre_checks.h"

namespace tessera::notation::spyre_test {
namespace {

using Copies = std::multiset<std::pair<std::int64_t, std::int64_t>>;  // host offset, device slot

Copies run(const std::vector<SpyreNest>& nests) {
  Copies copies;
  for (const SpyreNest& nest : nests) {
    for_each_index(shape_of(nest.extent), [&](const Index& i) {
      copies.emplace(nest.host_offset + host_offset(i, nest.host_stride),
                     nest.device_offset + host_offset(i, nest.device_stride));
    });
  }
  return copies;
}

bool covers(const std::vector<SpyreRange>& part, const Index& index) {
  for (std::size_t dim = 0; dim < part.size(); ++dim) {
    const SpyreRange& range = part[dim];
    if (index[dim] < range.start || index[dim] >= range.stop) return false;
    if ((index[dim] - range.start) % range.step != 0) return false;
  }
  return true;
}

/// The law of transfers: run as plain loops, the nests copy each covered element once and nothing
/// else; and as many sticks are counted as are touched.
void expect_transfer(const Case& c, const std::vector<SpyreRange>& part) {
  SCOPED_TRACE(describe(c));
  SpyreLayout undivided = c.words;
  undivided.cores.clear();
  const Result<Layout> layout = lower(undivided, c.shape, c.dtype);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  const Numbers host = c.words.host_stride.value_or(c.shape.row_major_strides());
  Copies expected;
  std::set<std::int64_t> sticks;
  for_each_index(c.shape, [&](const Index& index) {
    if (!covers(part, index)) return;
    const std::int64_t slot = layout->locate(index)->slot;
    expected.emplace(c.words.storage_offset.value_or(0) + host_offset(index, host), slot);
    sticks.insert(slot / *elements_per_stick(c.dtype));
  });
  const Result<std::vector<SpyreNest>> nests = transfer_nests(c.words, c.shape, c.dtype, part);
  ASSERT_TRUE(nests.ok()) << nests.error().message;
  ASSERT_EQ(run(*nests), expected);
  const Result<std::int64_t> counted = covered_sticks(c.words, c.shape, c.dtype, part);
  ASSERT_TRUE(counted.ok()) << counted.error().message;
  ASSERT_EQ(*counted, std::ssize(sticks));
}

std::vector<SpyreRange> random_part(Random& random, const Shape& shape) {
  std::vector<SpyreRange> part;
  for (const std::int64_t extent : shape.extents()) {
    SpyreRange range{0, extent, 1};
    if (!random.one_in(3)) range.start = random.below(extent + 1);
    if (!random.one_in(3)) range.stop = range.start + random.below(extent - range.start + 1);
    if (random.one_in(3)) range.step = 1 + random.below(5);
    part.push_back(range);
  }
  return part;
}

std::vector<SpyreRange> everything(const Shape& shape) {
  std::vector<SpyreRange> part;
  for (const std::int64_t extent : shape.extents()) part.push_back({0, extent, 1});
  return part;
}

TEST(SpyreNests, CopyEachElementOnce) {
  Random random(5);
  for (int i = 0; i < 300; ++i) {
    Case c = i % 3 == 0 ? random.dims() : i % 3 == 1 ? random.defaults() : random.strides();
    if (i % 5 == 0 && c.words.form != SpyreLayout::Form::kDefault) random.divide(c);
    expect_transfer(c, everything(c.shape));
    expect_transfer(c, random_part(random, c.shape));
    if (HasFatalFailure()) return;
  }
}

std::vector<SpyreNest> nests(const Shape& shape, const SpyreLayout& words,
                             const std::vector<SpyreRange>& part = {}) {
  const Result<std::vector<SpyreNest>> result =
      transfer_nests(words, shape, DType::kF16, part.empty() ? everything(shape) : part);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result ? *result : std::vector<SpyreNest>{};
}

TEST(SpyreNests, TheDocumentsMatrixIsOneNest) {
  // (1024, 256) f16: 4 sticks per row. The Spyre document writes the loops innermost first and its
  // strides in the order device, host; here loops are in the order of decreasing device stride.
  EXPECT_EQ(nests(shape_of({1024, 256}), by_default()),
            (std::vector<SpyreNest>{{{4, 1024, 64}, {64, 256, 1}, {65536, 64, 1}, 0, 0}}));
}

TEST(SpyreNests, PaddingIsPeeled) {
  // 240 = 3·64 + 48; 3·64 = 192 on the host, 3·512·64 = 98304 on the device.
  const std::vector<SpyreNest> peeled = {{{3, 512, 64}, {64, 240, 1}, {32768, 64, 1}, 0, 0},
                                         {{1, 512, 48}, {64, 240, 1}, {32768, 64, 1}, 192, 98304}};
  EXPECT_EQ(nests(shape_of({512, 240}), by_default()), peeled);
  EXPECT_EQ(nests(shape_of({512, 240}), dim_map({4, 512, 64}, {1, 0, 1})), peeled);
  // Room for more sticks and rows changes where, not what: 600 rows per stick column;
  // 3·600·64 = 115200.
  EXPECT_EQ(nests(shape_of({512, 240}), dim_map({6, 600, 64}, {1, 0, 1})),
            (std::vector<SpyreNest>{{{3, 512, 64}, {64, 240, 1}, {38400, 64, 1}, 0, 0},
                                    {{1, 512, 48}, {64, 240, 1}, {38400, 64, 1}, 192, 115200}}));
}

TEST(SpyreNests, TwoPeeledDimsAreAProduct) {
  // Rows cut in 8s over 20 rows: 2 whole pieces and 4 rows; columns in sticks: 1 whole and 36.
  const std::vector<SpyreNest> product =
      nests(shape_of({20, 100}), dim_map({3, 2, 8, 64}, {0, 1, 0, 1}));
  ASSERT_EQ(product.size(), 4U);
  EXPECT_EQ(product[0], (SpyreNest{{2, 1, 8, 64}, {800, 64, 100, 1}, {1024, 512, 64, 1}, 0, 0}));
  EXPECT_EQ(
      product[3],
      (SpyreNest{{1, 1, 4, 36}, {800, 64, 100, 1}, {1024, 512, 64, 1}, 1600 + 64, 2048 + 512}));
}

TEST(SpyreNests, FollowAnyHost) {
  // Column-major host: dim 0 steps 1, dim 1 steps 512, a stick 64·512 = 32768; from element 7.
  SpyreLayout words = by_default();
  words.host_stride = {1, 512};
  words.storage_offset = 7;
  EXPECT_EQ(nests(shape_of({512, 240}), words),
            (std::vector<SpyreNest>{
                {{3, 512, 64}, {32768, 1, 512}, {32768, 64, 1}, 7, 0},
                {{1, 512, 48}, {32768, 1, 512}, {32768, 64, 1}, 7 + 192 * 512, 98304}}));
}

TEST(SpyreNests, SparseTensorsNeedNoPeeling) {
  EXPECT_EQ(
      nests(shape_of({512, 256}), by_default(SpyreLayout::Era::kDocument, std::nullopt, true)),
      (std::vector<SpyreNest>{{{256, 512, 1}, {1, 256, 0}, {32768, 64, 1}, 0, 0}}));
}

TEST(SpyreNests, FusedDimsThatContinueAreOneLoop) {
  // [40, 60] row-major in 38 sticks: host and device agree element by element.
  EXPECT_EQ(nests(shape_of({40, 60}), stride_map({38, 64}, {64, 1})),
            (std::vector<SpyreNest>{{{1, 2400}, {64, 1}, {64, 1}, 0, 0}}));
  EXPECT_EQ(nests(shape_of({512, 256}), stride_map({2048, 64}, {64, 1})),
            (std::vector<SpyreNest>{{{2048, 64}, {64, 1}, {64, 1}, 0, 0}}));
}

TEST(SpyreNests, ASubViewMovesOnlyItsSticks) {
  const Shape shape = shape_of({512, 256});
  // The lower half of the rows: 256 rows of 4 sticks; 256·256 = 65536 on the host, 256·64 = 16384
  // on the device.
  std::vector<SpyreRange> part = {{256, 512, 1}, {0, 256, 1}};
  EXPECT_EQ(nests(shape, by_default(), part),
            (std::vector<SpyreNest>{{{4, 256, 64}, {64, 256, 1}, {32768, 64, 1}, 65536, 16384}}));
  EXPECT_EQ(*covered_sticks(by_default(), shape, DType::kF16, part), 256 * 4);
  // Columns 32..96 begin and end inside sticks: two pieces of 32, two sticks per row.
  part = {{0, 512, 1}, {32, 96, 1}};
  EXPECT_EQ(nests(shape, by_default(), part),
            (std::vector<SpyreNest>{{{1, 512, 32}, {64, 256, 1}, {32768, 64, 1}, 32, 32},
                                    {{1, 512, 32}, {64, 256, 1}, {32768, 64, 1}, 64, 32768}}));
  EXPECT_EQ(*covered_sticks(by_default(), shape, DType::kF16, part), 512 * 2);
  // Every 128th column: one element of every other stick.
  part = {{0, 512, 1}, {5, 256, 128}};
  EXPECT_EQ(*covered_sticks(by_default(), shape, DType::kF16, part), 512 * 2);
  // An empty part gives no nests.
  part = {{3, 3, 1}, {0, 256, 1}};
  EXPECT_TRUE(nests(shape, by_default(), part).empty());
  EXPECT_EQ(*covered_sticks(by_default(), shape, DType::kF16, part), 0);
}

TEST(SpyreNests, SticksAreCountedWithoutLookingAtElements) {
  // 2^40 rows of 2^20 + 1 columns.
  const Shape shape = shape_of({std::int64_t{1} << 40, (std::int64_t{1} << 20) + 1});
  EXPECT_EQ(*covered_sticks(by_default(), shape, DType::kI8),
            (std::int64_t{1} << 40) * ((std::int64_t{1} << 13) + 1));
}

TEST(SpyreNests, RangesMustFit) {
  const Shape shape = shape_of({4, 6});
  for (const std::vector<SpyreRange>& part :
       std::vector<std::vector<SpyreRange>>{{{0, 4, 1}},
                                            {{0, 5, 1}, {0, 6, 1}},
                                            {{-1, 4, 1}, {0, 6, 1}},
                                            {{3, 2, 1}, {0, 6, 1}},
                                            {{0, 4, 0}, {0, 6, 1}}}) {
    EXPECT_FALSE(transfer_nests(by_default(), shape, DType::kF16, part).ok());
    EXPECT_FALSE(covered_sticks(by_default(), shape, DType::kF16, part).ok());
  }
}

TEST(SpyreFactsOf, TellWhatTheNotationKnows) {
  const Result<SpyreFacts> facts = facts_of(by_default(), shape_of({512, 1, 240}), DType::kF16);
  ASSERT_TRUE(facts.ok()) << facts.error().message;
  EXPECT_EQ(facts->device_size, (Numbers{1, 4, 512, 64}));
  EXPECT_EQ(facts->dim_map, (Numbers{1, 2, 0, 2}));
  EXPECT_EQ(facts->stride_map, (Numbers{-1, 64, 240, 1}));
  EXPECT_EQ(facts->elements_per_stick, 64);
  EXPECT_EQ(facts->device_bytes, 4 * 512 * 128);
  EXPECT_EQ(facts->nest_count, 2);
  EXPECT_EQ(facts->nests[0],
            (SpyreNest{{1, 3, 512, 64}, {0, 64, 240, 1}, {131072, 32768, 64, 1}, 0, 0}));
  // A fused view has no dim_map.
  const Result<SpyreFacts> fused =
      facts_of(stride_map({5, 2, 3, 64}, {128, 64, 640, 1}), shape_of({15, 1, 128}), DType::kF16);
  ASSERT_TRUE(fused.ok());
  EXPECT_FALSE(fused->dim_map.has_value());
}

}  // namespace
}  // namespace tessera::notation::spyre_test

// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/cores.h"

#include "tessera/testing/figures.h"
#include "tessera/testing/notation/spyre_checks.h"

namespace tessera::notation::spyre_test {
namespace {

constexpr std::int64_t kLimit = 256 * 1024 * 1024 - 4096;

/// First and last slot of each core's piece, by examining every device coordinate.
std::vector<SpyreSpan> naive_spans(const Numbers& device_size, const Numbers& cores) {
  std::int64_t count = 1;
  for (const std::int64_t pieces : cores) count *= pieces;
  std::vector<SpyreSpan> spans(static_cast<std::size_t>(count));
  for (std::int64_t core = 0; core < count; ++core)
    spans[static_cast<std::size_t>(core)].core = core;
  std::int64_t slot = 0;
  for_each_index(shape_of(device_size), [&](const Index& at) {
    Numbers piece(at.size());
    for (std::size_t j = 0; j < at.size(); ++j) {
      piece[j] = at[j] / ((device_size[j] + cores[j] - 1) / cores[j]);
    }
    SpyreSpan& span = spans[static_cast<std::size_t>(slot_of(piece, cores))];
    const std::int64_t byte = slot++ / device_size.back() * 128;
    if (span.bytes == 0) span.first_byte = byte;
    span.bytes = byte + 128 - span.first_byte;
  });
  return spans;
}

TEST(SpyreCores, SpansReachFromTheFirstToTheLastByteOfAPiece) {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    Case c = random.dims();
    random.divide(c);
    SCOPED_TRACE(describe(c));
    const Result<std::vector<SpyreSpan>> spans = core_spans(c.words, c.shape, c.dtype);
    ASSERT_TRUE(spans.ok()) << spans.error().message;
    ASSERT_EQ(*spans, naive_spans(c.words.device_size, c.words.cores));
    ASSERT_EQ(*core_span(c.words, c.shape, c.dtype, std::ssize(*spans) - 1), spans->back());
  }
}

TEST(SpyreCores, RowsOfSticksOverCores) {
  // [512, 256] f16 is [4, 512, 64]. Two pieces of stick columns, four of rows: core 2·4·.. row
  // major; core 5 is column piece 1, row piece 1: rows 128..255 of columns 128..255.
  SpyreLayout words = stride_map({4, 512, 64}, {64, 256, 1});
  words.cores = {2, 4, 1};
  const Result<Layout> layout = lower(words, shape_of({512, 256}), DType::kF16);
  ASSERT_TRUE(layout.ok()) << layout.error().message;
  EXPECT_EQ(layout->mesh(), shape_of({8}));
  EXPECT_EQ(layout->slots(), 2 * 128 * 64);
  const Location at = *layout->locate({130, 200});
  EXPECT_EQ(at.places, (std::vector<Place>{{5}}));
  EXPECT_EQ(at.slot, (1 * 128 + 2) * 64 + 8);  // stick column 3 = 200/64 is the second of its piece
  // A core's span runs from its first row in one stick column to its last in the next.
  EXPECT_EQ(*core_span(words, shape_of({512, 256}), DType::kF16, 5),
            (SpyreSpan{5, std::int64_t{2 * 512 + 128} * 128, std::int64_t{512 + 128} * 128}));
}

TEST(SpyreCores, TheSpanLimitNamesADivisionThatFits) {
  // [32, 8192, 17408] f16: 17408 = 272 sticks. 32 pieces of 256 rows: 256·272·32 sticks of 128
  // bytes = 285212672 (272 MiB) > 256 MiB - 4 KiB = 268431360. A row is 272·32·128 = 1114112 bytes,
  // so 240 rows fit: 8192/240 rounds up to 35 pieces.
  const Shape shape = shape_of({32, 8192, 17408});
  SpyreLayout words = by_default();
  words.cores = {32, 1, 1, 1};
  const Status status = check_core_spans(words, shape, DType::kF16, kLimit);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message,
            "core 0 spans 285212672 bytes of the tensor, the limit is 268431360");
  EXPECT_EQ(status.error().help, "cores=[35, 1, 1, 1] would fit");
  words.cores = {35, 1, 1, 1};
  EXPECT_TRUE(check_core_spans(words, shape, DType::kF16, kLimit).ok());
  words.cores = {34, 1, 1, 1};
  EXPECT_FALSE(check_core_spans(words, shape, DType::kF16, kLimit).ok());
}

TEST(SpyreCores, SuggestedDivisionsFit) {
  Random random(8);
  for (int i = 0; i < 200; ++i) {
    Case c = random.dims();
    const std::int64_t limit = 128 * (1 + random.below(12));
    const Status status = check_core_spans(c.words, c.shape, c.dtype, limit);
    SCOPED_TRACE(cat(describe(c), " in ", limit));
    if (status.ok()) continue;
    ASSERT_EQ(status.error().reasons.size(), 1U);
    c.words.cores = status.error().reasons.front().numbers("fitting_cores").value();
    ASSERT_FALSE(c.words.cores.empty());
    EXPECT_TRUE(check_core_spans(c.words, c.shape, c.dtype, limit).ok());
  }
  // Not even a stick.
  EXPECT_EQ(check_core_spans(by_default(), shape_of({4}), DType::kF16, 100).error().help,
            "no division fits: a stick alone takes 128 bytes");
}

TEST(SpyreCores, AskedForACoreThatIsNotThere) {
  SpyreLayout words = by_default();
  words.cores = {2, 4, 1};
  const Result<SpyreSpan> span = core_span(words, shape_of({512, 256}), DType::kF16, 8);
  ASSERT_FALSE(span.ok());
  EXPECT_EQ(test::figures(span.error().message), "8 8");
  words.cores = {std::int64_t{1} << 20, 1, 1};
  EXPECT_EQ(core_spans(words, shape_of({512, 256}), DType::kF16).error().code,
            ErrorCode::kTooLarge);
}

}  // namespace
}  // namespace tessera::notation::spyre_test

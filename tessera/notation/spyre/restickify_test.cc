// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/restickify.h"

#include <map>
#include <set>

#include "tessera/testing/notation/spyre_checks.h"

namespace tessera::notation::spyre_test {
namespace {

struct Lane {
  std::int64_t stick;
  std::int64_t lane;
};

/// The definition, element by element: how lanes and sticks of the two layouts go together.
struct Naive {
  std::optional<RestickifyKind> kind;  // nothing: not legal
  bool gathers = false;
  std::int64_t sticks_read = 0;
  std::int64_t sticks_written = 0;
};

Naive naive(const Layout& from, const Layout& to, std::int64_t per_stick) {
  std::map<std::int64_t, std::set<std::int64_t>> new_to_old, old_to_new;  // sticks
  std::map<std::int64_t, std::set<std::int64_t>> new_to_lane, old_to_lane;
  bool same = from.slots() == to.slots();
  bool keeps_lanes = true;
  bool old_sparse = true;
  bool new_sparse = true;
  for_each_index(from.shape(), [&](const Index& index) {
    const std::int64_t a = from.locate(index)->slot;
    const std::int64_t b = to.locate(index)->slot;
    same = same && a == b;
    keeps_lanes = keeps_lanes && a % per_stick == b % per_stick;
    old_sparse = old_sparse && a % per_stick == 0;
    new_sparse = new_sparse && b % per_stick == 0;
    new_to_old[b / per_stick].insert(a / per_stick);
    old_to_new[a / per_stick].insert(b / per_stick);
    new_to_lane[b / per_stick].insert(a % per_stick);
    old_to_lane[a / per_stick].insert(b % per_stick);
  });
  const auto single = [](const auto& sets) {
    return std::all_of(sets.begin(), sets.end(),
                       [](const auto& s) { return s.second.size() == 1; });
  };
  Naive result;
  if (same || from.shape().empty()) {
    result.kind = RestickifyKind::kNothing;
    return result;
  }
  result.sticks_read = std::ssize(old_to_new);
  result.sticks_written = std::ssize(new_to_old);
  result.gathers = old_sparse && !new_sparse;
  if (keeps_lanes && single(new_to_old) && single(old_to_new)) {
    result.kind = RestickifyKind::kMove;
  } else if (!result.gathers && single(new_to_lane) && single(old_to_lane)) {
    result.kind = new_sparse ? RestickifyKind::kSpread : RestickifyKind::kTranspose;
  }
  return result;
}

TEST(SpyreRestickify, EveryKindByItsDefinition) {
  Random random(6);
  std::map<int, int> seen;
  for (int i = 0; i < 600; ++i) {
    const auto words = [&](const Case& c) {
      return random.one_in(3)   ? random.dims(c)
             : random.one_in(2) ? random.defaults(c)
                                : random.strides(c);
    };
    const Case a = words(random.tensor());
    const Case b = words(a);
    SCOPED_TRACE(describe(a) + " to " + describe(b));
    const Result<Layout> from = lower(a.words, a.shape, a.dtype);
    const Result<Layout> to = lower(b.words, b.shape, b.dtype);
    ASSERT_TRUE(from.ok() && to.ok());
    const Naive expected = naive(*from, *to, *elements_per_stick(a.dtype));
    const Result<Restickify> actual = restickify(a.words, b.words, a.shape, a.dtype);
    seen[expected.kind ? static_cast<int>(*expected.kind) : expected.gathers ? -1 : -2]++;
    if (!expected.kind) {
      ASSERT_FALSE(actual.ok());
      ASSERT_EQ(actual.error().code,
                expected.gathers ? ErrorCode::kNotSupported : ErrorCode::kInvalidShape)
          << actual.error().message;
      continue;
    }
    ASSERT_TRUE(actual.ok()) << actual.error().message;
    ASSERT_EQ(actual->kind, *expected.kind);
    ASSERT_EQ(actual->sticks_read, expected.sticks_read);
    ASSERT_EQ(actual->sticks_written, expected.sticks_written);
    ASSERT_EQ(actual->bytes_read, expected.sticks_read * 128);
    ASSERT_EQ(actual->bytes_written, expected.sticks_written * 128);
  }
  for (const int kind : {-2, -1, 0, 1, 2, 3}) EXPECT_GT(seen[kind], 5) << kind;
}

TEST(SpyreRestickify, ChangingTheStickDimIsATranspose) {
  const SpyreLayout rows = by_default();
  const SpyreLayout columns = by_default(std::nullopt, Numbers{1, 0});
  // [512, 256] f16: 512 rows of 4 sticks become 256 columns of 8.
  const Result<Restickify> cost = restickify(rows, columns, shape_of({512, 256}), DType::kF16);
  ASSERT_TRUE(cost.ok()) << cost.error().message;
  EXPECT_EQ(*cost, (Restickify{RestickifyKind::kTranspose, 2048, 2048, std::int64_t{2048} * 128,
                               std::int64_t{2048} * 128, std::int64_t{8} * 256 * 128}));
  // A dim that does not fill its sticks: 67 columns of 2 sticks against 5 rows of 67 sticks.
  const Result<Restickify> padded = restickify(rows, columns, shape_of({5, 67}), DType::kF16);
  ASSERT_TRUE(padded.ok());
  EXPECT_EQ(padded->sticks_read, 5 * 2);
  EXPECT_EQ(padded->sticks_written, 67);
}

TEST(SpyreRestickify, OtherOrdersOfTheSameSticksMoveThem) {
  const Result<Restickify> cost =
      restickify(by_default(), by_default(std::nullopt, Numbers{1, 0, 2}), shape_of({3, 2, 2048}),
                 DType::kF16);
  ASSERT_TRUE(cost.ok()) << cost.error().message;
  EXPECT_EQ(cost->kind, RestickifyKind::kMove);
  EXPECT_EQ(cost->sticks_read, 3 * 2 * 32);
}

TEST(SpyreRestickify, TheSameLayoutCostsNothing) {
  // Both eras store [512, 256] in the same way.
  const Result<Restickify> cost = restickify(by_default(SpyreLayout::Era::kDocument), by_default(),
                                             shape_of({512, 256}), DType::kF16);
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(*cost, Restickify{});
}

TEST(SpyreRestickify, GathersAreNamed) {
  const SpyreLayout sparse = by_default(std::nullopt, std::nullopt, true);
  const Result<Restickify> gather = restickify(sparse, by_default(), shape_of({256}), DType::kF16);
  ASSERT_FALSE(gather.ok());
  EXPECT_EQ(gather.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(gather.error().message,
            "a gather: from sparse sticks of one element each to sticks of 64 elements of dim 0");
  // In the other direction, each element gets its own stick.
  const Result<Restickify> spread = restickify(by_default(), sparse, shape_of({256}), DType::kF16);
  ASSERT_TRUE(spread.ok()) << spread.error().message;
  EXPECT_EQ(*spread, (Restickify{RestickifyKind::kSpread, 4, 256, std::int64_t{4} * 128,
                                 std::int64_t{256} * 128, std::int64_t{256} * 128}));
}

TEST(SpyreRestickify, UnalignedSticksAreNamed) {
  // Tiles of 120 in two sticks each: element 120 begins a stick there, and is at 56 of stick 1
  // otherwise. Device (a, b, c) of [3, 2, 14] is stick (a·2 + b)·14 + c; 120 is (1, 0, 0): 28.
  const Result<Restickify> cost = restickify(
      by_default(), stride_map({3, 2, 14, 64}, {120, 64, 360, 1}), shape_of({4800}), DType::kF16);
  ASSERT_FALSE(cost.ok());
  EXPECT_EQ(cost.error().code, ErrorCode::kInvalidShape);
  EXPECT_EQ(
      cost.error().message,
      "unaligned sticks along dim 0: element [120] moves from lane 56 of stick 1 to lane 0 of "
      "stick 28");
}

TEST(SpyreRestickify, ASquareOfSticksInOneDimIsATransposeToo) {
  // 4096 elements as 64 sticks of neighbours, or of every 64th element.
  const Result<Restickify> cost = restickify(
      stride_map({64, 64}, {64, 1}), stride_map({64, 64}, {1, 64}), shape_of({4096}), DType::kF16);
  ASSERT_TRUE(cost.ok()) << cost.error().message;
  EXPECT_EQ(cost->kind, RestickifyKind::kTranspose);
}

TEST(SpyreRestickify, LargeTensorsCostNoMore) {
  const Shape shape = shape_of({std::int64_t{1} << 30, std::int64_t{1} << 20});
  const Result<Restickify> cost =
      restickify(by_default(), by_default(std::nullopt, Numbers{1, 0}), shape, DType::kF16);
  ASSERT_TRUE(cost.ok()) << cost.error().message;
  EXPECT_EQ(cost->sticks_read, std::int64_t{1} << 44);
}

}  // namespace
}  // namespace tessera::notation::spyre_test

// SPDX-License-Identifier: Apache-2.0
// Invalid layouts: every code of that part of result.h, from Layout::make.
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

struct BadSpec {
  const char* what;
  LayoutSpec spec;
  ErrorCode code;
};

LayoutSpec with_slots(LayoutSpec s, std::int64_t slots) {
  s.slots = slots;
  return s;
}
LayoutSpec with_atom(LayoutSpec s, Atom atom) {
  s.atom = atom;
  return s;
}
LayoutSpec with_map(LayoutSpec s, DeviceMap map) {
  s.device_map = std::move(map);
  return s;
}

std::vector<BadSpec> bad_specs() {
  const Fold four = fold(x(0), {mem(1, 4, 1)});
  const Form plain = form({4}, {}, {four});
  const std::int64_t big = INT64_MAX / 4;
  return {
      {"slots overflow", spec(form({4}, {}, {fold(x(0), {mem(1, 4, big * 2)})})),
       ErrorCode::kOverflow},
      {"bytes overflow", spec(form({4}, {}, {fold(x(0), {mem(1, 4, big / 2)})}), DType::kF64),
       ErrorCode::kOverflow},
      {"explicit slots overflow in bytes", with_slots(spec(plain, DType::kF64), INT64_MAX),
       ErrorCode::kOverflow},
      {"bytes of all places overflow",
       spec(form({4}, {std::int64_t{1} << 40}, {fold(x(0), {mem(1, 4, std::int64_t{1} << 20)})},
                 {Fill::fixed(0, 0)}),
            DType::kF64),
       ErrorCode::kOverflow},
      {"explicit slots of all places overflow",
       with_slots(spec(form({4}, {4}, {four}, {Fill::fixed(0, 0)}), DType::kI8), INT64_MAX / 2),
       ErrorCode::kOverflow},
      {"line overflows", spec(form({4}, {}, {fold(x(0, big * 2), {mem(1, 4, 1)})})),
       ErrorCode::kOverflow},
      {"65 cuts", spec(form({4}, {}, {fold(x(0), std::vector<Cut>(65, mem(1, 4, 1)))})),
       ErrorCode::kRankTooLarge},
      {"mesh of no places", spec(form({4}, {0}, {four}, {Fill::fixed(0, 0)})),
       ErrorCode::kBadShape},
      {"a fold of a missing dim", spec(form({4}, {}, {fold(x(1), {mem(1, 4, 1)})})),
       ErrorCode::kBadFold},
      {"a chain ending in 2", spec(form({4}, {}, {fold(x(0), {mem(2, 4, 1)})})),
       ErrorCode::kBadCut},
      {"a count too small", spec(form({4}, {}, {fold(x(0), {mem(1, 3, 1)})})),
       ErrorCode::kCountTooSmall},
      {"a mesh too small", spec(form({4}, {3}, {fold(x(0), {on(0, 1, 4)})})),
       ErrorCode::kMeshTooSmall},
      {"an axis unsaid", spec(form({4}, {2}, {four})), ErrorCode::kAxisUnsaid},
      {"a bad fill", spec(form({4}, {2}, {four}, {Fill::fixed(0, -1)})), ErrorCode::kBadFill},
      {"slots not whole tiles", with_atom(spec(plain), Atom::tile(32, 32, DType::kF32)),
       ErrorCode::kBadAtom},
      {"tile of no rows", with_atom(spec(plain), Atom::tile(0, 1, DType::kF32)),
       ErrorCode::kBadAtom},
      {"block float scalar", with_atom(spec(plain), Atom::scalar(DType::kBfpBf8)),
       ErrorCode::kBadAtom},
      {"device map that repeats",
       with_map(spec(form({4}, {4}, {fold(x(0), {on(0, 1, 4)})})),
                DeviceMap::table(shape({4}), {{0}, {1}, {2}, {2}})),
       ErrorCode::kBadDeviceMap},
      {"device map too short",
       with_map(spec(form({4}, {4}, {fold(x(0), {on(0, 1, 4)})})),
                DeviceMap::table(shape({4}), {{0}, {1}})),
       ErrorCode::kBadDeviceMap},
      {"too few slots", with_slots(spec(plain), 3), ErrorCode::kSlotsTooFew},
      {"negative slots", with_slots(spec(plain), -1), ErrorCode::kSlotsTooFew},
      {"a forgotten dim", spec(form({4, 2}, {}, {four})), ErrorCode::kNotInjective},
      {"equal strides", spec(form({4, 2}, {}, {four, fold(x(1), {mem(1, 2, 1)})})),
       ErrorCode::kNotInjective},
      {"a digit nowhere", spec(form({4}, {}, {fold(x(0), {nowhere(2, 2), mem(1, 2, 1)})})),
       ErrorCode::kNotInjective},
      {"a line that folds on itself",
       spec(form({3, 3}, {}, {fold({x(0, 2), x(1)}, {mem(1, 7, 1)})})), ErrorCode::kNotInjective},
      {"replicas of different elements meet",
       spec(form({2}, {3}, {fold(x(0), {on(0, 1, 2)})}, {Fill::replicate(0, 2)})),
       ErrorCode::kNotInjective},
      {"padding over data",
       spec(form({2, 4}, {}, {fold(x(0), {mem(1, 2, 4)}), fold(x(1), {mem(1, 5, 1)})})),
       ErrorCode::kPaddingOverlap},
      {"padding over padding",
       spec(form({1, 1}, {}, {fold(x(0), {mem(1, 3, 2)}), fold(x(1), {mem(1, 3, 1)})})),
       ErrorCode::kPaddingOverlap},
  };
}

TEST(LayoutErrors, EveryCodeOfLayoutsThatCannotBe) {
  std::set<ErrorCode> seen;
  for (const BadSpec& bad : bad_specs()) {
    const Result<Layout> l = Layout::make(bad.spec);
    ASSERT_FALSE(l.ok()) << bad.what;
    EXPECT_EQ(l.error().code, bad.code) << bad.what << ": " << why(l);
    EXPECT_FALSE(l.error().message.empty()) << bad.what;
    seen.insert(l.error().code);
  }
  for (const ErrorCode code : all_error_codes()) {
    if (code < ErrorCode::kBadShape || code > ErrorCode::kPaddingOverlap) continue;
    if (code == ErrorCode::kBadDType) continue;  // texts name types; specs cannot name unknown ones
    EXPECT_TRUE(seen.contains(code)) << code_name(code) << " was never answered";
  }
}

TEST(LayoutErrors, CollisionsAreNamed) {
  const Result<Layout> l = Layout::make(
      spec(form({4, 2}, {}, {fold(x(0), {mem(1, 4, 1)}), fold(x(1), {mem(1, 2, 1)})})));
  ASSERT_FALSE(l.ok());
  EXPECT_NE(l.error().message.find("[0, 1]"), std::string::npos) << l.error().message;
  EXPECT_NE(l.error().message.find("[1, 0]"), std::string::npos) << l.error().message;
}

TEST(LayoutErrors, QuestionsOutsideAreOutOfRange) {
  const Layout l = layout(tiled_53x63());
  for (const Index& bad : std::vector<Index>{{53, 0}, {-1, 0}, {0}, {0, 0, 0}, {0, INT64_MAX}}) {
    const auto where = l.locate(bad);
    ASSERT_FALSE(where.ok());
    EXPECT_EQ(where.error().code, ErrorCode::kOutOfRange);
  }
  for (const Place& bad : std::vector<Place>{{3, 0}, {0, -1}, {0}, {0, 0, 0}}) {
    const auto slot = l.element_at(bad, 0);
    ASSERT_FALSE(slot.ok());
    EXPECT_EQ(slot.error().code, ErrorCode::kOutOfRange);
  }
}

TEST(LayoutErrors, StridedRefusesWhatItCannotSay) {
  EXPECT_FALSE(Layout::strided(shape({4, 6}), DType::kF32, {1}).ok());
  EXPECT_FALSE(Layout::strided(shape({4, 6}), DType::kF32, {1, 2}).ok());
  EXPECT_FALSE(Layout::strided(shape({4, 6}), DType::kF32, {6, 1}, -1).ok());
  EXPECT_FALSE(Layout::strided(shape({4}), DType::kF32, {INT64_MAX}).ok());
  EXPECT_FALSE(Layout::row_major(shape({4}), DType::kBfpBf8).ok());
  EXPECT_FALSE(Layout::row_major(shape({INT64_MAX}), DType::kF64).ok());
  EXPECT_TRUE(Layout::row_major(shape({INT64_MAX}), DType::kI8).ok());
}

}  // namespace
}  // namespace tessera::test

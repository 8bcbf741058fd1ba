// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tessera/layout/form.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

/// `extent` elements in pieces of `width`, one piece per place.
Form pieces(std::int64_t extent, std::int64_t width, std::int64_t start = 0) {
  const std::int64_t line = start + extent;
  const std::int64_t count = (line + width - 1) / width;
  return form({extent}, {count}, {fold(x(0), {on(0, width, count), mem(1, width, 1)}, start)});
}

/// The number of contiguous segments of the nests: all combinations of the loops, where an
/// innermost loop of step 1 is the segment itself.
std::int64_t segments(const Refinement& refinement) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < refinement.nests(); ++i) {
    const Nest nest = refinement.nest(i);
    std::int64_t combinations = 1;
    for (std::size_t l = 0; l < nest.loops.size(); ++l) {
      const bool segment = l + 1 == nest.loops.size() && nest.loops[l].step == 1;
      if (!segment) combinations *= nest.loops[l].extent;
    }
    count += combinations;
  }
  return count;
}

// 12 elements as 3 pieces of 4 against 2 pieces of 6: [0,4) [4,6) [6,8) [8,12).
TEST(Refine, FourAgainstSix) {
  const Refinement refinement = *refine(pieces(12, 4), pieces(12, 6));
  EXPECT_EQ(segments(refinement), 4);
  EXPECT_EQ(law_refine(pieces(12, 4), pieces(12, 6)), "");
}

// lcm(18, 32) = 288; 288/18 + 288/32 - 1 = 16 + 9 - 1 = 24 segments.
TEST(Refine, EighteenAgainstThirtyTwo) {
  EXPECT_EQ(segments(*refine(pieces(288, 18), pieces(288, 32))), 24);
  // Boundaries at 31, 63, .. are odd and never equal multiples of 18: one more segment.
  EXPECT_EQ(segments(*refine(pieces(288, 18), pieces(288, 32, 1))), 25);
  // Boundaries at 30, 62, .. equal a multiple of 18 once (126): 24 again.
  EXPECT_EQ(segments(*refine(pieces(288, 18), pieces(288, 32, 2))), 24);
  for (const std::int64_t start : {0, 1, 2, 17}) {
    EXPECT_EQ(law_refine(pieces(288, 18), pieces(288, 32, start)), "");
    EXPECT_EQ(law_refine(pieces(300, 18, start), pieces(300, 32, 5)), "");
  }
}

// u/g + v/g - 1 segments per period, for all small pairs of widths.
TEST(Refine, SegmentsOfOnePeriod) {
  for (std::int64_t u = 2; u <= 12; ++u) {
    for (std::int64_t v = 2; v <= 12; ++v) {
      const std::int64_t g = std::gcd(u, v);
      const Refinement refinement = *refine(pieces(u / g * v, u), pieces(u / g * v, v));
      EXPECT_EQ(segments(refinement), u / g + v / g - 1) << u << " against " << v;
    }
  }
}

// Many periods are one short list of pieces, not one piece per period.
TEST(Refine, PeriodsAreLoops) {
  constexpr std::int64_t kElements = 288'000;
  const Refinement refinement = *refine(pieces(kElements, 18), pieces(kElements, 32));
  EXPECT_LE(refinement.nests(), 64);
  std::int64_t elements = 0;
  for (std::int64_t i = 0; i < refinement.nests(); ++i) elements += refinement.nest(i).elements();
  EXPECT_EQ(elements, kElements);
}

TEST(Refine, ProductOfIndependentDims) {
  const Form rows =
      form({12, 12}, {3, 2},
           {fold(x(0), {on(0, 4, 3), mem(1, 4, 6)}), fold(x(1), {on(1, 6, 2), mem(1, 6, 1)})});
  const Form columns =
      form({12, 12}, {2, 3},
           {fold(x(0), {on(0, 6, 2), mem(1, 6, 1)}), fold(x(1), {on(1, 4, 3), mem(1, 4, 6)})});
  const Refinement refinement = *refine(rows, columns);
  EXPECT_EQ(refinement.factors().size(), 2u);
  EXPECT_EQ(segments(refinement) % 4, 0);
  EXPECT_EQ(law_refine(rows, columns), "");
}

TEST(Refine, OneFormAlone) {
  const Refinement refinement = *refine(tiled_53x63());
  std::int64_t elements = 0;
  for (std::int64_t i = 0; i < refinement.nests(); ++i) {
    const Nest nest = refinement.nest(i);
    EXPECT_EQ(nest.at.a, nest.at.b);
    elements += nest.elements();
  }
  EXPECT_EQ(elements, 53 * 63);
  EXPECT_EQ(law_refine(tiled_53x63(), tiled_53x63()), "");
}

TEST(Refine, EdgesHaveDefinedAnswers) {
  const Form scalar = form({}, {}, {}, {}, 3);
  EXPECT_EQ(law_refine(scalar, form({}, {}, {})), "");
  EXPECT_EQ(refine(scalar, scalar)->nests(), 1);
  const Form empty = form({0, 5}, {}, {fold({x(0, 5), x(1)}, {mem(1, 0, 1)})});
  EXPECT_EQ(refine(empty, empty)->nests(), 0);
  EXPECT_EQ(law_refine(empty, empty), "");
  const auto mismatch = refine(scalar, empty);
  ASSERT_FALSE(mismatch.ok());
  EXPECT_EQ(mismatch.error().code, ErrorCode::kShapeMismatch);
}

TEST(Refine, TheLaw) {
  const std::vector<Form> forms = {
      form({6, 8}, {}, {fold(x(0), {mem(1, 6, 8)}), fold(x(1), {mem(1, 8, 1)})}),
      form({6, 8}, {}, {fold(x(0), {mem(1, 6, 4)}), fold(x(1), {mem(4, 2, 24), mem(1, 4, 1)})}),
      form({6, 8}, {5}, {fold({x(0, 8), x(1)}, {on(0, 10, 5), mem(1, 10, 1)})}),
      form({6, 8}, {7}, {fold({x(1, 6), x(0)}, {on(0, 7, 7), mem(5, 2, 5), mem(1, 5, 1)})}),
      form({6, 8}, {2, 2},
           {fold(x(0), {on(0, 3, 2), mem(2, 2, 1), mem(1, 2, 8)}),
            fold(x(1, -1), {on(1, 5, 2), mem(1, 5, 16)}, 7)}),
      form({6, 8}, {}, {fold({x(0, 10), x(1)}, {mem(7, 9, 7), mem(1, 7, 1)}, 2)}),
      form({6, 8}, {6}, {fold(x(0), {on(0, 1, 6)}), fold({x(0), x(1)}, {mem(1, 13, 1)})}),
  };
  for (const Form& a : forms) {
    for (const Form& b : forms) EXPECT_EQ(about(a, about(b, law_refine(a, b))), "");
  }
}

}  // namespace
}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/form.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

// The worked table of layout.h: rows of 53 by (18, 32, 1).
TEST(Form, WorkedTable) {
  const Form f = form({53}, {3}, {fold(x(0), {on(0, 18, 3), mem(32, 1, 1024), mem(1, 32, 32)})});
  ASSERT_TRUE(f.check().ok());
  const std::vector<std::vector<std::int64_t>> rows = {
      {0, 0, 0}, {17, 0, 17}, {18, 1, 0}, {40, 2, 4}, {52, 2, 16}};  // x0, core, tile row
  for (const auto& row : rows) {
    Place place;
    std::int64_t slot = 0;
    f.evaluate({row[0]}, place, slot);
    EXPECT_EQ(place, (Place{row[1]}));
    EXPECT_EQ(slot, row[2] * 32);
  }
  EXPECT_EQ(f.reach(), 31 * 32 + 1);
}

TEST(Form, RankZeroIsOneElement) {
  const Form f = form({}, {}, {});
  EXPECT_TRUE(f.check().ok());
  EXPECT_EQ(f.reach(), 1);
  EXPECT_EQ(f.replicas(), 1);
  EXPECT_EQ(form_laws(f), "");
}

TEST(Form, ReplicasMultiplyAndSpread) {
  const Form f =
      form({4}, {2, 6}, {fold(x(0), {mem(1, 4, 1)})},
           {Fill::replicate(0, 2), Fill::partial(1, 3, Reduction::kSum, 2), Fill::fixed(1, 1)});
  ASSERT_TRUE(f.check().ok());
  EXPECT_EQ(f.replicas(), 6);
  Place first;
  std::int64_t slot = 0;
  f.evaluate({3}, first, slot);
  EXPECT_EQ(first, (Place{0, 1}));
  EXPECT_EQ(replica_places(f, first),
            (std::vector<Place>{{0, 1}, {0, 3}, {0, 5}, {1, 1}, {1, 3}, {1, 5}}));
}

TEST(Form, ReachOfAnEmptyAllocationIsZero) {
  EXPECT_EQ(form({0}, {}, {fold(x(0), {mem(1, 0, 1)})}).reach(), 0);
  EXPECT_EQ(form({0}, {}, {fold(x(0), {mem(1, 3, 2)})}).reach(), 5);
  EXPECT_EQ(form({0}, {}, {fold(x(0), {mem(1, 3, 2)})}, {}, 7).reach(), 12);
}

TEST(Form, EvaluateAgreesWithTheDefinition) {
  for (const Form& f :
       {tiled_53x63(), form({7, 5}, {4}, {fold({x(0, 5), x(1)}, {on(0, 9, 4), mem(1, 9, 1)})}),
        form({6}, {}, {fold(x(0, -2), {mem(4, 3, 1), mem(1, 4, 3)}, 10)}, {}, 2)}) {
    ASSERT_TRUE(f.check().ok());
    for (std::int64_t i = 0; i < f.shape.elements(); ++i) {
      Place place;
      std::int64_t slot = 0;
      f.evaluate(f.shape.delinear(i), place, slot);
      const NaivePosition position = naive_evaluate(f, f.shape.delinear(i));
      EXPECT_EQ(place, position.first);
      EXPECT_EQ(slot, position.slot);
    }
  }
}

struct BadForm {
  const char* what;
  Form form;
  ErrorCode code;
};

TEST(Form, WhatCannotBeIsAnError) {
  const std::int64_t big = std::int64_t{1} << 40;
  const Fold plain = fold(x(0), {mem(1, 4, 1)});
  const std::vector<BadForm> cases = {
      {"a bad fold", form({4}, {}, {fold(x(1), {mem(1, 4, 1)})}), ErrorCode::kBadFold},
      {"mesh without places", form({4}, {0}, {plain}, {Fill::fixed(0, 0)}), ErrorCode::kBadShape},
      {"negative offset", form({4}, {}, {plain}, {}, -1), ErrorCode::kBadFold},
      {"digit past the axis", form({4}, {3}, {fold(x(0), {on(0, 1, 4)})}),
       ErrorCode::kMeshTooSmall},
      {"stride past the axis", form({4}, {6}, {fold(x(0), {on(0, 1, 4, 2)})}),
       ErrorCode::kMeshTooSmall},
      {"allocated count past the axis", form({4}, {4}, {fold(x(0), {on(0, 1, 5)})}),
       ErrorCode::kMeshTooSmall},
      {"replicas past the axis", form({4}, {3}, {plain}, {Fill::replicate(0, 4)}),
       ErrorCode::kMeshTooSmall},
      {"fixed past the axis", form({4}, {3}, {plain}, {Fill::fixed(0, 3)}),
       ErrorCode::kMeshTooSmall},
      {"digit and fixed together past the axis",
       form({4}, {4}, {fold(x(0), {on(0, 1, 4)})}, {Fill::fixed(0, 1)}), ErrorCode::kMeshTooSmall},
      {"an axis unsaid", form({4}, {2}, {plain}), ErrorCode::kAxisUnsaid},
      {"a second axis unsaid", form({4}, {4, 2}, {fold(x(0), {on(0, 1, 4)})}),
       ErrorCode::kAxisUnsaid},
      {"fill of a missing axis", form({4}, {2}, {plain}, {Fill::fixed(1, 0)}), ErrorCode::kBadFill},
      {"fill of a negative axis", form({4}, {2}, {plain}, {Fill::fixed(-1, 0)}),
       ErrorCode::kBadFill},
      {"fixed below zero", form({4}, {2}, {plain}, {Fill::fixed(0, -1)}), ErrorCode::kBadFill},
      {"no replicas", form({4}, {2}, {plain}, {Fill::replicate(0, 0)}), ErrorCode::kBadFill},
      {"replicas no distance apart", form({4}, {2}, {plain}, {Fill::replicate(0, 2, 0)}),
       ErrorCode::kBadFill},
      {"slots overflow", form({4}, {}, {fold(x(0), {mem(1, 4, INT64_MAX / 2)})}),
       ErrorCode::kOverflow},
      {"slots overflow by the last one", form({4}, {}, {plain}, {}, INT64_MAX - 3),
       ErrorCode::kOverflow},
      {"slots overflow by two digits",
       form({4, 4}, {},
            {fold(x(0), {mem(1, 4, INT64_MAX / 4)}), fold(x(1), {mem(1, 4, INT64_MAX / 4)})}),
       ErrorCode::kOverflow},
      {"places times slots overflow",
       form({4}, {big}, {fold(x(0), {mem(1, 4, big)})}, {Fill::fixed(0, 0)}), ErrorCode::kOverflow},
      {"coordinate overflows", form({4}, {4}, {fold(x(0), {on(0, 1, 4, INT64_MAX / 2)})}),
       ErrorCode::kMeshTooSmall},
      {"replicas overflow the axis", form({4}, {4}, {plain}, {Fill::replicate(0, INT64_MAX, 2)}),
       ErrorCode::kMeshTooSmall},
      {"too many folds", form({4}, {}, std::vector<Fold>(1000, plain)), ErrorCode::kRankTooLarge},
  };
  for (const BadForm& bad : cases) {
    const Status status = bad.form.check();
    ASSERT_FALSE(status.ok()) << bad.what;
    EXPECT_EQ(status.error().code, bad.code) << bad.what << ": " << status.error().message;
    EXPECT_FALSE(status.error().message.empty());
  }
}

TEST(Form, AnAxisOfOnePlaceNeedsNoWords) {
  EXPECT_TRUE(form({4}, {1, 1}, {fold(x(0), {mem(1, 4, 1)})}).check().ok());
}

TEST(Form, NamesOfReductions) {
  EXPECT_EQ(reduction_name(Reduction::kSum), "sum");
  EXPECT_EQ(reduction_name(Reduction::kProduct), "product");
  EXPECT_EQ(reduction_name(Reduction::kMin), "min");
  EXPECT_EQ(reduction_name(Reduction::kMax), "max");
  EXPECT_EQ(reduction_name(Reduction::kAnd), "and");
  EXPECT_EQ(reduction_name(Reduction::kOr), "or");
}

}  // namespace
}  // namespace tessera::test

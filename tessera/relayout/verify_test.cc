// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/verify.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/testing/build.h"
#include "tessera/testing/check/findings.h"
#include "tessera/testing/figures.h"

namespace tessera::test {
namespace {

Layout row_major(std::vector<std::int64_t> extents) {
  return *Layout::row_major(shape(std::move(extents)), DType::kF32);
}

/// [2, 3] column by column: element (r, c) in slot 2c + r.
Layout column_major() { return *Layout::strided(shape({2, 3}), DType::kF32, {1, 2}); }

/// The correct program for row-major [2, 3] to column_major(), written by hand.
relayout::Program transpose() {
  const Factor rows{{0}, {{{0}, {}, {{0, 2, 1, {{0, 3}, {0, 1}}}}}}};
  const Factor columns{{1}, {{{0}, {}, {{1, 3, 1, {{0, 1}, {0, 2}}}}}}};
  relayout::Program program;
  program.from = {shape({}), 6, Atom::scalar(DType::kF32), 24};
  program.to = program.from;
  program.copies = {Refinement(shape({2, 3}), shape({}), shape({}), {}, {rows, columns})};
  return program;
}

std::vector<relayout::Flaw> flaws(const std::vector<relayout::Finding>& findings) {
  std::vector<relayout::Flaw> list;
  for (const relayout::Finding& finding : findings) list.push_back(finding.flaw);
  return list;
}

TEST(Verify, FindsNothingWrongWithARightProgram) {
  EXPECT_TRUE(findings(transpose(), row_major({2, 3}), column_major()).empty());
}

TEST(Verify, TellsAWrongSourceByItsNumbers) {
  // The identity instead of the transpose: (0, 1) goes to slot 2 but is read from slot 2.
  relayout::Program program = transpose();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[0].pieces[0].loops[0].move.a.slot = 1;
  factors[1].pieces[0].loops[0].move.a.slot = 2;
  program = with_factors(program, 0, factors, {});
  const std::vector<relayout::Finding> found = findings(program, row_major({2, 3}), column_major());
  ASSERT_EQ(flaws(found), std::vector{relayout::Flaw::kWrongSource});
  EXPECT_EQ(found[0].position, 2);
  EXPECT_EQ(test::figures(found[0].message), "[0 1] 2 [] 1 []");
}

TEST(Verify, TellsWhatIsWrittenTwiceAndWhatIsNot) {
  // Columns 0, 0, 2: slots 0 and 1 twice, slots 2 and 3 never; column 0 gets column 1's values.
  relayout::Program program = transpose();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[1].pieces = {{{0}, {}, {{1, 2, 1, {{0, 1}, {0, 0}}}}},
                       {{2}, {{0, 2}, {0, 4}}, {{1, 1, 1, {}}}}};
  program = with_factors(program, 0, factors, {});
  const std::vector<relayout::Finding> found = findings(program, row_major({2, 3}), column_major());
  ASSERT_EQ(flaws(found), (std::vector{relayout::Flaw::kNotWritten, relayout::Flaw::kWrittenTwice,
                                       relayout::Flaw::kWrongSource}));
  EXPECT_EQ(found[0].position, 2);
  EXPECT_EQ(found[1].position, 0);
}

TEST(Verify, TellsWhatIsOutside) {
  relayout::Program program = transpose();
  program = with_factors(program, 0, program.copies[0].factors(), {{0, 0}, {0, 1}});
  const std::vector<relayout::Finding> found = findings(program, row_major({2, 3}), column_major());
  ASSERT_TRUE(has(found, relayout::Flaw::kOutside));
  EXPECT_EQ(found[0].position, 6);
  EXPECT_EQ(test::figures(found[0].message), "6 0 1 6");
  program = with_factors(program, 0, program.copies[0].factors(), {{1, 0}, {0, 0}});
  EXPECT_EQ(flaws(findings(program, row_major({2, 3}), column_major())),
            std::vector{relayout::Flaw::kOutside});
}

TEST(Verify, TellsAProgramForOtherMemory) {
  relayout::Program program = transpose();
  program.to.slots = 8;
  program.to.bytes = 32;
  EXPECT_EQ(flaws(findings(program, row_major({2, 3}), column_major())),
            std::vector{relayout::Flaw::kOutside});
}

/// Rows of 3 in rows of 4: slots 3 and 7 are padding that holds 5.
Layout padded(PaddingValue padding) {
  LayoutSpec wide =
      spec(form({2, 3}, {}, {fold(x(0), {mem(1, 2, 4)}), fold(x(1), {mem(1, 4, 1)})}));
  wide.padding = padding;
  return *Layout::make(wide);
}

relayout::Program into_padded() {
  relayout::Program program = transpose();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[0].pieces[0].loops[0].move.b.slot = 4;
  factors[1].pieces[0].loops[0].move.b.slot = 1;
  program = with_factors(program, 0, factors, {});
  program.to.slots = 8;
  program.to.bytes = 32;
  return program;
}

TEST(Verify, LooksAtFills) {
  const Layout from = row_major({2, 3});
  const Layout to = padded(PaddingValue::of(5));
  relayout::Program program = into_padded();
  const std::vector<relayout::Finding> missing = findings(program, from, to);
  ASSERT_EQ(flaws(missing), std::vector{relayout::Flaw::kNotFilled});
  EXPECT_EQ(missing[0].position, 3);
  EXPECT_TRUE(findings(program, from, to, relayout::PaddingRule::kLeave).empty());

  program.padding = 5;
  program.fills = {{{0, 3}, {{2, {0, 4}}}}};
  EXPECT_TRUE(findings(program, from, to).empty());
  EXPECT_TRUE(findings(program, from, to, relayout::PaddingRule::kZero).empty()) << "5 is promised";
  const std::vector<relayout::Finding> unwanted =
      findings(program, from, to, relayout::PaddingRule::kLeave);
  ASSERT_EQ(flaws(unwanted), std::vector{relayout::Flaw::kFilled});
  EXPECT_EQ(test::figures(unwanted[0].message), "3 []");

  program.padding = 0;
  EXPECT_EQ(flaws(findings(program, from, to)), std::vector{relayout::Flaw::kNotFilled})
      << "another value";
  EXPECT_TRUE(
      findings(program, from, padded(PaddingValue::undef()), relayout::PaddingRule::kZero).empty());
  EXPECT_EQ(flaws(findings(program, from, padded(PaddingValue::undef()))),
            std::vector{relayout::Flaw::kFilled});
}

TEST(Verify, FillsMayCoverDataOnlyWhereTheProgramSaysSo) {
  const Layout from = row_major({2, 3});
  const Layout to = padded(PaddingValue::of(0));
  relayout::Program program = into_padded();
  program.fills = {{{}, {{8, {0, 1}}}}};
  const std::vector<relayout::Finding> found = findings(program, from, to);
  ASSERT_EQ(flaws(found), std::vector{relayout::Flaw::kFilled});
  EXPECT_EQ(test::figures(found[0].message), "0 [] [0 0]");
  program.fills_cover_data = true;
  EXPECT_TRUE(findings(program, from, to).empty());
  program.fills[0].loops[0].extent = 9;
  EXPECT_EQ(flaws(findings(program, from, to)), std::vector{relayout::Flaw::kOutside});
}

TEST(Verify, CopiesMayNotWritePadding) {
  relayout::Program program = into_padded();
  std::vector<Factor> factors = program.copies[0].factors();
  factors[1].pieces[0].loops[0].extent = 4;
  program = with_factors(program, 0, factors, {});
  const std::vector<relayout::Finding> found =
      findings(program, row_major({2, 3}), padded(PaddingValue::undef()));
  EXPECT_TRUE(has(found, relayout::Flaw::kWrongPosition));
}

TEST(Verify, EndsHoweverLongAProgramIs) {
  for (const std::int64_t extent : {std::int64_t{1} << 40, INT64_MAX}) {
    for (const std::int64_t step : {0, 1}) {
      relayout::Program program = transpose();
      std::vector<Factor> factors = program.copies[0].factors();
      factors[1].pieces[0].loops[0].extent = extent;
      factors[1].pieces[0].loops[0].move.b.slot = step;
      program = with_factors(program, 0, factors, {});
      EXPECT_FALSE(findings(program, row_major({2, 3}), column_major()).empty());
    }
    relayout::Program program = into_padded();
    program.fills = {{{0, 3}, {{2, {0, 4}}, {extent, {0, 0}}}}};
    const Result<std::vector<relayout::Finding>> found = relayout::verify(
        program, row_major({2, 3}), padded(PaddingValue::of(0)), relayout::PaddingRule::kPromised);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kTooLarge);
  }
}

TEST(Verify, SaysWhyAQuestionHasNoAnswer) {
  const auto code = [](const Placement& from, const Placement& to) {
    const Result<std::vector<relayout::Finding>> found =
        relayout::verify({}, from, to, relayout::PaddingRule::kLeave);
    EXPECT_FALSE(found.ok());
    return found.ok() ? ErrorCode::kIo : found.error().code;
  };
  EXPECT_EQ(code(row_major({2, 3}), row_major({3, 2})), ErrorCode::kShapeMismatch);
  const Layout huge = row_major({1 << 15, 1 << 14});
  EXPECT_EQ(code(huge, huge), ErrorCode::kTooLarge);
  const Form shares =
      form({2}, {2}, {fold(x(0), {mem(1, 2, 1)})}, {Fill::partial(0, 2, Reduction::kSum)});
  EXPECT_EQ(code(layout(shares), row_major({2})), ErrorCode::kNotSupported);
  EXPECT_EQ(code(row_major({2}), layout(shares)), ErrorCode::kNotSupported);
  const View repeated = *View::of(row_major({3})).broadcast(0, 2);
  EXPECT_EQ(code(row_major({2, 3}), repeated), ErrorCode::kNotInjective);
}

TEST(Verify, AnyReplicaOfTheSourceWillDo) {
  const Form twice = form({3}, {2}, {fold(x(0), {mem(1, 3, 1)})}, {Fill::replicate(0, 2)});
  relayout::Program program;
  program.from = {shape({2}), 3, Atom::scalar(DType::kF32), 24};
  program.to = {shape({}), 3, Atom::scalar(DType::kF32), 12};
  const Factor all{{0}, {{{0}, {}, {{0, 3, 1, {{0, 1}, {0, 1}}}}}}};
  for (const std::int64_t replica : {0, 1}) {
    program.copies = {Refinement(shape({3}), shape({2}), shape({}), {{replica, 0}, {0, 0}}, {all})};
    EXPECT_TRUE(findings(program, layout(twice), row_major({3})).empty());
  }
}

}  // namespace
}  // namespace tessera::test

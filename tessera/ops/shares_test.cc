// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/shares.h"

#include <gtest/gtest.h>

#include <string>

#include "tessera/ops/propagate.h"
#include "tessera/testing/ops/propagate_law.h"
#include "tessera/testing/ops/random_calls.h"
#include "tessera/testing/ops/shares_law.h"

namespace tessera::ops {
namespace {

using test::Dice;
using test::OpCase;

TEST(Shares, EveryOpObeysTheLawOnRandomWork) {
  std::uint64_t cases = 0;
  std::uint64_t several = 0;
  for (const std::string_view op : test::ops_with_loops()) {
    for (std::uint64_t seed = 0; seed < test::tries(40); ++seed) {
      Dice dice(seed * 6151 + 11);
      const OpCase made = test::random_call(dice, op);
      const Result<graph::Types> outputs = made.infer();
      ASSERT_TRUE(outputs) << made.text();
      const auto types = made.types();
      const graph::Call call(made.op, types, made.attributes, made.outputs);
      const Shape mesh = *Shape::make({dice.between(1, 4), dice.between(1, 4)});
      Question question{&call, {}, {}};
      question.outputs.resize(outputs->size());
      question.outputs[0] = test::random_division(dice, (*outputs)[0], mesh);
      for (const auto& input : made.inputs) {
        question.inputs.emplace_back();
        if (input && seed % 2 == 0) {
          question.inputs.back() = test::random_division(dice, input->type, mesh);
        }
      }
      const Result<Answer> answer = propagate(question);
      ASSERT_TRUE(answer) << made.text() << ": " << answer.error().message;
      if (!answer->work) continue;
      const auto shares = shares_of(call, *outputs, answer->loops, *answer->work);
      ASSERT_TRUE(shares) << made.text() << ": " << shares.error().message;
      EXPECT_EQ(test::shares_law(call, *outputs, answer->loops, *answer->work, *shares), "")
          << made.text() << "\n"
          << answer->loops.to_string() << "\nseed " << seed << " mesh " << mesh.to_string();
      ++cases;
      several += shares->size() > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(cases, test::tries(4000));
  EXPECT_GT(several, test::tries(1000));
}

/// The place that performs output block c of a form that cuts factor `f` into blocks on axis 0.
WorkMap blocks_of(const Loops& loops, std::size_t f, std::int64_t places) {
  Form form;
  form.shape = *loops.iterations();
  form.mesh = *Shape::make({places});
  const std::int64_t width = (form.shape[f] + places - 1) / places;
  form.folds.push_back({{Term{static_cast<int>(f), 1}},
                        0,
                        {{width, (form.shape[f] + width - 1) / width, Target::mesh(0), 1},
                         {1, width, Target::nothing()}}});
  return *WorkMap::make(loops, std::move(form));
}

TEST(Shares, AConvolutionReadsARowOfItsNeighbour) {
  // FACTS 5: 224 -> 112 rows, 3x3, stride 2, over 8 places: 14 output rows need 29 input rows. The
  // first place has one of them outside the image.
  const graph::TensorType x{*Shape::make({1, 3, 224, 224}), DType::kF32};
  const graph::TensorType w{*Shape::make({8, 3, 3, 3}), DType::kF32};
  const graph::TensorType* const types[] = {&x, &w};
  const graph::Attributes attributes = {{"strides", std::vector<std::int64_t>{2, 2}},
                                        {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  const graph::Call call(*graph::Op::find("conv"), types, attributes, 1);
  const graph::Types outputs = *graph::infer(call);
  const Loops loops = *loops_of(call, outputs);
  std::size_t rows = 0;
  while (loops.factors[rows].extent != 112) ++rows;
  const WorkMap work = blocks_of(loops, rows, 8);
  const auto shares = shares_of(call, outputs, loops, work);
  ASSERT_TRUE(shares) << shares.error().message;
  ASSERT_EQ(shares->size(), 2U);
  EXPECT_EQ((*shares)[0].example, Place{0});
  EXPECT_EQ((*shares)[0].inputs[0], (std::vector<Box>{{{0, 0, 0, 0}, {1, 3, 28, 224}}}));
  EXPECT_EQ((*shares)[1].count(), 7);
  EXPECT_EQ((*shares)[1].inputs[0], (std::vector<Box>{{{0, 0, 27, 0}, {1, 3, 56, 224}}}));
  EXPECT_EQ((*shares)[1].outputs[0], (std::vector<Box>{{{0, 0, 14, 0}, {1, 8, 28, 112}}}));
  EXPECT_EQ((*shares)[1].read_bytes, 4 * (3 * 29 * 224 + 8 * 3 * 3 * 3));
  // Two operations for each of 8·14·112 results and 3·3·3 products.
  EXPECT_EQ((*shares)[1].flops, 2 * 8 * 14 * 112 * 27);
}

TEST(Shares, BytesLeaveOutWhatStridesPassOver) {
  // An eighth of the columns of a matrix is an eighth of the elements of its line, in 1024 runs.
  const graph::TensorType x{*Shape::make({1024, 1024}), DType::kF32};
  const graph::TensorType* const one[] = {&x};
  const graph::Attributes flat = {{"shape", std::vector<std::int64_t>{1048576}}};
  const graph::Call reshape(*graph::Op::find("reshape"), one, flat, 1);
  const graph::Types line = *graph::infer(reshape);
  const Loops digits = *loops_of(reshape, line);
  const auto parts = shares_of(reshape, line, digits, blocks_of(digits, 1, 8));
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 1U);
  EXPECT_EQ((*parts)[0].read_bytes, 4 * 1024 * 128);
  EXPECT_EQ((*parts)[0].made_bytes, 4 * 1024 * 128);

  // A 1x1 convolution with stride 2 reads every second row and column: 2 rows of 8 for 4 places.
  const graph::TensorType image{*Shape::make({1, 4, 16, 16}), DType::kF32};
  const graph::TensorType w{*Shape::make({8, 4, 1, 1}), DType::kF32};
  const graph::TensorType* const two[] = {&image, &w};
  const graph::Attributes strides = {{"strides", std::vector<std::int64_t>{2, 2}}};
  const graph::Call conv(*graph::Op::find("conv"), two, strides, 1);
  const graph::Types small = *graph::infer(conv);
  const Loops loops = *loops_of(conv, small);
  std::size_t rows = 0;
  while (loops.factors[rows].extent != 8 || loops.factors[rows].name == "o") ++rows;
  const auto shares = shares_of(conv, small, loops, blocks_of(loops, rows, 4));
  ASSERT_TRUE(shares) << shares.error().message;
  EXPECT_EQ((*shares)[0].read_bytes, 4 * (4 * 2 * 8 + 8 * 4));
}

TEST(Shares, AWholeWaferHasFewOfThem) {
  // 1988 rows over 994 and 1499 columns over 750 places: the last column has one element less.
  const graph::TensorType a{*Shape::make({1988, 512}), DType::kF32};
  const graph::TensorType b{*Shape::make({512, 1499}), DType::kF32};
  const graph::TensorType* const types[] = {&a, &b};
  const graph::Attributes attributes;
  const graph::Call call(*graph::Op::find("matmul"), types, attributes, 1);
  const graph::Types outputs = *graph::infer(call);
  Question question{&call, {}, {}};
  question.outputs.emplace_back(
      *Layout::make({{{*Shape::make({1988, 1499})},
                      *Shape::make({994, 750}),
                      {{{Term{0, 1}}, 0, {{2, 994, Target::mesh(0)}, {1, 2, Target::memory(), 2}}},
                       {{Term{1, 1}}, 0, {{2, 750, Target::mesh(1)}, {1, 2, Target::memory(), 1}}}},
                      {},
                      0},
                     DType::kF32,
                     Atom::scalar(DType::kF32),
                     {},
                     {},
                     "",
                     {}}));
  const Answer answer = *propagate(question);
  ASSERT_TRUE(answer.legal) << answer.reason;
  const auto shares = shares_of(call, outputs, answer.loops, *answer.work);
  ASSERT_TRUE(shares) << shares.error().message;
  ASSERT_EQ(shares->size(), 2U);
  EXPECT_EQ((*shares)[0].count(), 994 * 749);
  EXPECT_EQ((*shares)[1].count(), 994);
  EXPECT_EQ((*shares)[0].read_bytes, 4 * 512 * (2 + 2));
  EXPECT_EQ((*shares)[1].flops, 2 * 2 * 512);
}

}  // namespace
}  // namespace tessera::ops

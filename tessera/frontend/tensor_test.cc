// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tessera/frontend/eval.h"
#include "tessera/notation/tensor.h"

namespace tessera::frontend {
namespace {

Layout layout_of(const std::string& text) { return parse_tensor(text)->layout(); }

TEST(FrontendTensor, TypesFollowFromTheOps) {
  const Tensor x = *zeros({2, 3});
  const Tensor w = *zeros({3, 4});
  EXPECT_EQ((x + 1)->type().to_string(), "f32[2, 3]");
  EXPECT_EQ(matmul(x, w)->type().to_string(), "f32[2, 4]");
  EXPECT_EQ(less(x, 2 * x)->type().to_string(), "i1[2, 3]");
  EXPECT_EQ(sum(x, {-1})->type().to_string(), "f32[2]");
  EXPECT_EQ(mean(x, {0}, true)->type().to_string(), "f32[1, 3]");
  EXPECT_EQ(max(x)->type().to_string(), "f32[]");
  EXPECT_EQ(reshape(x, {3, -1})->type().to_string(), "f32[3, 2]");
  EXPECT_EQ(transpose(x)->type().to_string(), "f32[3, 2]");
  EXPECT_EQ(slice(x, {0, 1}, {2, 3})->type().to_string(), "f32[2, 2]");
  EXPECT_EQ(concat({x, x}, 1)->type().to_string(), "f32[2, 6]");
  EXPECT_EQ(cast(x, DType::kBF16)->type().to_string(), "bf16[2, 3]");
  EXPECT_EQ(arange(0, 10, 3, DType::kI64)->type().to_string(), "i64[4]");
  EXPECT_FALSE((x + 1)->is_evaluated());
}

/// The code of a call and, in its message, the op and the types of its operands.
void expect_error(const Result<Tensor>& made, ErrorCode code, const std::string& call) {
  ASSERT_FALSE(made.ok()) << call;
  EXPECT_EQ(made.error().code, code) << made.error().message;
  EXPECT_TRUE(made.error().message.starts_with(call)) << made.error().message;
}

TEST(FrontendTensor, ErrorsNameTheOpAndTheTypes) {
  const Tensor x = *zeros({2, 3});
  const Tensor y = *zeros({4, 5});
  const Tensor i = *zeros({2, 3}, DType::kI32);
  expect_error(matmul(x, y), ErrorCode::kShapeMismatch, "matmul of f32[2, 3] and f32[4, 5]: ");
  expect_error(x + y, ErrorCode::kShapeMismatch, "add of f32[2, 3] and f32[4, 5]: ");
  expect_error(x * i, ErrorCode::kBadDType, "mul of f32[2, 3] and i32[2, 3]: ");
  expect_error(i / i, ErrorCode::kBadDType, "/ of i32[2, 3] and i32[2, 3]: ");
  EXPECT_EQ((i + 0.5).error().code, ErrorCode::kBadDType);
  EXPECT_TRUE((i + 2).ok());
  expect_error(reshape(x, {4, -1}), ErrorCode::kShapeMismatch, "reshape of f32[2, 3]: ");
  expect_error(reshape(x, {-1, -1}), ErrorCode::kShapeMismatch, "reshape of f32[2, 3]: ");
  expect_error(sum(x, {2}), ErrorCode::kBadNode, "reduce_sum of f32[2, 3]: ");
  expect_error(concat({x, y}, 0), ErrorCode::kShapeMismatch, "concat of f32[2, 3] and f32[4, 5]");
  expect_error(apply("reluu", {x}), ErrorCode::kUnknownName, "");
  expect_error(apply("topk", {x}, {{"k", 1}}), ErrorCode::kBadNode, "topk of f32[2, 3]: ");
  // The first error of an expression is that of the whole.
  expect_error(relu(matmul(x, y) + 1) * x, ErrorCode::kShapeMismatch, "matmul of f32[2, 3] and");
}

TEST(FrontendTensor, SourcesAreChecked) {
  EXPECT_EQ(zeros({2, -1}).error().code, ErrorCode::kBadShape);
  EXPECT_EQ(randn({2}, 1, DType::kI32).error().code, ErrorCode::kBadDType);
  EXPECT_EQ(full({2}, 1e30, DType::kI32).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(full({2}, std::nan(""), DType::kI8).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(arange(0, 1, 0).error().code, ErrorCode::kBadNumber);
  EXPECT_EQ(from_bytes({3}, DType::kF32, "abc").error().code, ErrorCode::kShapeMismatch);
  const std::vector<double> two = {1, 2};
  EXPECT_EQ(from_numbers({3}, two).error().code, ErrorCode::kShapeMismatch);
  const Layout grid = layout_of("tensor<4x6xf32, pyflame.Grid(2, 2)>");
  EXPECT_EQ(zeros({4, 5}, DType::kF32, grid).error().code, ErrorCode::kShapeMismatch);
  EXPECT_EQ(zeros({4, 6}, DType::kF16, grid).error().code, ErrorCode::kBadDType);
  EXPECT_TRUE(zeros({4, 6}, DType::kF32, grid).ok());
}

TEST(FrontendTensor, MoreThanTheHostHasIsAnError) {
  const Extents much = {1'000'000, 1'000'000, 1'000};
  EXPECT_EQ(eval({*zeros(much)}).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(eval({*randn(much, 1)}).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(zeros(much, DType::kI4).error().code, ErrorCode::kOutOfMemory);
  EXPECT_EQ(arange(0, 1e12).error().code, ErrorCode::kBadNumber);
  EXPECT_FALSE(eval({*(*zeros(much) + 1)}).ok());
  EXPECT_EQ(zeros({1LL << 40, 1LL << 40}).error().code, ErrorCode::kOverflow);
}

TEST(FrontendTensor, EveryElementTypeHasSources) {
  for (const DType dtype : all_dtypes()) {
    const Result<Tensor> made = ones({3, 5}, dtype);
    ASSERT_EQ(made.ok(), !is_block_float(dtype)) << dtype_name(dtype);
    if (!made) continue;
    ASSERT_TRUE(eval({*made}).ok()) << dtype_name(dtype);
    EXPECT_EQ(static_cast<std::int64_t>(made->bytes().size()), made->type().bytes());
  }
}

TEST(FrontendTensor, NumbersRoundAndWrap) {
  const std::vector<double> numbers = {0, 1.5, -2, 300};
  const Tensor bytes = *from_numbers({4}, numbers, DType::kU8);
  EXPECT_EQ(bytes.elements<std::uint8_t>(), (std::vector<std::uint8_t>{0, 1, 254, 44}));
  const Tensor floats = *from_numbers({4}, numbers);
  EXPECT_EQ(floats.elements<float>(), (std::vector<float>{0, 1.5F, -2, 300}));
  const Tensor large = *full({2}, 18446744073709549568.0, DType::kU64);
  ASSERT_TRUE(eval({large}).ok());
  EXPECT_EQ(large.elements<std::uint64_t>()[1], 18446744073709549568U);
  const Tensor range = *arange(5, -1, -2, DType::kI16);
  EXPECT_EQ(range.elements<std::int16_t>(), (std::vector<std::int16_t>{5, 3, 1}));
}

TEST(FrontendTensor, RandomNumbersAreNormalAndRepeatable) {
  const Tensor x = *randn({100, 100}, 7);
  const Tensor line = *randn({10}, 7);
  const Tensor other = *randn({10}, 8);
  ASSERT_TRUE(eval({x, line, other}).ok());
  const std::vector<float> numbers = x.elements<float>();
  const std::vector<float> first = line.elements<float>();
  EXPECT_TRUE(std::equal(first.begin(), first.end(), numbers.begin()));
  EXPECT_NE(first, other.elements<float>());
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (const float number : numbers) {
    sum += number;
    squares += number * number;
    fourth += std::pow(number, 4.0);
  }
  // Of 10^4 numbers: standard deviations are 0.01, 0.014 and 0.098.
  EXPECT_NEAR(sum / 1e4, 0, 0.04);
  EXPECT_NEAR(squares / 1e4, 1, 0.06);
  EXPECT_NEAR(fourth / 1e4, 3, 0.4);
}

TEST(FrontendTensor, ALayoutIsKeptAndSharedWhereItIsTheSame) {
  const Layout rows = layout_of("tensor<4x6xf32, pyflame.RowPartition(2)>");
  const Layout grid = layout_of("tensor<4x6xf32, pyflame.Grid(2, 2)>");
  const Tensor x = *zeros({4, 6}, DType::kF32, rows);
  EXPECT_EQ(to_layout(x, rows)->node(), x.node());
  const Tensor moved = *to_layout(x, grid);
  EXPECT_NE(moved.node(), x.node());
  EXPECT_EQ(*moved.layout(), grid);
  EXPECT_EQ(*x.layout(), rows);
  EXPECT_FALSE((x + x)->layout().has_value());
  const Layout other = layout_of("tensor<4x5xf32, pyflame.Grid(2, 2)>");
  EXPECT_EQ(to_layout(x, other).error().code, ErrorCode::kShapeMismatch);
}

TEST(FrontendTensor, DeepExpressionsAreReleased) {
  Tensor x = *zeros({2});
  for (int i = 0; i < 100'000; ++i) x = *(x + 1);
  EXPECT_EQ(x.shape().rank(), 1U);
}

}  // namespace
}  // namespace tessera::frontend

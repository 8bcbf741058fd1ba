// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/morello/morello.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/notation/morello/facts.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/terms.h"
#include "tessera/testing/laws.h"
#include "tessera/testing/notation/text_checks.h"

namespace tessera::notation {
namespace {

using Builder = MorelloLayout::Builder;

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor.ok() ? *std::move(tensor) : *parse_tensor("tensor<f32, native<>>");
}

/// The slots of all elements in row-major order.
std::vector<std::int64_t> slots(const std::string& text) {
  const Tensor tensor = read(text);
  std::vector<std::int64_t> list;
  Index index(tensor.layout().shape().rank(), 0);
  do {
    list.push_back(tensor.layout().locate(index)->slot);
  } while (tensor.layout().shape().next(index));
  return list;
}

std::vector<std::int64_t> sizes(const std::string& text) {
  const Tensor tensor = read(text);
  return facts_of(std::get<MorelloLayout>(terms_of(tensor)), tensor.layout().shape())
      ->physical_sizes;
}

std::string expression(const std::string& text) {
  const Tensor tensor = read(text);
  return facts_of(std::get<MorelloLayout>(terms_of(tensor)), tensor.layout().shape())->expression;
}

// The two pictures of a 6x8 matrix in the Morello documentation, computed by its formulas: 8·d0 +
// d1, and (erratum 28) (d1 mod 4) + 4·d0 + 24·floor(d1/4).
TEST(Morello, MatricesOfTheDocumentation) {
  std::vector<std::int64_t> row_major;
  std::vector<std::int64_t> packed;
  for (std::int64_t d0 = 0; d0 < 6; ++d0) {
    for (std::int64_t d1 = 0; d1 < 8; ++d1) {
      row_major.push_back(8 * d0 + d1);
      packed.push_back(d1 % 4 + 4 * d0 + 24 * (d1 / 4));
    }
  }
  EXPECT_EQ(slots("tensor<6x8xf32, morello.row_major(2)>"), row_major);
  EXPECT_EQ(slots("tensor<6x8xf32, morello[(0, Dynamic), (1, Dynamic)]>"), row_major);
  EXPECT_EQ(slots("tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>"), packed);
}

TEST(Morello, OddEvenPutsEvenPositionsFirst) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, OddEven(8))]>"), (List{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, Dynamic), (0, OddEven(4))]>"),
            (List{0, 2, 1, 3, 4, 6, 5, 7}));
  // Above a pack of 2, floor(x/2) mod 4 is sorted and the pairs stay together (erratum 31).
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, OddEven(4)), (0, Packed(2))]>"),
            (List{0, 1, 4, 5, 2, 3, 6, 7}));
  // Below a pack: the parity of x, inside every fourth.
  EXPECT_EQ(slots("tensor<8xf32, morello[(0, Packed(2)), (0, OddEven(4))]>"),
            (List{0, 2, 1, 3, 4, 6, 5, 7}));
  // Sorted twice: x = 4a + b, both of four.
  EXPECT_EQ(slots("tensor<16xf32, morello[(0, OddEven(4)), (0, OddEven(4))]>"),
            (List{0, 2, 1, 3, 8, 10, 9, 11, 4, 6, 5, 7, 12, 14, 13, 15}));
  EXPECT_EQ(slots("tensor<2xf32, morello[(0, OddEven(2))]>"), (List{0, 1}));
  // Two dims: the sorted columns of each row.
  EXPECT_EQ(slots("tensor<2x4xf32, morello[(0, Dynamic), (1, OddEven(4))]>"),
            (List{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_EQ(slots("tensor<2x4xf32, morello[(1, OddEven(4)), (0, Dynamic)]>"),
            (List{0, 4, 2, 6, 1, 5, 3, 7}));
}

TEST(Morello, Builders) {
  EXPECT_EQ(slots("tensor<2x3xf32, morello.col_major()>"),
            (std::vector<std::int64_t>{0, 2, 4, 1, 3, 5}));
  const auto nhwc = morello_builder(Builder::kNhwc, 4);
  ASSERT_TRUE(nhwc.ok());
  std::vector<std::int64_t> order;
  for (const MorelloDim& item : nhwc->dims) order.push_back(item.dim);
  EXPECT_EQ(order, (std::vector<std::int64_t>{0, 2, 3, 1}));
  // N, C, H, W = 2, 3, 4, 5: the channel is fastest.
  const Tensor tensor = read("tensor<2x3x4x5xf32, morello.nhwc()>");
  EXPECT_EQ(tensor.layout().locate({1, 2, 3, 4})->slot, ((1 * 4 + 3) * 5 + 4) * 3 + 2);
  EXPECT_EQ(slots("tensor<f32, morello.row_major(0)>"), (std::vector<std::int64_t>{0}));
  EXPECT_EQ(slots("tensor<f32, morello[]>"), (std::vector<std::int64_t>{0}));
  // A builder's dims may be omitted, but must not differ.
  MorelloLayout words;
  words.builder = Builder::kColMajor;
  const Shape shape = *Shape::make({2, 3});
  EXPECT_EQ(lower(words, shape, DType::kF32)->locate({0, 1})->slot, 2);
  words.dims = morello_builder(Builder::kRowMajor, 2)->dims;
  EXPECT_EQ(lower(words, shape, DType::kF32).error().code, ErrorCode::kContradiction);
}

// Sizes by Morello's rule: from the inside, each pack divides the remainder or takes all of it.
TEST(Morello, PhysicalSizes) {
  using List = std::vector<std::int64_t>;
  EXPECT_EQ(sizes("tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>"),
            (List{2, 6, 4}));
  EXPECT_EQ(sizes("tensor<64x64xf32, morello[(0, Dynamic), (1, Dynamic), (0, Packed(4))]>"),
            (List{16, 64, 4}));
  EXPECT_EQ(sizes("tensor<2x2xf32, morello[(0, Dynamic), (1, Packed(2))]>"), (List{2, 2}));
  EXPECT_EQ(sizes("tensor<1x64xf32, morello[(0, Packed(4)), (1, Dynamic)]>"), (List{1, 64}));
  EXPECT_EQ(sizes("tensor<2x64xf32, morello[(0, Dynamic), (1, Dynamic), (0, Packed(4))]>"),
            (List{1, 64, 2}));
  EXPECT_EQ(sizes("tensor<10x4xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(8))]>"),
            (List{1, 10, 4}));
  EXPECT_EQ(sizes("tensor<10x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4)), "
                  "(0, Packed(2)), (1, Packed(4))]>"),
            (List{1, 5, 2, 2, 4}));
  EXPECT_EQ(sizes("tensor<1xf32, morello[(0, OddEven(4))]>"), (List{1}));
  EXPECT_EQ(sizes("tensor<1x1x3xf32, morello[(2, Dynamic)]>"), (List{3}));
  EXPECT_EQ(sizes("tensor<1x6xf32, morello.row_major()>"), (List{1, 6}));
  EXPECT_EQ(sizes("tensor<0x6xf32, morello.row_major()>"), (List{0, 6}));
  EXPECT_EQ(sizes("tensor<0xf32, morello[(0, Dynamic), (0, Packed(4))]>"), (List{1, 0}));
}

TEST(Morello, Expressions) {
  EXPECT_EQ(expression("tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>"),
            "4*d0 + 24*(d1/4) + d1%4");
  EXPECT_EQ(expression("tensor<6x8xf32, morello.row_major()>"), "8*d0 + d1");
  EXPECT_EQ(expression("tensor<6x8xf32, morello.col_major()>"), "d0 + 6*d1");
  EXPECT_EQ(expression("tensor<16x4xf32, morello.row_major()>"), "4*d0 + d1");
  EXPECT_EQ(expression("tensor<2x3x4x5xf32, morello.nhwc()>"), "60*d0 + d1 + 15*d2 + 3*d3");
  EXPECT_EQ(expression("tensor<f32, morello.row_major()>"), "0");
  EXPECT_EQ(expression("tensor<1x1xf32, morello.row_major()>"), "0");
  EXPECT_EQ(expression("tensor<1x8xf32, morello.row_major()>"), "d1");
  EXPECT_EQ(expression("tensor<8xf32, morello[(0, OddEven(8))]>"), "d0/2 + 4*(d0%2)");
  EXPECT_EQ(expression("tensor<16xf32, morello[(0, Dynamic), (0, OddEven(8))]>"),
            "8*(d0/8) + (d0/2)%4 + 4*(d0%2)");
  EXPECT_EQ(expression("tensor<2x8xf32, morello[(0, Dynamic), (1, OddEven(8))]>"),
            "8*d0 + d1/2 + 4*(d1%2)");
  // A pack that takes its dim whole, packs side by side and OddEven(2) leave no trace.
  EXPECT_EQ(expression("tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(8))]>"),
            "8*d0 + d1");
  EXPECT_EQ(expression("tensor<8xf32, morello[(0, Dynamic), (0, Packed(4)), (0, Packed(2))]>"),
            "d0");
  EXPECT_EQ(expression("tensor<8xf32, morello[(0, Dynamic), (0, OddEven(2))]>"), "d0");
  // Three levels: 12 = 3·2·2 with the rows between.
  EXPECT_EQ(expression("tensor<4x12xf32, morello[(1, Dynamic), (0, Packed(2)), (1, Packed(2)), "
                       "(0, Packed(2)), (1, Packed(2))]>"),
            "8*(d0/2) + 2*(d0%2) + 16*(d1/4) + 4*((d1/2)%2) + d1%2");
}

TEST(Morello, AWholeTensorIsContiguousWhenItsElementsAreInOrder) {
  const std::vector<std::pair<const char*, bool>> cases = {
      {"tensor<6x8xf32, morello.row_major()>", true},
      {"tensor<6x8xf32, morello.col_major()>", false},
      {"tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>", false},
      {"tensor<6x8xf32, morello[(0, Dynamic), (1, Dynamic), (1, Packed(4))]>", true},
      {"tensor<16xf32, morello[(0, Dynamic), (0, OddEven(8))]>", false},
      {"tensor<f32, morello[]>", true},
      {"tensor<0x4xf32, morello.row_major()>", true}};
  for (const auto& [text, contiguous] : cases) {
    const Tensor tensor = read(text);
    EXPECT_EQ(
        facts_of(std::get<MorelloLayout>(terms_of(tensor)), tensor.layout().shape())->contiguous,
        contiguous)
        << text;
  }
}

TEST(Morello, TextsComeBackAsWritten) {
  for (const std::string text :
       {"tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",
        "tensor<6x8xbf16, morello.row_major()>", "tensor<6x8xf32, morello.row_major(2)>",
        "tensor<6x8xi4, morello.col_major()>", "tensor<1x3x8x8xi8, morello.nhwc()>",
        "tensor<1x3x8x8xi8, morello.nhwc(4)>", "tensor<f32, morello[]>",
        "tensor<16xf32, morello[(0, OddEven(16))]>",
        "tensor<2xf32, morello[(0, Packed(4)), (0, Packed(2))]>"}) {
    EXPECT_EQ(print_tensor(read(text)), text);
  }
  EXPECT_EQ(print_tensor(read("tensor< 8xf32 , morello [ ( 0 , Dynamic ) , ( 0,Packed( 4 ) )]>")),
            "tensor<8xf32, morello[(0, Dynamic), (0, Packed(4))]>");
  EXPECT_EQ(print_tensor(read("tensor<8xf32, morello . row_major ( ) >")),
            "tensor<8xf32, morello.row_major()>");
}

TEST(Morello, LayoutsObeyTheLawsOfSlots) {
  for (const char* text :
       {"tensor<6x8xf32, morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]>",
        "tensor<3x16xf32, morello[(1, Dynamic), (0, Dynamic), (1, OddEven(4)), (1, Packed(2))]>",
        "tensor<2x1x6xf32, morello[(2, OddEven(6)), (0, Dynamic)]>",
        "tensor<4x0xf32, morello.col_major()>"}) {
    const Tensor tensor = read(text);
    EXPECT_EQ(tensor.layout().slots(), tensor.layout().shape().elements());
    EXPECT_EQ(test::slot_laws(tensor.layout()), "") << text;
  }
}

}  // namespace
}  // namespace tessera::notation

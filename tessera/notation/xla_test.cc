// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/xla.h"

#include <gtest/gtest.h>

#include <random>

#include "tessera/base/text.h"
#include "tessera/layout/compare.h"
#include "tessera/notation/notation.h"
#include "tessera/notation/text_checks.h"
#include "tessera/testing/tuples.h"

namespace tessera {
namespace {

using Numbers = std::vector<std::int64_t>;

struct Answer {
  std::int64_t slot = 0;
  std::int64_t slots = 0;
};

/// The rule on an array of coordinates, straight from the words: round up, split, move the tile to
/// the back. `index` and `extent` are the physical dims, slowest first.
Answer naive(Numbers index, Numbers extent, const std::vector<Numbers>& tiles) {
  for (Numbers tile : tiles) {
    for (std::size_t i = 0; i < tile.size();) {
      if (tile[i] != XlaLayout::kCombine) {
        ++i;
        continue;
      }
      const auto at = static_cast<std::ptrdiff_t>(extent.size() - (tile.size() - i));
      index[at + 1] += index[at] * extent[at + 1];
      extent[at + 1] *= extent[at];
      index.erase(index.begin() + at);
      extent.erase(extent.begin() + at);
      tile.erase(tile.begin() + static_cast<std::ptrdiff_t>(i));
    }
    while (extent.size() < tile.size()) {
      index.insert(index.begin(), 0);
      extent.insert(extent.begin(), 1);
    }
    const std::size_t first = extent.size() - tile.size();
    for (std::size_t i = 0; i < tile.size(); ++i) {
      index.push_back(index[first + i] % tile[i]);
      extent.push_back(tile[i]);
      index[first + i] /= tile[i];
      extent[first + i] = (extent[first + i] + tile[i] - 1) / tile[i];
    }
  }
  Answer answer{0, 1};
  for (std::size_t i = 0; i < extent.size(); ++i) {
    answer.slot = answer.slot * extent[i] + index[i];
    answer.slots *= extent[i];
  }
  return answer;
}

/// Whether it could be raised again, too.
void expect_rule(const std::string& text, const XlaLayout& words, const Shape& shape,
                 bool& raises) {
  SCOPED_TRACE(text);
  const Result<Tensor> tensor = parse_tensor(text);
  ASSERT_TRUE(tensor.ok()) << render(tensor.error(), text);
  EXPECT_EQ(std::get<XlaLayout>(tensor->words), words);
  EXPECT_EQ(print_tensor(*tensor), text);
  Numbers extent;
  for (auto dim = words.minor_to_major.rbegin(); dim != words.minor_to_major.rend(); ++dim) {
    extent.push_back(shape[static_cast<std::size_t>(*dim)]);
  }
  EXPECT_EQ(tensor->layout.slots(), naive(Numbers(extent.size(), 0), extent, words.tiles).slots);
  test::for_each_tuple(shape.extents(), [&](const Index& index) {
    Numbers physical;
    for (auto dim = words.minor_to_major.rbegin(); dim != words.minor_to_major.rend(); ++dim) {
      physical.push_back(index[static_cast<std::size_t>(*dim)]);
    }
    const Result<Location> where = tensor->layout.locate(index);
    ASSERT_TRUE(where.ok());
    EXPECT_EQ(where->slot, naive(physical, extent, words.tiles).slot) << bracketed(index);
  });
  const Result<XlaLayout> raised = raise_xla(tensor->layout);
  raises = raised.ok();
  if (!raises) return;
  const Result<Layout> again = lower(*raised, shape, DType::kF32);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(same_function(*again, tensor->layout)->equal) << write(*raised);
  EXPECT_EQ(again->slots(), tensor->layout.slots());
}

TEST(Xla, KnownAnswers) {
  // openxla.org/xla/tiled_layout: F32[3,5]{1,0:T(2,2)}, element (2,3) is at offset 17: tile (1,1)
  // of 2x3 tiles is number 4, times 4, plus (0,1) inside it.
  const Result<Tensor> tensor = parse_tensor("tensor<3x5xf32, xla{1,0:T(2,2)}>");
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor->layout.locate({2, 3})->slot, 17);
  EXPECT_EQ(tensor->layout.slots(), 24);
}

TEST(Xla, EveryElementOfRandomLayoutsFollowsTheRule) {
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
  };
  for (int round = 0; round < 10000; ++round) {
    const auto rank = static_cast<std::size_t>(pick(0, 4));
    Numbers extents;
    for (std::size_t i = 0; i < rank; ++i) extents.push_back(pick(round % 50 == 0 ? 0 : 1, 7));
    XlaLayout words;
    for (std::size_t i = 0; i < rank; ++i)
      words.minor_to_major.push_back(std::ssize(words.minor_to_major));
    std::shuffle(words.minor_to_major.begin(), words.minor_to_major.end(), random);
    const std::int64_t levels = pick(0, 2);
    for (std::int64_t level = 0; level < levels; ++level) {
      Numbers tile;
      const std::int64_t size = pick(1, level == 0 ? static_cast<std::int64_t>(rank) + 1 : 2);
      for (std::int64_t i = 0; i < size; ++i) tile.push_back(pick(1, 4));
      if (level == 0 && pick(0, 5) == 0 && static_cast<std::size_t>(size) <= rank && size > 1) {
        tile[static_cast<std::size_t>(pick(0, size - 2))] = XlaLayout::kCombine;
      }
      words.tiles.push_back(tile);
    }
    const Shape shape = *Shape::make(extents);
    const std::string text = cat("tensor<", write_tensor_type(extents, Atom::scalar(DType::kF32)),
                                 ", ", write(words), ">");
    bool raises = false;
    expect_rule(text, words, shape, raises);
    if (::testing::Test::HasFailure()) return;
    if (!raises) {
      ++refused;
      if (refused < 40) std::fprintf(stderr, "%s\n", text.c_str());
    }
  }
  EXPECT_LT(refused, 100U);
}

}  // namespace
}  // namespace tessera

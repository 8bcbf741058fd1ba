// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/array.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace {

/// The number of requests until one fails; negative: none fails. Only for this thread, and only for
/// allocations that may fail.
thread_local std::int64_t until_refusal = -1;
thread_local std::int64_t requests = 0;

void* take(std::size_t bytes, std::align_val_t alignment) noexcept {
  ++requests;
  if (until_refusal == 0) {
    until_refusal = -1;
    return nullptr;
  }
  if (until_refusal > 0) --until_refusal;
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}

}  // namespace

// The allocation function of Array, replaced in this program so that it can fail.
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return take(bytes, alignment);
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* const memory = take(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

namespace tessera {
namespace {

/// For its lifetime, makes the request after the next `after` ones fail.
class Refusal {
 public:
  explicit Refusal(std::int64_t after) { until_refusal = after; }
  ~Refusal() { until_refusal = -1; }
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
};

template <typename T>
std::vector<T> contents(const Array<T>& array) {
  return std::vector<T>(array.begin(), array.end());
}

/// An Array and the std::vector that it should equal, changed together at random. Some requests
/// fail: then both stay unchanged.
TEST(Array, DoesWhatAVectorDoesOrNothing) {
  std::mt19937 random(1);
  int refused = 0;
  for (int run = 0; run < 300; ++run) {
    Array<std::int32_t> array;
    std::vector<std::int32_t> model;
    for (int i = 0; i < 60; ++i) {
      const auto value = static_cast<std::int32_t>(random());
      const std::size_t size = random() % 40;
      const Refusal refusal(random() % 3 == 0 ? 0 : -1);
      bool done = true;
      std::vector<std::int32_t> after = model;
      switch (random() % 8) {
        case 0:
          after.resize(size, value);
          done = array.resize(size, value);
          break;
        case 1:
          after.assign(size, value);
          done = array.assign(size, value);
          break;
        case 2: {
          after.resize(size, value);
          const std::span<const std::int32_t> given(after);
          done = array.copy(given);
          break;
        }
        case 3:
          done = value % 2 == 0 ? array.reserve(size) : array.reserve_more(size);
          break;
        case 4:
          if (model.empty()) break;
          after.pop_back();
          array.pop();
          break;
        case 5:  // one of its own elements, which growth moves
          if (model.empty()) break;
          after.push_back(model.front());
          done = array.push(array[0]);
          break;
        default:
          after.push_back(value);
          done = array.push(value);
      }
      if (done) {
        model = after;
      } else {
        ++refused;
      }
      ASSERT_EQ(contents(array), model);
      ASSERT_EQ(array.size(), model.size());
      ASSERT_EQ(array.empty(), model.empty());
      ASSERT_TRUE(model.empty() || array.back() == model.back());
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Array, FillsWithItsOwnElements) {
  Array<std::int64_t> array;
  ASSERT_TRUE(array.assign(4, 9));
  ASSERT_TRUE(array.resize(5000, array[3]));
  EXPECT_EQ(contents(array), std::vector<std::int64_t>(5000, 9));
  array[4999] = 5;
  ASSERT_TRUE(array.assign(90000, array.back()));
  EXPECT_EQ(contents(array), std::vector<std::int64_t>(90000, 5));
}

TEST(Array, MovesAndLeavesNothingBehind) {
  Array<double> first;
  ASSERT_TRUE(first.resize(100, 2.5));
  const double* const where = first.data();
  Array<double> second = std::move(first);
  EXPECT_EQ(second.data(), where);
  EXPECT_EQ(first.size(), 0u);  // NOLINT(bugprone-use-after-move): what a move leaves
  ASSERT_TRUE(first.push(1));   // and it may be used again
  EXPECT_EQ(second.size(), 100u);
  first = std::move(second);
  EXPECT_EQ(first.data(), where);
  EXPECT_EQ(first[99], 2.5);
  EXPECT_TRUE(second.empty());  // NOLINT(bugprone-use-after-move)
}

TEST(Array, RefusesSizesThatOverflow) {
  Array<std::int64_t> array;
  ASSERT_TRUE(array.push(7));
  requests = 0;
  for (const std::size_t size : {SIZE_MAX, SIZE_MAX / 8, SIZE_MAX / 8 + 1, SIZE_MAX / 16 + 1}) {
    EXPECT_FALSE(array.reserve(size));
    EXPECT_FALSE(array.reserve_more(size));
    EXPECT_FALSE(array.resize(size));
    EXPECT_FALSE(array.assign(size, 1));
  }
  EXPECT_EQ(requests, 0);  // the product alone could be small
  EXPECT_EQ(contents(array), std::vector<std::int64_t>{7});
}

TEST(Array, AsksForMemoryOnlyWhenItGrows) {
  Array<int> array;
  ASSERT_TRUE(array.reserve(1000));
  requests = 0;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(array.push(i));
  array.clear();
  ASSERT_TRUE(array.resize(1000));
  EXPECT_EQ(requests, 0);
  for (int i = 0; i < 100000; ++i) ASSERT_TRUE(array.push(i));
  EXPECT_LE(requests, 8);  // doubling
  Array<int> pieces;
  requests = 0;
  for (int i = 0; i < 10000; ++i) {
    ASSERT_TRUE(pieces.reserve_more(10));
    for (int k = 0; k < 10; ++k) ASSERT_TRUE(pieces.push(k));
  }
  EXPECT_LE(requests, 16);
}

TEST(Array, IsAligned) {
  struct alignas(256) Wide {
    int value = 0;
  };
  Array<char> lines;
  Array<Wide> wide;
  ASSERT_TRUE(lines.resize(3));
  ASSERT_TRUE(wide.resize(3));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines.data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide.data()) % 256, 0u);
}

TEST(Array, ItsErrorNeedsNoMemory) {
  const Error error = out_of_memory();
  EXPECT_EQ(error.code, ErrorCode::kOutOfMemory);
  // Inside the string object itself: no memory was allocated.
  const auto* const text = reinterpret_cast<const std::byte*>(error.message.data());
  const auto* const string = reinterpret_cast<const std::byte*>(&error.message);
  EXPECT_TRUE(text >= string && text < string + sizeof(std::string));
}

}  // namespace
}  // namespace tessera

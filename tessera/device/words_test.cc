// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/words.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tessera::device {
namespace {

constexpr std::byte kCanary{0xA5};
constexpr std::size_t kRoom = 8;

std::vector<std::byte> elements_of(std::size_t count) {
  std::vector<std::byte> elements(2 * count);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<std::byte>(i * 37 + i / 256 + 1);
  }
  return elements;
}

/// Element by element.
std::vector<std::byte> naive_words(const std::vector<std::byte>& elements) {
  std::vector<std::byte> words(2 * elements.size());
  for (std::size_t i = 0; i < elements.size() / 2; ++i) {
    words[4 * i] = elements[2 * i];
    words[4 * i + 1] = elements[2 * i + 1];
  }
  return words;
}

/// Memory between canaries, from any address on.
struct Fenced {
  Fenced(std::size_t bytes, std::size_t misalignment)
      : all(bytes + misalignment + 2 * kRoom, kCanary), at(kRoom + misalignment), size(bytes) {}
  std::byte* data() { return all.data() + at; }
  std::vector<std::byte> content() const {
    return {all.begin() + static_cast<std::ptrdiff_t>(at),
            all.begin() + static_cast<std::ptrdiff_t>(at + size)};
  }
  bool is_intact() const {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((i < at || i >= at + size) && all[i] != kCanary) return false;
    }
    return true;
  }
  std::vector<std::byte> all;
  std::size_t at;
  std::size_t size;
};

TEST(Words, WidenAndNarrowAnyNumberAtAnyAddress) {
  for (std::size_t count = 0; count < 150; ++count) {
    const std::size_t misalignment = count % 5;
    const std::vector<std::byte> elements = elements_of(count);
    const std::vector<std::byte> words = naive_words(elements);
    const auto n = static_cast<std::int64_t>(count);

    Fenced apart(4 * count, misalignment);
    widen_words(apart.data(), elements.data(), n);
    EXPECT_TRUE(apart.content() == words && apart.is_intact()) << count;

    // The elements are at the end of the words.
    Fenced inside(4 * count, misalignment);
    for (std::size_t i = 0; i < elements.size(); ++i) inside.data()[2 * count + i] = elements[i];
    widen_words(inside.data(), inside.data() + 2 * count, n);
    EXPECT_TRUE(inside.content() == words && inside.is_intact()) << count;

    // Upper halves do not matter, and the elements take the place of the words.
    for (std::size_t i = 0; i < count; ++i) inside.data()[4 * i + 3] = kCanary;
    narrow_words(inside.data(), inside.data(), n);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      ASSERT_EQ(inside.data()[i], elements[i]) << count;
    }
    Fenced narrow(2 * count, misalignment);
    narrow_words(narrow.data(), words.data(), n);
    EXPECT_TRUE(narrow.content() == elements && narrow.is_intact()) << count;
  }
}

}  // namespace
}  // namespace tessera::device

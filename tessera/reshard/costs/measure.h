// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tessera/reshard/reshard.h"

namespace tessera::reshard {

/// The size of a set of messages, in a form that can be multiplied: the total number of elements,
/// and how many messages there are of each size modulo Classes. Rounding up to whole wavelets or
/// bytes depends only on these.
///
/// The messages of a product have sizes n·m, so measures multiply as the sets do. Measures of
/// disjoint sets add. A set that counts k times has k times the measure.
/// Law: rounded(rate) = Σ over the messages of ceil(n·rate), for a rate whose denominator divides
/// Classes.
template <std::size_t Classes>
struct Measure {
  std::int64_t elements = 0;
  std::array<std::int64_t, Classes> by_size{};

  static Measure of(std::int64_t size, std::int64_t count = 1) {
    Measure measure;
    measure.elements = size * count;
    measure.by_size[static_cast<std::size_t>(size) % Classes] = count;
    return measure;
  }

  std::int64_t messages() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : by_size) sum += count;
    return sum;
  }

  std::int64_t rounded(const Reshard::Rate& rate) const {
    std::int64_t missing = 0;  // in units of 1 / denominator
    if constexpr (Classes > 1) {
      for (std::size_t size = 1; size < Classes; ++size) {
        const auto n = static_cast<std::int64_t>(size) * rate.numerator;
        missing += by_size[size] * ((rate.denominator - n % rate.denominator) % rate.denominator);
      }
    }
    return (elements * rate.numerator + missing) / rate.denominator;
  }

  Measure& operator+=(const Measure& b) {
    elements += b.elements;
    for (std::size_t i = 0; i < Classes; ++i) by_size[i] += b.by_size[i];
    return *this;
  }
  Measure& operator-=(const Measure& b) {
    elements -= b.elements;
    for (std::size_t i = 0; i < Classes; ++i) by_size[i] -= b.by_size[i];
    return *this;
  }
  friend Measure operator+(Measure a, const Measure& b) { return a += b; }
  friend Measure operator-(Measure a, const Measure& b) { return a -= b; }
  friend Measure operator*(Measure a, std::int64_t n) {
    a.elements *= n;
    for (std::int64_t& count : a.by_size) count *= n;
    return a;
  }
  friend Measure operator*(const Measure& a, const Measure& b) {
    Measure product;
    product.elements = a.elements * b.elements;
    if constexpr (Classes == 1) {
      product.by_size[0] = a.by_size[0] * b.by_size[0];
    } else {
      for (std::size_t i = 0; i < Classes; ++i) {
        if (a.by_size[i] == 0) continue;
        for (std::size_t j = 0; j < Classes; ++j) {
          product.by_size[i * j % Classes] += a.by_size[i] * b.by_size[j];
        }
      }
    }
    return product;
  }
  friend bool operator==(const Measure&, const Measure&) = default;
  friend auto operator<=>(const Measure&, const Measure&) = default;
};

}  // namespace tessera::reshard

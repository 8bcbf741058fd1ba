// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera::tools {

/// Makes the compiler assume that `value` is read, so that it does not remove the code that
/// computed it.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// The same for a number in a register, cheap enough for every iteration of a loop: each number
/// must be computed, whereas a plain sum would let the compiler merge neighbouring iterations.
inline void keep_number(std::int64_t number) { asm volatile("" : : "r"(number)); }

/// One of the implementations that are compared.
struct Contender {
  std::string name;
  std::function<void()> work;
};

struct MeasureOptions {
  int rounds = 11;               ///< odd, so that the median is a measurement
  double sample_seconds = 2e-3;  ///< short work is repeated until a sample takes this long
};

inline double seconds_of(const std::function<void()>& work, std::int64_t repeats) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < repeats; ++i) work();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return elapsed.count();
}

/// Median seconds of one call of each contender. They take turns, round after round, in one
/// process, so that a slow period of the machine affects all of them.
inline std::vector<double> median_seconds(const std::vector<Contender>& contenders,
                                          const MeasureOptions& options) {
  std::vector<std::int64_t> repeats;
  for (const Contender& contender : contenders) {
    contender.work();  // warms caches and finishes lazy set-up
    std::int64_t count = 1;
    while (seconds_of(contender.work, count) < options.sample_seconds && count < (1 << 20)) {
      count *= 2;
    }
    repeats.push_back(count);
  }
  std::vector<std::vector<double>> samples(contenders.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      samples[i].push_back(seconds_of(contenders[i].work, repeats[i]) /
                           static_cast<double>(repeats[i]));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& sample : samples) {
    const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
    std::nth_element(sample.begin(), middle, sample.end());
    medians.push_back(*middle);
  }
  return medians;
}

/// The most bytes that `work` and everything it calls had allocated at the same time, beyond what
/// was allocated before. Counts operator new in all threads. Calls must not be nested.
std::int64_t peak_bytes_of(const std::function<void()>& work);

}  // namespace tessera::tools

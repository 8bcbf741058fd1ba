// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/array.h"

namespace tessera::memory {

/// The key of a search state: 128 bits. The chance that two states share a key is negligible (below
/// 10^-20 for the largest number of states that are kept).
struct StateKey {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  friend bool operator==(const StateKey&, const StateKey&) = default;
};

/// States from which no plan was found. Grows to 2^21 of them (32 MiB); then new ones replace old
/// ones.
class Failures {
 public:
  void clear() {
    states_.clear();
    count_ = 0;
  }
  bool has(const StateKey& key) const {
    if (states_.empty()) return false;
    const std::size_t at = start(key);
    for (std::size_t i = 0; i < kProbes; ++i) {
      if (states_[at ^ i] == key) return true;
    }
    return false;
  }
  /// False when memory is refused.
  [[nodiscard]] bool add(const StateKey& key) {
    if (count_ * 2 >= states_.size() && states_.size() < kMost && !grow()) return false;
    insert(key);
    return true;
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 21;
  static constexpr std::size_t kProbes = 8;  // neighbours in two cache lines

  std::size_t start(const StateKey& key) const { return key.first & (states_.size() - 1); }
  void insert(const StateKey& key) {
    const std::size_t at = start(key);
    for (std::size_t i = 0; i < kProbes; ++i) {
      if (states_[at ^ i] != StateKey{}) continue;
      states_[at ^ i] = key;
      ++count_;
      return;
    }
    states_[at ^ (key.second % kProbes)] = key;
  }
  [[nodiscard]] bool grow() {
    Array<StateKey> old = std::move(states_);
    states_ = {};
    if (!states_.resize(old.empty() ? 1024 : old.size() * 2)) {
      states_ = std::move(old);
      return false;
    }
    count_ = 0;
    for (const StateKey& key : old) {
      if (key != StateKey{}) insert(key);
    }
    return true;
  }

  Array<StateKey> states_;
  std::size_t count_ = 0;
};

}  // namespace tessera::memory

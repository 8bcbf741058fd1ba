// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

namespace tessera::fabric {

/// An array of zeros, whose memory the system provides page by page when it is first written: a sum
/// for each of a wafer's places takes no time for the places that have none.
template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ZeroedArray() = default;
  explicit ZeroedArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    values_.reset(static_cast<T*>(std::calloc(size, sizeof(T))));
    while (!values_) {
      const std::vector<T> refused(size);  // throws, as whatever asks for too much memory
      values_.reset(static_cast<T*>(std::calloc(size, sizeof(T))));
    }
  }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return values_.get()[i]; }
  const T& operator[](std::size_t i) const { return values_.get()[i]; }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }

 private:
  struct Free {
    void operator()(T* values) const { std::free(values); }
  };
  std::size_t size_ = 0;
  std::unique_ptr<T, Free> values_;
};

/// Loads by number, of which only those that are used take time. A load has a member `listed`,
/// which is false at first.
template <typename Load>
class ListedLoads {
 public:
  explicit ListedLoads(std::int64_t count) : loads_(static_cast<std::size_t>(count)) {}

  /// For adding.
  Load& at(std::int64_t number) {
    Load& load = loads_[static_cast<std::size_t>(number)];
    if (!load.listed) {
      load.listed = true;
      listed_.push_back(static_cast<std::int32_t>(number));
    }
    return load;
  }
  const Load& operator[](std::int64_t number) const {
    return loads_[static_cast<std::size_t>(number)];
  }
  /// Those that were used, in the order of their first use.
  const std::vector<std::int32_t>& listed() const { return listed_; }
  void clear() {
    for (const std::int32_t number : listed_) loads_[static_cast<std::size_t>(number)] = {};
    listed_.clear();
  }

 private:
  ZeroedArray<Load> loads_;
  std::vector<std::int32_t> listed_;
};

}  // namespace tessera::fabric

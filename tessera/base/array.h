// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "tessera/base/result.h"

namespace tessera {

/// The error for a failed host allocation. Its message is short enough not to allocate memory.
inline Error out_of_memory() { return Error{ErrorCode::kOutOfMemory, "out of memory"}; }

/// A growable array of plain values that reports a failed allocation instead of throwing. For code
/// that must keep working when the machine has no memory left. Move-only; otherwise like
/// std::vector.
///
/// Law: when `resize`, `reserve` or `push` return false, nothing has changed.
/// Example:
///     Array<std::int64_t> offsets;
///     if (!offsets.resize(buffers, -1)) return out_of_memory();
template <typename T>
class Array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  Array() = default;
  Array(Array&& other) noexcept
      : block_(std::move(other.block_)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    block_ = std::move(other.block_);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, 0);
    return *this;
  }

  [[nodiscard]] bool reserve(std::size_t room) {
    if (room <= room_) return true;
    if (room > SIZE_MAX / 2 / sizeof(T)) return false;
    Block larger(static_cast<T*>(::operator new(room * sizeof(T), kAlign, std::nothrow)));
    if (larger == nullptr) return false;
    std::copy_n(block_.get(), size_, larger.get());
    block_ = std::move(larger);
    room_ = room;
    return true;
  }
  /// Makes room for `count` more values. The capacity at least doubles, so that all growth together
  /// moves a number of values proportional to the final size.
  [[nodiscard]] bool reserve_more(std::size_t count) {
    if (count <= room_ - size_) return true;
    return count <= SIZE_MAX - size_ &&
           reserve(std::max({std::size_t{8}, size_ + count, room_ * 2}));
  }
  /// New values are `value`.
  [[nodiscard]] bool resize(std::size_t size, const T& value = T{}) {
    const T kept = value;  // `value` may refer into this array
    if (!reserve(size)) return false;
    if (size > size_) std::fill(block_.get() + size_, block_.get() + size, kept);
    size_ = size;
    return true;
  }
  /// Like `clear` followed by `resize`.
  [[nodiscard]] bool assign(std::size_t size, const T& value) {
    const T kept = value;
    if (!reserve(size)) return false;
    std::fill_n(block_.get(), size, kept);
    size_ = size;
    return true;
  }
  [[nodiscard]] bool push(const T& value) {
    const T kept = value;
    if (!reserve_more(1)) return false;
    block_[size_++] = kept;
    return true;
  }
  /// Becomes equal to `other`.
  [[nodiscard]] bool copy(std::span<const T> other) {
    if (!reserve(other.size())) return false;
    std::copy(other.begin(), other.end(), block_.get());
    size_ = other.size();
    return true;
  }
  void clear() { size_ = 0; }
  /// Keeps the first `size` values.
  void shrink(std::size_t size) {
    assert(size <= size_);
    size_ = size;
  }
  void pop() { --size_; }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return block_.get(); }
  const T* data() const { return block_.get(); }
  T& operator[](std::size_t i) {
    assert(i < size_);
    return block_[i];
  }
  const T& operator[](std::size_t i) const {
    assert(i < size_);
    return block_[i];
  }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }
  T* begin() { return block_.get(); }
  T* end() { return block_.get() + size_; }
  const T* begin() const { return block_.get(); }
  const T* end() const { return block_.get() + size_; }

 private:
  static constexpr std::align_val_t kAlign{alignof(T) > 64 ? alignof(T) : 64};
  struct Free {
    void operator()(T* block) const { ::operator delete(block, kAlign); }
  };
  using Block = std::unique_ptr<T[], Free>;

  Block block_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {
namespace {

/// Side of the squares in which two loops are run, so that lines of both sides are used completely
/// while they are in the cache.
constexpr std::int64_t kSquare = 32;

std::string loops_text(const std::vector<Axis>& axes) {
  std::vector<std::string> loops;
  for (const Axis& axis : axes) {
    loops.push_back(cat(axis.extent, " (", axis.src, " -> ", axis.dst, ")"));
  }
  return join(loops, ", ");
}

template <typename T>
void move_square(std::byte* to, const std::byte* from, const Axis& slow, std::int64_t slow_steps,
                 const Axis& fast, std::int64_t fast_steps) {
  for (std::int64_t i = 0; i < slow_steps; ++i) {
    std::byte* out = to + i * slow.dst;
    const std::byte* in = from + i * slow.src;
    for (std::int64_t j = 0; j < fast_steps; ++j) {
      std::memcpy(out + j * fast.dst, in + j * fast.src, sizeof(T));
    }
  }
}

class StridedJob final : public Job {
 public:
  explicit StridedJob(const FlatNest& nest)
      : src_(nest.src), dst_(nest.dst), width_(nest.width), outer_(nest.axes) {
    // The loop with the smallest step on each side; if both are the same, there is one loop.
    if (!outer_.empty()) {
      fast_ = outer_.back();
      outer_.pop_back();
    }
    const auto nearest = std::min_element(
        outer_.begin(), outer_.end(),
        [](const Axis& a, const Axis& b) { return std::abs(a.src) < std::abs(b.src); });
    if (nearest != outer_.end()) {
      slow_ = *nearest;
      outer_.erase(nearest);
    }
  }

  std::int64_t items(int) const override { return steps_of(outer_) * blocks(); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    for (std::int64_t i = first; i < last; ++i) {
      const Offsets at = offsets_at(outer_, i / blocks());
      const std::int64_t slow = i % blocks() * kSquare;
      const std::byte* from = arrays.from + src_ + at.src + slow * slow_.src;
      std::byte* to = arrays.to + dst_ + at.dst + slow * slow_.dst;
      strip(from, to, std::min(kSquare, slow_.extent - slow));
    }
  }

  std::string describe() const override {
    std::vector<Axis> axes = outer_;
    axes.push_back(slow_);
    axes.push_back(fast_);
    return cat("strided: ", width_, "-byte elements; ", loops_text(axes));
  }

 private:
  std::int64_t blocks() const { return (slow_.extent + kSquare - 1) / kSquare; }

  void strip(const std::byte* from, std::byte* to, std::int64_t slow_steps) const {
    for (std::int64_t j = 0; j < fast_.extent; j += kSquare) {
      const std::int64_t n = std::min(kSquare, fast_.extent - j);
      const std::byte* in = from + j * fast_.src;
      std::byte* out = to + j * fast_.dst;
      switch (width_) {
        case 1:
          move_square<std::uint8_t>(out, in, slow_, slow_steps, fast_, n);
          break;
        case 2:
          move_square<std::uint16_t>(out, in, slow_, slow_steps, fast_, n);
          break;
        case 4:
          move_square<std::uint32_t>(out, in, slow_, slow_steps, fast_, n);
          break;
        default:
          move_square<std::uint64_t>(out, in, slow_, slow_steps, fast_, n);
          break;
      }
    }
  }

  std::int64_t src_, dst_, width_;
  std::vector<Axis> outer_;
  Axis slow_;
  Axis fast_;
};

class BitsJob final : public Job {
 public:
  BitsJob(FlatNest nest, std::int64_t bits) : nest_(std::move(nest)), bits_(bits) {}

  std::int64_t items(int) const override { return 1; }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    if (first == last) return;
    const std::int64_t in_byte = 8 / bits_;
    const auto mask = static_cast<unsigned>((1 << bits_) - 1);
    const std::int64_t steps = nest_.steps();
    for (std::int64_t i = 0; i < steps; ++i) {
      const Offsets at = offsets_at(nest_.axes, i);
      const std::int64_t src = nest_.src + at.src;
      const std::int64_t dst = nest_.dst + at.dst;
      const auto from = std::to_integer<unsigned>(arrays.from[src / in_byte]);
      const unsigned value = from >> (src % in_byte * bits_) & mask;
      const auto shift = static_cast<unsigned>(dst % in_byte * bits_);
      std::byte& to = arrays.to[dst / in_byte];
      to = static_cast<std::byte>((std::to_integer<unsigned>(to) & ~(mask << shift)) |
                                  value << shift);
    }
  }

  std::string describe() const override {
    return cat("copy_bits: elements of ", bits_, " bits; ", loops_text(nest_.axes));
  }

 private:
  FlatNest nest_;
  std::int64_t bits_;
};

}  // namespace

std::unique_ptr<const Job> make_strided_job(const FlatNest& nest) {
  return std::make_unique<StridedJob>(nest);
}

std::unique_ptr<const Job> make_bits_job(const FlatNest& nest, std::int64_t bits) {
  return std::make_unique<BitsJob>(nest, bits);
}

}  // namespace tessera::relayout

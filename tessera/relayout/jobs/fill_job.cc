// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kLongRun = std::int64_t{1} << 16;  // bytes that are filled as one item

/// Writes an element of `width` bytes over and over: once, then by copying what is there.
void repeat(std::byte* to, const std::byte* value, std::int64_t width, std::int64_t bytes) {
  if (std::all_of(value, value + width, [&](std::byte b) { return b == value[0]; })) {
    std::memset(to, std::to_integer<int>(value[0]), static_cast<std::size_t>(bytes));
    return;
  }
  std::memcpy(to, value, static_cast<std::size_t>(width));
  for (std::int64_t done = width; done < bytes;) {
    const std::int64_t n = std::min(done, bytes - done);
    std::memcpy(to + done, to, static_cast<std::size_t>(n));
    done += n;
  }
}

class FillJob final : public Job {
 public:
  FillJob(FlatNest nest, std::vector<std::byte> value)
      : nest_(std::move(nest)), value_(std::move(value)), run_(nest_.width) {
    if (!nest_.axes.empty() && nest_.axes.back().dst == nest_.width) {
      Axis& last = nest_.axes.back();
      const std::int64_t at_once = std::min(last.extent, kLongRun / nest_.width);
      run_ = at_once * nest_.width;
      rest_ = last.extent % at_once * nest_.width;
      last = {last.extent / at_once + (rest_ > 0 ? 1 : 0), 0, run_};
    }
  }

  std::int64_t items(int) const override { return nest_.steps(); }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    for (std::int64_t i = first; i < last; ++i) {
      const bool short_run = rest_ > 0 && (i + 1) % nest_.axes.back().extent == 0;
      repeat(arrays.to + nest_.dst + offsets_at(nest_.axes, i).dst, value_.data(), nest_.width,
             short_run ? rest_ : run_);
    }
  }

  std::string describe() const override {
    return cat("fill: ", nest_.steps(), " runs of ", run_, " bytes");
  }

 private:
  FlatNest nest_;
  std::vector<std::byte> value_;
  std::int64_t run_;
  std::int64_t rest_ = 0;  ///< bytes of the last run of the last axis, when that is shorter
};

/// Values of less than a byte, one by one.
class FillBitsJob final : public Job {
 public:
  FillBitsJob(FlatNest nest, std::int64_t bits, unsigned value)
      : nest_(std::move(nest)), bits_(bits), value_(value) {}

  std::int64_t items(int) const override { return 1; }

  void run(std::int64_t first, std::int64_t last, int, const Arrays& arrays) const override {
    if (first == last) return;
    const std::int64_t in_byte = 8 / bits_;
    const std::int64_t steps = nest_.steps();
    for (std::int64_t i = 0; i < steps; ++i) {
      const std::int64_t dst = nest_.dst + offsets_at(nest_.axes, i).dst;
      const auto shift = static_cast<unsigned>(dst % in_byte * bits_);
      const unsigned mask = ((1U << bits_) - 1) << shift;
      std::byte& to = arrays.to[dst / in_byte];
      to = static_cast<std::byte>((std::to_integer<unsigned>(to) & ~mask) |
                                  (value_ << shift & mask));
    }
  }

  std::string describe() const override {
    return cat("fill_bits: ", nest_.steps(), " elements of ", bits_, " bits");
  }

 private:
  FlatNest nest_;
  std::int64_t bits_;
  unsigned value_;
};

}  // namespace

std::unique_ptr<const Job> make_fill_job(const FillNest& fill, const Memory& to, std::int64_t bits,
                                         const std::vector<std::byte>& value) {
  FlatNest nest;
  nest.dst = to.flat(fill.at);
  for (const FillLoop& loop : fill.loops) nest.axes.push_back({loop.extent, 0, to.flat(loop.step)});
  // A source that moves along keeps `simplified` from needing to know that there is none.
  for (Axis& axis : nest.axes) axis.src = axis.dst;
  nest.src = nest.dst;
  nest = simplified(std::move(nest));
  if (bits < 8) {
    return std::make_unique<FillBitsJob>(std::move(nest), bits,
                                         std::to_integer<unsigned>(value[0]));
  }
  const std::int64_t width = bits / 8;
  nest.dst *= width;
  nest.width = width;
  for (Axis& axis : nest.axes) axis.dst *= width;
  return std::make_unique<FillJob>(std::move(nest), value);
}

}  // namespace tessera::relayout

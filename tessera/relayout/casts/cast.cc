// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/casts/cast.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "tessera/relayout/casts/cast_steps.h"

namespace tessera::relayout {
namespace {

using cast_steps::Step;
using cast_steps::Wide;

// Elements between two steps: whole groups of block floats, whole bytes of sub-byte elements, and
// buffers that stay in the first cache.
constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kWidest = 8;
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kGroup = 16;

// How a type of an array is converted: the intermediate (wide) type that holds its numbers, and the
// step to or from it, null when the type is that wide type.
struct Meeting {
  Wide wide;
  Step step;
};

Meeting reading(DType from) {
  switch (from) {
    case DType::kF64:
      return {Wide::kF64, nullptr};
    case DType::kF32:
      return {Wide::kF32, nullptr};
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return {Wide::kF32, cast_steps::small_float_to_f32(from)};
    case DType::kI64:
    case DType::kSI64:
      return {Wide::kI64, nullptr};
    case DType::kI32:
    case DType::kSI32:
      return {Wide::kI32, nullptr};
    case DType::kU64:
      return {Wide::kU64, nullptr};
    case DType::kU32:
      return {Wide::kI64, cast_steps::u32_to_i64()};
    case DType::kI4:
    case DType::kI2:
      return {Wide::kI32, cast_steps::sub_byte_to_i32(from)};
    case DType::kI16:
    case DType::kI8:
    case DType::kSI16:
    case DType::kSI8:
    case DType::kU16:
    case DType::kU8:
    case DType::kBool:
      return {Wide::kI32, cast_steps::small_int_to_i32(from)};
    case DType::kBfpBf8:
    case DType::kBfpBf4:
    case DType::kBfpBf2:
    case DType::kBfpF8:
    case DType::kBfpF4:
    case DType::kBfpF2:
      break;
  }
  return {Wide::kF32, cast_steps::block_to_f32(from)};
}

Meeting writing(DType to) {
  switch (to) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return {Wide::kOddF32, cast_steps::f32_to_small_float(to)};
    case DType::kU32:
      return {Wide::kI64, cast_steps::i64_to_u32()};
    case DType::kI4:
    case DType::kI2:
      return {Wide::kI32, cast_steps::i32_to_sub_byte(to)};
    default:
      break;
  }
  if (is_block_float(to)) return {Wide::kOddF32, cast_steps::f32_to_block(to)};
  const Meeting back = reading(to);
  return {back.wide, back.step == nullptr ? nullptr : cast_steps::i32_to_small_int(to)};
}

bool is_float(Wide wide) {
  return wide == Wide::kF64 || wide == Wide::kF32 || wide == Wide::kOddF32;
}

// The steps from one array to the other; none when both are the same wide type.
std::vector<Step> route(const Meeting& read, const Meeting& write, Rounding rounding) {
  std::vector<Step> steps;
  if (read.step != nullptr) steps.push_back(read.step);
  if (rounding == Rounding::kRound && is_float(read.wide) && !is_float(write.wide)) {
    // Whole numbers pass the checks of the steps that follow, unless they are too large.
    steps.push_back(read.wide == Wide::kF64 ? cast_steps::f64_to_whole_f64()
                                            : cast_steps::f32_to_whole_f32());
  }
  // Numbers that are f32 already were never truncated.
  const bool there =
      read.wide == write.wide || (read.wide == Wide::kF32 && write.wide == Wide::kOddF32);
  if (!there) {
    if (const Step direct = cast_steps::cross(read.wide, write.wide)) {
      steps.push_back(direct);
    } else {
      const Wide by = read.wide == Wide::kF32 ? Wide::kF64 : Wide::kI64;
      steps.push_back(cast_steps::cross(read.wide, by));
      steps.push_back(cast_steps::cross(by, write.wide));
    }
  }
  if (write.step != nullptr) steps.push_back(write.step);
  return steps;
}

// i8 and si8 hold the same numbers in the same bits.
DType with_sign(DType type) {
  switch (type) {
    case DType::kI64:
      return DType::kSI64;
    case DType::kI32:
      return DType::kSI32;
    case DType::kI16:
      return DType::kSI16;
    case DType::kI8:
      return DType::kSI8;
    default:
      return type;
  }
}

// Bytes of an element; 0 for elements that share bytes.
std::int64_t whole_bytes(DType type) { return dtype_bits(type).value_or(0) / 8; }

}  // namespace

Result<Cast> Cast::make(DType from, DType to, Rounding rounding) {
  Cast cast(from, to, rounding);
  cast.to_bytes_ = whole_bytes(to);
  if (cast.to_bytes_ > 0 && with_sign(from) == with_sign(to)) {
    cast.add(cast_steps::copy_of(cast.to_bytes_));
    return cast;
  }
  for (const Step step : route(reading(from), writing(to), rounding)) cast.add(step);
  return cast;
}

Result<Cast> Cast::make_odd(DType from, Rounding rounding) {
  Cast cast(from, DType::kF32, rounding);
  cast.to_bytes_ = whole_bytes(DType::kF32);
  for (const Step step : route(reading(from), {Wide::kOddF32, nullptr}, rounding)) cast.add(step);
  if (cast.count_ == 0) cast.add(cast_steps::copy_of(cast.to_bytes_));
  return cast;
}

bool Cast::pass(const std::byte* from, std::int64_t from_first, std::byte* to,
                std::int64_t to_first, std::int64_t n) const {
  alignas(kLine) std::byte buffers[2][kChunk * kWidest];
  bool fits = true;
  for (int i = 0; i < count_; ++i) {
    const bool last = i + 1 == count_;
    std::byte* out = last ? to : buffers[i % 2];
    fits &= steps_[static_cast<std::size_t>(i)](from, from_first, out, last ? to_first : 0, n);
    from = out;
    from_first = 0;
  }
  return fits;
}

// One element at a time, through the same steps.
std::int64_t Cast::first_misfit(const std::byte* from, std::int64_t from_first,
                                std::int64_t n) const {
  const bool block = is_block_float(to_);
  Cast single = *this;
  if (block) --single.count_;  // the last step takes groups; block_holds checks instead of it
  for (std::int64_t i = 0; i < n; ++i) {
    alignas(kWidest) std::byte out[kWidest] = {};
    bool fits = single.pass(from, from_first + i, out, 0, 1);
    if (block) {
      // Without steps, the number stays where it is.
      float number = 0;
      const std::byte* at = single.count_ > 0 ? out : from + (from_first + i) * 4;
      std::copy_n(at, sizeof(number), reinterpret_cast<std::byte*>(&number));
      fits &= cast_steps::block_holds(to_, number);
    }
    if (!fits) return i;
  }
  assert(false && "a chunk that does not fit has an element that does not");
  return 0;
}

std::optional<std::int64_t> Cast::run(const std::byte* from, std::int64_t from_first, std::byte* to,
                                      std::int64_t to_first, std::int64_t n, bool streaming) const {
  assert(!is_block_float(to_) || (to_first % kGroup == 0 && n % kGroup == 0));
  const bool past_caches = streaming && to_bytes_ > 0;
  for (std::int64_t i = 0; i < n;) {
    std::int64_t count = std::min(kChunk, n - i);
    bool fits = true;
    if (past_caches) {
      // Chunks end at line boundaries, so that each line is written once and as a whole.
      std::byte* at = to + (to_first + i) * to_bytes_;
      const std::int64_t room =
          kLine - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(at) % kLine);
      if (room != kLine && room % to_bytes_ == 0) count = std::min(count, room / to_bytes_);
      alignas(kLine) std::byte ready[kChunk * kWidest];
      fits = pass(from, from_first + i, ready, 0, count);
      cast_steps::stream(ready, at, count * to_bytes_);
    } else {
      fits = pass(from, from_first + i, to, to_first + i, count);
    }
    if (!fits && rounding_ != Rounding::kSaturate) {
      if (past_caches) cast_steps::end_stream();
      return i + first_misfit(from, from_first + i, count);
    }
    i += count;
  }
  if (past_caches) cast_steps::end_stream();
  return std::nullopt;
}

}  // namespace tessera::relayout

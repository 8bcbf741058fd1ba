// SPDX-License-Identifier: Apache-2.0
// Every type and reduction against the C++ operators, one element after another.
#include "tessera/relayout/accumulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/exchange/slab_programs.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/guarded_buffer.h"
#include "tessera/testing/relayout/plan_laws.h"

namespace tessera::test {
namespace {

/// The destination is `a`: for equal values, such as zeros of either sign, and for values that do
/// not compare, min and max keep it.
template <typename T>
T naive(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kMin:
      return b < a ? b : a;
    case Reduction::kMax:
      return a < b ? b : a;
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return reduction == Reduction::kSum ? a + b : a * b;
  } else {
    const std::uint64_t x = static_cast<std::make_unsigned_t<T>>(a);
    const std::uint64_t y = static_cast<std::make_unsigned_t<T>>(b);
    if (reduction == Reduction::kSum) return static_cast<T>(x + y);
    if (reduction == Reduction::kProduct) return static_cast<T>(x * y);
    return static_cast<T>(reduction == Reduction::kAnd ? x & y : x | y);
  }
}

/// Random bytes contain few of the special float values.
template <typename T>
void plant_specials(std::vector<std::byte>& bytes, Dice& dice) {
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T specials[] = {T{0},
                          -T{0},
                          Limits::quiet_NaN(),
                          Limits::infinity(),
                          -Limits::infinity(),
                          T{1},
                          Limits::denorm_min()};
    for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
      if (!dice.chance(40)) continue;
      std::memcpy(bytes.data() + at, &specials[dice.below(7)], sizeof(T));
    }
  }
}

/// Equal bits, or two NaNs.
template <typename T>
bool alike(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x) && std::isnan(y)) return true;
  }
  using Bytes = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bytes>(x) == std::bit_cast<Bytes>(y);
}

/// What is wrong after one random program has run; empty when nothing is.
template <typename T>
std::string mistake_of(DType type, Reduction reduction, std::uint64_t seed) {
  Dice dice(seed);
  const SlabDraw draw = random_slab(dice, type, dice.chance(20) ? 400 : 20);
  const relayout::Program& program = draw.program;
  std::vector<std::byte> source(static_cast<std::size_t>(program.from.bytes));
  std::vector<std::byte> before(static_cast<std::size_t>(program.to.bytes));
  if (source.size() > (1U << 20) || before.size() > (1U << 20)) return "";
  randomize(source, seed);
  randomize(before, seed + 1);
  plant_specials<T>(source, dice);
  plant_specials<T>(before, dice);
  std::vector<std::byte> right = before;
  for_each_step(program, [&](std::int64_t from, std::int64_t to) {
    T a;
    T b;
    std::memcpy(&a, before.data() + to * std::int64_t{sizeof(T)}, sizeof(T));
    std::memcpy(&b, source.data() + from * std::int64_t{sizeof(T)}, sizeof(T));
    a = naive(reduction, a, b);
    std::memcpy(right.data() + to * std::int64_t{sizeof(T)}, &a, sizeof(T));
  });
  const Result<relayout::Accumulate> accumulate = relayout::Accumulate::make(program, reduction);
  if (!accumulate.ok()) return accumulate.error().message;
  static GuardedBuffer from_buffer(1U << 20);
  static GuardedBuffer to_buffer(1U << 20);
  const auto skip = static_cast<std::size_t>(dice.below(64));
  const std::span<std::byte> from = dice.chance(50) ? from_buffer.at_end(source.size())
                                                    : from_buffer.at_start(source.size(), skip);
  const std::span<std::byte> to = dice.chance(50) ? to_buffer.at_end(before.size())
                                                  : to_buffer.at_start(before.size(), skip / 2);
  std::copy(source.begin(), source.end(), from.begin());
  std::copy(before.begin(), before.end(), to.begin());
  const CrashNote note(cat("crashed with seed ", seed, draw.text));
  ThreadPool pool(static_cast<int>(dice.between(1, 2)));
  const Status ran = accumulate->run(from, to, pool);
  if (!ran.ok()) return ran.error().message;
  if (!to_buffer.surroundings_kept() || !from_buffer.surroundings_kept()) return "wrote outside";
  if (!std::equal(from.begin(), from.end(), source.begin())) return "wrote to the source";
  for (std::size_t at = 0; at < to.size(); at += sizeof(T)) {
    T found;
    T wanted;
    std::memcpy(&found, to.data() + at, sizeof(T));
    std::memcpy(&wanted, right.data() + at, sizeof(T));
    if (!alike(found, wanted)) {
      return cat("byte ", at, " holds ", std::to_string(found), " instead of ",
                 std::to_string(wanted), draw.text);
    }
  }
  return "";
}

constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMin,
                                     Reduction::kMax, Reduction::kAnd,     Reduction::kOr};

template <typename T>
void holds(DType type, bool bits_only = false) {
  for (const Reduction reduction : kReductions) {
    const bool of_bits = reduction == Reduction::kAnd || reduction == Reduction::kOr;
    if (of_bits ? std::is_floating_point_v<T> : bits_only) {
      EXPECT_FALSE(relayout::combiner_of(reduction, type).ok());
      continue;
    }
    for (std::uint64_t seed = 0; seed < (kSanitized ? 4 : 25); ++seed) {
      const std::string mistake = mistake_of<T>(type, reduction, seed);
      ASSERT_EQ(mistake, "") << dtype_name(type) << " " << reduction_name(reduction) << " seed "
                             << seed;
    }
  }
}

TEST(Accumulate, CombinesEveryTypeByEveryReduction) {
  holds<float>(DType::kF32);
  holds<double>(DType::kF64);
  holds<std::int8_t>(DType::kI8);
  holds<std::int8_t>(DType::kSI8);
  holds<std::int16_t>(DType::kI16);
  holds<std::int16_t>(DType::kSI16);
  holds<std::int32_t>(DType::kI32);
  holds<std::int32_t>(DType::kSI32);
  holds<std::int64_t>(DType::kI64);
  holds<std::int64_t>(DType::kSI64);
  holds<std::uint8_t>(DType::kU8);
  holds<std::uint16_t>(DType::kU16);
  holds<std::uint32_t>(DType::kU32);
  holds<std::uint64_t>(DType::kU64);
  holds<std::uint8_t>(DType::kBool, true);
}

/// A factor of 2^19 steps that is not a run gets no table: its nest is run directly.
TEST(Accumulate, CombinesWhatIsTooLongForTables) {
  constexpr std::int64_t kSteps = std::int64_t{1} << 19;
  relayout::Program program;
  program.from = one_place(2 * kSteps, DType::kU16);
  program.to = one_place(kSteps, DType::kU16);
  program.copies.emplace_back(
      *Shape::make({kSteps}), Shape(), Shape(), PositionPair{},
      std::vector<Factor>{{{0}, {{{0}, {}, {{0, kSteps, 1, {{0, 2}, {0, 1}}}}}}}});
  std::vector<std::uint16_t> from(2 * kSteps);
  std::vector<std::uint16_t> to(kSteps, 3);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint16_t>(i * 7);
  const Result<relayout::Accumulate> accumulate =
      relayout::Accumulate::make(program, Reduction::kSum);
  ASSERT_TRUE(accumulate.ok()) << accumulate.error().message;
  ThreadPool pool(2);
  ASSERT_TRUE(
      accumulate->run(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to)), pool)
          .ok());
  for (std::size_t i = 0; i < to.size(); ++i) {
    ASSERT_EQ(to[i], static_cast<std::uint16_t>(from[2 * i] + 3)) << i;
  }
}

TEST(Accumulate, RefusesWhatItCannotCombine) {
  Dice dice(3);
  relayout::Program program = random_slab(dice, DType::kF32, 8).program;
  EXPECT_EQ(relayout::Accumulate::make(program, Reduction::kOr).error().code,
            ErrorCode::kNotSupported);
  relayout::Program other = program;
  other.from.atom = Atom::scalar(DType::kI32);
  EXPECT_EQ(test::figures(relayout::Accumulate::make(other, Reduction::kSum).error().message),
            "i32 f32");
  relayout::Program filled = program;
  filled.fills.push_back({});
  EXPECT_EQ(test::figures(relayout::Accumulate::make(filled, Reduction::kSum).error().message),
            "1");
  const Result<relayout::Accumulate> accumulate =
      relayout::Accumulate::make(program, Reduction::kSum);
  ASSERT_TRUE(accumulate.ok());
  std::vector<std::byte> from(static_cast<std::size_t>(program.from.bytes));
  std::vector<std::byte> to(static_cast<std::size_t>(program.to.bytes) + 1);
  ThreadPool pool(1);
  EXPECT_EQ(accumulate->run(from, to, pool).error().code, ErrorCode::kOutOfRange);
}

}  // namespace
}  // namespace tessera::test

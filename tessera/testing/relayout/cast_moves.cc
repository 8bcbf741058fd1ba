// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/cast_moves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <set>

#include "tessera/base/text.h"
#include "tessera/relayout/program/position_list.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/relayout/guarded_buffer.h"
#include "tessera/testing/relayout/naive_cast.h"
#include "tessera/testing/relayout/relayout_laws.h"

namespace tessera::test {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::int64_t kGroup = 16;

std::int64_t positions_of(const Placement& placement) {
  return placement.places() * placement.slots();
}

/// Truncated to 53 bits, with the last one set when anything was lost: it rounds to any narrower
/// type like the number itself.
double cut_to_double(std::uint64_t magnitude) {
  const int excess = std::max(0, 11 - std::countl_zero(magnitude));
  const std::uint64_t lost = magnitude & ((std::uint64_t{1} << excess) - 1);
  return std::ldexp(static_cast<double>((magnitude >> excess) | (lost != 0 ? 1 : 0)), excess);
}

/// An element as a double that rounds to block floats as the element does.
double number_at(DType type, const Bytes& memory, std::int64_t position) {
  const auto whole = [&](auto& number) {
    std::memcpy(&number, memory.data() + position * 8, sizeof(number));
  };
  if (type == DType::kU64) {
    std::uint64_t number = 0;
    whole(number);
    return cut_to_double(number);
  }
  if (type == DType::kI64 || type == DType::kSI64) {
    std::int64_t number = 0;
    whole(number);
    const auto bits = static_cast<std::uint64_t>(number);
    return number < 0 ? -cut_to_double(~bits + 1) : cut_to_double(bits);
  }
  double number = 0;
  naive_cast_one(type, memory.data(), position, DType::kF64, reinterpret_cast<std::byte*>(&number),
                 0);
  return number;
}

bool block_fits(double number, DType to) {
  const double group[kGroup] = {number};
  Bytes tile(static_cast<std::size_t>(tile_bytes_32x32(to)));
  return naive_cast(DType::kF64, reinterpret_cast<const std::byte*>(group), 0, to, tile.data(), 0,
                    kGroup)[0];
}

/// Writes the groups of a block-float memory that contain a written element.
void write_groups(const std::vector<double>& numbers, const std::vector<bool>& written, DType to,
                  Bytes& memory) {
  for (std::int64_t group = 0; group < std::ssize(numbers); group += kGroup) {
    const auto first = written.begin() + group;
    if (std::find(first, first + kGroup, true) == first + kGroup) continue;
    naive_cast(DType::kF64, reinterpret_cast<const std::byte*>(numbers.data()), group, to,
               memory.data(), group, kGroup);
  }
}

/// The decoded numbers, so that two encodings of a block float compare equal.
Bytes rewritten(DType type, std::int64_t positions, std::span<const std::byte> memory) {
  Bytes bytes(memory.begin(), memory.end());
  naive_cast(type, memory.data(), 0, type, bytes.data(), 0, positions);
  return bytes;
}

}  // namespace

Bytes random_numbers(Dice& dice, const Placement& from, DType to, SourceNumbers numbers) {
  const std::int64_t positions = positions_of(from);
  const DType type = from.atom().storage;
  Bytes memory(static_cast<std::size_t>(from.allocated_bytes()));
  randomize(memory, static_cast<std::uint64_t>(dice.below(1 << 30)));
  if (numbers == SourceNumbers::kAnyBits) return memory;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSmall[] = {0, 1, 1, 0};
  constexpr double kFloats[] = {0, 1, -1.5, 0.875, 100, -3, 1.0 / 1024, 30};
  constexpr double kOthers[] = {0.5,   -1,         2,    7,    -9,          300,
                                -1e5,  1e10,       1e39, NAN,  kInfinity,   -70000,
                                1e300, -kInfinity, 2.5,  -0.3, 0x1.0001p62, 464};
  const bool is_float = is_block_float(to) || to <= DType::kF8E5M2;
  std::vector<double> values(static_cast<std::size_t>(positions));
  for (double& value : values) value = is_float ? kFloats[dice.below(8)] : kSmall[dice.below(4)];
  if (numbers == SourceNumbers::kSomeMisfit && positions > 0) {
    const std::int64_t planted = dice.between(1, 1 + positions / 50);
    for (std::int64_t i = 0; i < planted; ++i) {
      values[static_cast<std::size_t>(dice.below(positions))] = kOthers[dice.below(18)];
    }
  }
  naive_cast(DType::kF64, reinterpret_cast<const std::byte*>(values.data()), 0, type, memory.data(),
             0, positions);
  return memory;
}

namespace {

/// Whether a float rounds to an integer that the type can represent.
bool rounds_into(DType type, double number) {
  const auto within = [&](double low, double beyond) {
    const double whole = std::nearbyint(number);  // ties to even; false for NaN
    return whole >= low && whole < beyond;
  };
  switch (type) {
    case DType::kBool:
      return within(0, 2);
    case DType::kU64:
    case DType::kU32:
    case DType::kU16:
    case DType::kU8:
      return within(0, std::ldexp(1, static_cast<int>(*dtype_bits(type))));
    case DType::kI64:
    case DType::kI32:
    case DType::kI16:
    case DType::kI8:
    case DType::kSI64:
    case DType::kSI32:
    case DType::kSI16:
    case DType::kSI8:
    case DType::kI4:
    case DType::kI2: {
      const double beyond = std::ldexp(1, static_cast<int>(*dtype_bits(type)) - 1);
      return within(-beyond, beyond);
    }
    default:
      return false;
  }
}

bool is_float(DType type) { return type <= DType::kF8E5M2 || is_block_float(type); }

}  // namespace

Outcome naive_cast_move(const Placement& from, const Bytes& source, const Placement& to,
                        const Bytes& before, relayout::PaddingRule padding,
                        relayout::Rounding rounding) {
  const DType from_type = from.atom().storage;
  const DType type = to.atom().storage;
  const relayout::PositionList sources = *relayout::PositionList::make(from, "source");
  const relayout::PositionList destinations = *relayout::PositionList::make(to, "destination");
  const auto positions = static_cast<std::size_t>(positions_of(to));
  Outcome outcome{before, "", {}, {}};
  std::set<std::int64_t> clipped;
  std::vector<bool> written(positions, false);
  const bool blocks = is_block_float(type);
  std::vector<double> numbers(blocks ? positions : 0, 0);  // of block floats
  std::int64_t misfit = INT64_MAX;
  for (std::int64_t element = 0; element < sources.elements(); ++element) {
    const std::int64_t at = sources.first(element);
    for (const std::int64_t distance : destinations.copies(element)) {
      const std::int64_t position = destinations.first(element) + distance;
      written[static_cast<std::size_t>(position)] = true;
      bool fits = true;
      if (blocks) {
        const double number = number_at(from_type, source, at);
        numbers[static_cast<std::size_t>(position)] = number;
        fits = block_fits(number, type);
      } else {
        fits = naive_cast_one(from_type, source.data(), at, type, outcome.bytes.data(), position);
      }
      const bool rounds =
          !fits && is_float(from_type) && rounds_into(type, number_at(from_type, source, at));
      if (!fits && !rounds) clipped.insert(at);
      if (!fits && (!rounds || rounding != relayout::Rounding::kRound)) {
        misfit = std::min(misfit, at);
      }
    }
  }
  if (from_type != type) outcome.clipped = static_cast<std::int64_t>(clipped.size());
  if (rounding != relayout::Rounding::kSaturate && misfit != INT64_MAX) {
    outcome.refusal =
        misfit_text(from.mesh().delinear(misfit / from.slots()), misfit % from.slots(), type);
    return outcome;
  }
  const std::optional<double> fill = relayout::padding_to_write(to, padding);
  for (std::size_t position = 0; fill && position < positions; ++position) {
    if (written[position]) continue;
    written[position] = true;
    if (blocks) {
      numbers[position] = *fill;
    } else {
      naive_cast_one(DType::kF64, reinterpret_cast<const std::byte*>(&*fill), 0, type,
                     outcome.bytes.data(), static_cast<std::int64_t>(position));
    }
  }
  if (!blocks) return outcome;
  write_groups(numbers, written, type, outcome.bytes);
  if (from_type == type) {
    // Tiles that move whole keep their bits, others are encoded again.
    const auto count = static_cast<std::int64_t>(positions);
    outcome.meaning = [type, count](std::span<const std::byte> memory) {
      return rewritten(type, count, memory);
    };
    outcome.bytes = outcome.meaning(outcome.bytes);
  }
  return outcome;
}

std::string cast_move_mistake(Dice& dice, const Placement& from, const Placement& to,
                              relayout::PaddingRule padding, relayout::Rounding rounding,
                              SourceNumbers numbers, std::span<const Trial> trials) {
  const Result<relayout::Program> program = relayout::make_program(from, to, padding);
  if (!program.ok()) return "";
  const DType type = to.atom().storage;
  // Tiles that move whole keep infinities of their own type, which are an error to encode again.
  const bool may_keep = is_block_float(type) && from.atom().storage == type;
  if (may_keep && rounding != relayout::Rounding::kSaturate) numbers = SourceNumbers::kFitting;
  const Bytes source = random_numbers(dice, from, type, numbers);
  Bytes before(static_cast<std::size_t>(to.allocated_bytes()));
  randomize(before, static_cast<std::uint64_t>(dice.below(1 << 30)));
  const Outcome outcome = naive_cast_move(from, source, to, before, padding, rounding);
  for (const Trial& trial : trials) {
    const std::string text = cat(describe_pair(from, to, padding), "\n  rounding ",
                                 static_cast<int>(rounding), ", ", describe_trial(trial));
    const CrashNote note("crashed" + text);
    const std::string mistake = trial_mistake(*program, rounding, trial, source, before, outcome);
    if (!mistake.empty()) return mistake + text;
  }
  return "";
}

}  // namespace tessera::test

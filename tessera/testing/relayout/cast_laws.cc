// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/cast_laws.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/relayout/guarded_buffer.h"
#include "tessera/testing/relayout/instruction_sets.h"
#include "tessera/testing/relayout/naive_cast.h"
#include "tessera/testing/relayout/relayout_laws.h"

namespace tessera::test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(engine() >> 40);
  return bytes;
}

/// An array of random numbers: any bits, or 0 and 1. Block floats are made by casting, so that
/// their exponents are the same after casting back.
Bytes random_source(const Layout& layout, Values values, std::uint64_t seed) {
  const DType storage = layout.atom().storage;
  const std::int64_t positions = layout.places() * layout.slots();
  if (values == Values::kAnyBits && !is_block_float(storage)) {
    return random_bytes(layout.allocated_bytes(), seed);
  }
  std::mt19937_64 engine(seed);
  Bytes numbers(static_cast<std::size_t>(positions) * sizeof(double));
  for (std::size_t i = 0; i < static_cast<std::size_t>(positions); ++i) {
    double number = static_cast<double>(engine() % 2);
    if (values == Values::kAnyBits) number = static_cast<double>(engine() % 4001) / 16 - 125;
    std::memcpy(numbers.data() + i * sizeof(double), &number, sizeof(double));
  }
  Bytes source(static_cast<std::size_t>(layout.allocated_bytes()));
  if (positions > 0)
    naive_cast(DType::kF64, numbers.data(), 0, storage, source.data(), 0, positions);
  return source;
}

std::int64_t position_of(const Layout& layout, const Place& place, std::int64_t slot) {
  return layout.mesh().linear(place) * layout.slots() + slot;
}

/// Casts every element to its positions in `image`, which stores them as `type`; returns whether
/// all fit.
bool cast_elements(const Layout& from, const Bytes& source, const Layout& to, DType type,
                   Bytes& image, std::vector<bool>& written) {
  bool fits = true;
  if (from.shape().empty()) return fits;
  Index index(from.shape().rank(), 0);
  do {
    const Location a = *from.locate(index);
    const Location b = *to.locate(index);
    const std::int64_t read = position_of(from, a.places.front(), a.slot);
    for (const Place& place : b.places) {
      const std::int64_t position = position_of(to, place, b.slot);
      fits =
          naive_cast_one(from.atom().storage, source.data(), read, type, image.data(), position) &&
          fits;
      written[static_cast<std::size_t>(position)] = true;
    }
  } while (from.shape().next(index));
  return fits;
}

/// The expected content of the destination; nothing when an element does not fit.
std::optional<Bytes> reference(const Layout& from, const Bytes& source, const Layout& to,
                               const Bytes& before, relayout::PaddingRule padding,
                               relayout::Rounding rounding) {
  const DType storage = to.atom().storage;
  const std::int64_t positions = to.places() * to.slots();
  // Block floats are written as a whole, from an image that can represent all of their numbers.
  const DType type = is_block_float(storage) ? DType::kF64 : storage;
  Bytes image = before;
  if (is_block_float(storage)) image.assign(static_cast<std::size_t>(positions) * 8, std::byte{});
  std::vector<bool> written(static_cast<std::size_t>(positions), false);
  bool fits = cast_elements(from, source, to, type, image, written);
  const std::optional<double> number = relayout::padding_to_write(to, padding);
  const bool filled = number.has_value();
  if (filled) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&*number);
    for (std::int64_t position = 0; position < positions; ++position) {
      if (written[static_cast<std::size_t>(position)]) continue;
      naive_cast_one(DType::kF64, bytes, 0, type, image.data(), position);
    }
  }
  if (is_block_float(storage)) {
    // Padding that is not written is 0 among data; groups of 16 without data keep their bits.
    Bytes blocks = before;
    for (std::int64_t group = 0; group < positions; group += 16) {
      const auto first = written.begin() + group;
      if (!filled && std::find(first, first + 16, true) == first + 16) continue;
      const std::vector<bool> all =
          naive_cast(DType::kF64, image.data(), group, storage, blocks.data(), group, 16);
      for (std::size_t i = 0; i < 16; ++i) {
        fits = fits && (all[i] || !first[static_cast<std::ptrdiff_t>(i)]);
      }
    }
    image = std::move(blocks);
  }
  if (!fits && rounding == relayout::Rounding::kChecked) return std::nullopt;
  return image;
}

}  // namespace

Layout kept_as(const Layout& layout, DType storage) {
  LayoutSpec spec = layout.spec();
  spec.dtype = is_block_float(storage) ? DType::kF32 : storage;
  spec.atom = is_block_float(storage) ? Atom::tile(32, 32, storage) : Atom::scalar(storage);
  if (is_block_float(storage)) spec.slots = (layout.slots() + 1023) / 1024 * 1024;
  return *Layout::make(std::move(spec));
}

std::string cast_mistake(const Layout& from, const Layout& to, relayout::PaddingRule padding,
                         relayout::Rounding rounding, Values values, const Trial& trial,
                         std::uint64_t seed) {
  const std::string words =
      cat(describe_pair(from, to, padding), "\n  ",
          rounding == relayout::Rounding::kSaturate ? "saturating" : "checked", ", ",
          values == Values::kAnyBits ? "any bits" : "0 and 1", ", ", trial.threads, " threads");
  const CrashNote note("crashed" + words);
  const Result<relayout::Program> program = relayout::make_program(from, to, padding);
  if (!program.ok()) return program.error().message + words;
  std::optional<OnlyInstructionSet> only;
  if (trial.set > 0) only.emplace(instruction_sets()[trial.set - 1]);
  relayout::PlanOptions options;
  options.stores = trial.stores;
  options.rounding = rounding;
  const Result<relayout::Plan> plan = relayout::Plan::make(*program, options);
  if (!plan.ok()) return "no plan: " + plan.error().message + words;
  const Bytes source = random_source(from, values, seed);
  const Bytes before = random_bytes(to.allocated_bytes(), seed + 1);
  const std::optional<Bytes> right = reference(from, source, to, before, padding, rounding);

  GuardedBuffer from_buffer(source.size());
  GuardedBuffer to_buffer(before.size());
  const std::span<std::byte> a = trial.from_at_end
                                     ? from_buffer.at_end(source.size())
                                     : from_buffer.at_start(source.size(), trial.from_skip);
  const std::span<std::byte> b = trial.to_at_end ? to_buffer.at_end(before.size())
                                                 : to_buffer.at_start(before.size(), trial.to_skip);
  std::copy(source.begin(), source.end(), a.begin());
  std::copy(before.begin(), before.end(), b.begin());
  ThreadPool pool(trial.threads);
  const Status ran = plan->run(a, b, pool);
  std::string mistake;
  if (ran.ok() && !right) {
    mistake = "ran, but an element does not fit";
  } else if (!ran.ok() && (right || ran.error().code != ErrorCode::kOutOfRange)) {
    mistake = "run: " + ran.error().message;
  } else if (right && !std::equal(b.begin(), b.end(), right->begin())) {
    const auto at = std::mismatch(b.begin(), b.end(), right->begin()).first - b.begin();
    const auto n = static_cast<std::size_t>(at);
    mistake = cat("byte ", at, " of ", b.size(), " is ", std::to_integer<int>(b[n]), " instead of ",
                  std::to_integer<int>((*right)[n]));
  } else if (!from_buffer.surroundings_kept() || !to_buffer.surroundings_kept()) {
    mistake = "bytes around a buffer were written";
  }
  if (mistake.empty()) return "";
  for (const std::string& line : plan->describe()) mistake += "\n  " + line;
  return mistake + words;
}

}  // namespace tessera::test

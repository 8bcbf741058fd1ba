// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/layout/placement.h"
#include "tessera/relayout/plan.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// How a plan is tested: with which memory, number of threads, stores and instructions.
struct Trial {
  relayout::Stores stores = relayout::Stores::kAuto;
  int threads = 1;           ///< 1 to 3
  std::size_t set = 0;       ///< 0: all instructions of the machine, n: only set number n - 1
  bool from_at_end = false;  ///< the span touches the inaccessible page behind, otherwise in front
  bool to_at_end = false;
  std::size_t from_skip = 0;  ///< below 64: bytes between the page in front and the span
  std::size_t to_skip = 0;
  bool part = false;  ///< as PlanOptions::part
};
Trial random_trial(Dice& dice);

/// The expected result of a run.
struct Outcome {
  std::vector<std::byte> bytes;  ///< of the destination
  std::string refusal;           ///< misfit_text of the error instead, where there must be one
  /// Compared in place of bytes that may differ and still have the same meaning; if not set: the
  /// bytes.
  std::function<std::vector<std::byte>(std::span<const std::byte>)> meaning;
  std::optional<std::int64_t> clipped = std::nullopt;  ///< Plan::clipped, if it is compared
};

/// What the error of a cast claims: "slot 17 of place [0, 1] as ui8"; its message if it claims
/// something else.
std::string misfit_text(const Error& error);
std::string misfit_text(const Place& place, std::int64_t slot, DType to);

/// What is wrong after one run of a plan for `program` between guarded buffers that hold `source`
/// and `before`; empty when nothing is.
std::string trial_mistake(const relayout::Program& program, relayout::Rounding rounding,
                          const Trial& trial, const std::vector<std::byte>& source,
                          const std::vector<std::byte>& before, const Outcome& outcome);
std::string describe_trial(const Trial& trial);
/// Random bytes, the same for the same seed.
void randomize(std::span<std::byte> bytes, std::uint64_t seed);

/// The law of plans: in every trial run() leaves the destination as the reference does, byte by
/// byte and padding included, and touches nothing else. The source holds random bytes. Empty when
/// it holds, and also where the program is refused, the two memories keep different types or block
/// floats, or one has more than kMostTried bytes.
inline constexpr std::int64_t kMostTried = std::int64_t{1} << 28;
std::string plan_mistake(const Placement& from, const Placement& to, relayout::PaddingRule padding,
                         std::span<const Trial> trials, std::uint64_t seed);

}  // namespace tessera::test

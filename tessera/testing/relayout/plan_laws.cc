// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/plan_laws.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/relayout/verify.h"
#include "tessera/testing/relayout/guarded_buffer.h"
#include "tessera/testing/relayout/instruction_sets.h"
#include "tessera/testing/relayout/relayout_laws.h"

namespace tessera::test {
namespace {

/// Computed once, before any test restricts them.
const std::vector<std::int64_t>& compiled_sets() {
  static const std::vector<std::int64_t> sets = instruction_sets();
  return sets;
}

ThreadPool& pool_of(int threads) {
  static ThreadPool one(1);
  static ThreadPool two(2);
  static ThreadPool three(3);
  return threads == 1 ? one : (threads == 2 ? two : three);
}

/// Buffers for `bytes` bytes: shared by all tests that need as many or fewer.
GuardedBuffer& buffer_of(std::unique_ptr<GuardedBuffer>& kept, std::size_t& room,
                         std::size_t bytes) {
  if (kept == nullptr || room < bytes) {
    room = std::max(bytes, std::size_t{1} << 16);
    kept = std::make_unique<GuardedBuffer>(room);
  }
  return *kept;
}

std::string first_difference(std::span<const std::byte> found, std::span<const std::byte> right) {
  const auto at = std::mismatch(found.begin(), found.end(), right.begin()).first - found.begin();
  const auto n = static_cast<std::size_t>(at);
  return cat("byte ", at, " of ", found.size(), " is ", std::to_integer<int>(found[n]),
             " instead of ", std::to_integer<int>(right[n]));
}

}  // namespace

void randomize(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 2 + 1;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t mixed = state ^ (state >> 29);
    std::memcpy(bytes.data() + i, &mixed, 8);
  }
  for (; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((state >> (8 * (i % 8))) ^ i);
}

std::string describe_trial(const Trial& trial) {
  const std::string set =
      trial.set == 0 ? "all" : instruction_set_name(compiled_sets()[trial.set - 1]);
  return cat(trial.part ? "a part, " : "", "stores ", static_cast<int>(trial.stores), ", ",
             trial.threads, " threads, ", set, " instructions, source ",
             trial.from_at_end ? std::string("at the end") : cat("skipping ", trial.from_skip),
             ", destination ",
             trial.to_at_end ? std::string("at the end") : cat("skipping ", trial.to_skip));
}

std::string misfit_text(const Place& place, std::int64_t slot, DType to) {
  return cat("slot ", slot, " of place ", bracketed(place), " as ", dtype_name(to));
}

std::string misfit_text(const Error& error) {
  if (error.reasons.size() != 1 || error.reasons[0].name != "number_does_not_fit") {
    return error.message;
  }
  const Reason& reason = error.reasons[0];
  return cat("slot ", reason.number("slot").value_or(-1), " of place ",
             bracketed(reason.numbers("place").value_or(Place{-1})), " as ",
             reason.text("dtype").value_or("?"));
}

std::string trial_mistake(const relayout::Program& program, relayout::Rounding rounding,
                          const Trial& trial, const std::vector<std::byte>& source,
                          const std::vector<std::byte>& before, const Outcome& outcome) {
  std::optional<OnlyInstructionSet> only;
  if (trial.set > 0) only.emplace(compiled_sets()[trial.set - 1]);
  relayout::PlanOptions options;
  options.stores = trial.stores;
  options.rounding = rounding;
  options.part = trial.part;
  const Result<relayout::Plan> plan = relayout::Plan::make(program, options);
  if (!plan.ok()) return "no plan: " + plan.error().message;

  static std::unique_ptr<GuardedBuffer> from_kept;
  static std::unique_ptr<GuardedBuffer> to_kept;
  static std::size_t from_room = 0;
  static std::size_t to_room = 0;
  GuardedBuffer& from_buffer = buffer_of(from_kept, from_room, source.size());
  GuardedBuffer& to_buffer = buffer_of(to_kept, to_room, before.size());
  const std::span<std::byte> from = trial.from_at_end
                                        ? from_buffer.at_end(source.size())
                                        : from_buffer.at_start(source.size(), trial.from_skip);
  const std::span<std::byte> to = trial.to_at_end
                                      ? to_buffer.at_end(before.size())
                                      : to_buffer.at_start(before.size(), trial.to_skip);
  std::copy(source.begin(), source.end(), from.begin());
  std::copy(before.begin(), before.end(), to.begin());
  const Status ran = plan->run(from, to, pool_of(trial.threads));
  const std::vector<std::byte> found =
      outcome.meaning ? outcome.meaning(to) : std::vector<std::byte>(to.begin(), to.end());
  std::string mistake;
  if ((ran.ok() ? "" : misfit_text(ran.error())) != outcome.refusal) {
    mistake = cat(ran.ok() ? "no error" : ran.error().message, " instead of ",
                  outcome.refusal.empty() ? "none" : outcome.refusal);
  } else if (ran.ok() && found != outcome.bytes) {
    mistake = first_difference(found, outcome.bytes);
  } else if (outcome.clipped && plan->clipped(from) != *outcome.clipped) {
    mistake = cat(plan->clipped(from), " numbers are clipped instead of ", *outcome.clipped);
  } else if (!to_buffer.surroundings_kept() || !from_buffer.surroundings_kept()) {
    mistake = "bytes around a buffer were written";
  } else if (!std::equal(from.begin(), from.end(), source.begin())) {
    mistake = "the source was written";
  }
  if (mistake.empty()) return "";
  for (const std::string& line : plan->describe()) mistake += "\n  " + line;
  return mistake;
}

Trial random_trial(Dice& dice) {
  constexpr std::array kStores = {relayout::Stores::kAuto, relayout::Stores::kPlain,
                                  relayout::Stores::kStreaming};
  Trial trial;
  trial.stores = kStores[static_cast<std::size_t>(dice.below(3))];
  trial.threads = static_cast<int>(dice.between(1, 3));
  const auto sets = static_cast<std::int64_t>(compiled_sets().size());
  if (dice.chance(50)) trial.set = static_cast<std::size_t>(dice.between(1, sets));
  trial.from_at_end = dice.chance(40);
  trial.to_at_end = dice.chance(40);
  trial.from_skip = static_cast<std::size_t>(dice.below(64));
  trial.to_skip = static_cast<std::size_t>(dice.below(64));
  trial.part = dice.chance(30);
  return trial;
}

std::string plan_mistake(const Placement& from, const Placement& to, relayout::PaddingRule padding,
                         std::span<const Trial> trials, std::uint64_t seed) {
  const DType storage = to.atom().storage;
  if (from.atom().storage != storage || is_block_float(storage)) return "";
  const Result<relayout::Program> program = relayout::make_program(from, to, padding);
  if (!program.ok()) return "";
  if (program->from.bytes > kMostTried || program->to.bytes > kMostTried) return "";
  std::vector<std::byte> source(static_cast<std::size_t>(program->from.bytes));
  std::vector<std::byte> before(static_cast<std::size_t>(program->to.bytes));
  randomize(source, seed);
  randomize(before, seed + 1);  // so that bytes that must not be written differ from zeros
  std::vector<std::byte> right = before;
  const Status naive = relayout::move_naively(from, source, to, right, padding);
  if (!naive.ok()) {
    return cat("the reference: ", naive.error().message, describe_pair(from, to, padding));
  }
  for (const Trial& trial : trials) {
    const std::string text = cat(describe_pair(from, to, padding), "\n  ", describe_trial(trial));
    const CrashNote note("crashed" + text);
    const std::string mistake = trial_mistake(*program, relayout::Rounding::kChecked, trial, source,
                                              before, {right, "", {}});
    if (!mistake.empty()) return mistake + text;
  }
  return "";
}

}  // namespace tessera::test

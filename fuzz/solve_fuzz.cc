// SPDX-License-Identifier: Apache-2.0
// Any bytes are a small memory problem, with alignments, fixed offsets, hints, aliases and gaps,
// and techniques to switch off. Every problem that check accepts must obey
//   the plan has no flaw and its height is as reported, and the bounds are below it;
//   no bound is above the lowest plan of all, which trying every order finds (with gaps: every
//   offset, where that is quick), and `optimal` is it;
//   a search that was not stopped proves it; fits and does_not_fit agree with that plan;
//   the same problem has the same offsets again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tessera/testing/memory/naive_alloc.h"

namespace tessera::memory {
namespace {

constexpr std::size_t kMostBuffers = 7;  // for which every order is tried
constexpr std::int64_t kNodes = 20000;

/// The bytes one after the other; zeros when there are no more.
class Bytes {
 public:
  explicit Bytes(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::int64_t below(std::int64_t bound) {
    if (bytes_.empty()) return 0;
    const std::int64_t value = bytes_.front() % bound;
    bytes_ = bytes_.subspan(1);
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

std::vector<Gap> next_gaps(Bytes& bytes, const Buffer& buffer) {
  std::vector<Gap> gaps;
  std::int64_t at = buffer.lower + bytes.below(2);
  for (std::int64_t left = 1 + bytes.below(3); left > 0 && at < buffer.upper; --left) {
    Gap gap;
    gap.lower = at;
    gap.upper = at + 1 + bytes.below(buffer.upper - at);
    gap.kept_from = bytes.below(buffer.size + 1);
    gap.kept_to = gap.kept_from + bytes.below(buffer.size - gap.kept_from + 1);
    gaps.push_back(gap);
    at = gap.upper + bytes.below(2);
  }
  return gaps;
}

Buffer next_buffer(Bytes& bytes, std::size_t count, std::int64_t unit) {
  constexpr std::int64_t kAlignments[] = {1, 1, 1, 2, 3, 4, 8, 16};
  Buffer buffer;
  buffer.lower = bytes.below(12);
  buffer.upper = buffer.lower + 1 + bytes.below(8);
  buffer.size = bytes.below(24) * unit;
  buffer.alignment = kAlignments[bytes.below(8)] * (bytes.below(4) == 0 ? unit : 1);
  const std::int64_t more = bytes.below(8);
  if (more == 1) buffer.fixed = bytes.below(64) * unit;
  if (more == 2) buffer.hint = bytes.below(64) * unit;
  if (more == 3 && count > 0) {
    const auto of = static_cast<std::size_t>(bytes.below(static_cast<std::int64_t>(count)));
    buffer.alias = Alias{of, bytes.below(24) * unit};
  }
  if (more == 4 || more == 5) buffer.gaps = next_gaps(bytes, buffer);
  return buffer;
}

SolveOptions next_options(Bytes& bytes) {
  SolveOptions options;
  options.seconds = 1e6;  // the nodes are the limit, so that a finding is reproducible
  options.nodes = kNodes;
  options.minimize = true;
  const std::int64_t low = bytes.below(256);
  const std::int64_t off = low + 256 * bytes.below(8);
  const auto& names = technique_names();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if ((off >> i) % 2 == 1) options.techniques.*names[i].field = false;
  }
  return options;
}

/// Whether the lowest plan is found quickly by trying every order or, with gaps, every offset.
bool is_quick(const Problem& problem) {
  std::int64_t bytes = 0;
  bool has_gaps = false;
  for (const Buffer& buffer : problem.buffers) {
    bytes = std::min<std::int64_t>(bytes + std::min<std::int64_t>(buffer.size, 64), 64);
    has_gaps = has_gaps || !buffer.gaps.empty();
  }
  return !has_gaps || (problem.buffers.size() <= 4 && bytes <= 24);
}

/// A valid plan within its bounds, whatever the lowest is.
void check_plan(const Problem& problem, const SolveOptions& options) {
  const std::string text = test::text_of(problem);
  const Result<Solution> found = solve(problem, options);
  require(found.ok(), "what check accepts is solved", text);
  require(validate(problem, found->offsets, found->peak).empty(), "the plan has no flaw", text);
  require(found->lower_bound <= found->proven_bound && found->proven_bound <= found->peak,
          "bounds are below the peak", text);
}

void check_lowest(const Problem& problem, const SolveOptions& options, std::int64_t lowest) {
  const std::string text = test::text_of(problem);
  const Result<Solution> found = solve(problem, options);
  require(found.ok(), "what check accepts is solved", text);
  require(validate(problem, found->offsets, found->peak).empty(), "the plan has no flaw", text);
  require(found->lower_bound <= found->proven_bound && found->proven_bound <= lowest,
          "no bound is above the lowest plan", text);
  require(lowest <= found->peak, "no plan is below the lowest", text);
  require(!found->optimal || found->peak == lowest, "optimal is the lowest", text);
  const bool stopped = found->nodes >= kNodes;
  require(found->optimal || stopped || !options.techniques.exact, "a search ends in a proof", text);
  const Result<Solution> again = solve(problem, options);
  require(again.ok() && std::equal(again->offsets.begin(), again->offsets.end(),
                                   found->offsets.begin(), found->offsets.end()),
          "the same problem has the same offsets", text);
}

void check_within(const Problem& problem, SolveOptions options, std::int64_t capacity,
                  std::int64_t lowest) {
  const std::string text = test::text_of(problem);
  options.capacity = capacity;
  options.minimize = false;
  const Result<Solution> found = solve(problem, options);
  require(found.ok(), "a problem has a solution", text);
  require(validate(problem, found->offsets, found->peak).empty(), "the plan has no flaw", text);
  require((found->outcome == Outcome::kFits) == (found->peak <= capacity), "fits is so", text);
  require(found->outcome != Outcome::kDoesNotFit || lowest > capacity, "no plan fits", text);
  require(
      found->outcome != Outcome::kUnknown || found->nodes >= kNodes || !options.techniques.exact,
      "a search ends in an answer", text);
}

void check_bytes(std::span<const std::uint8_t> input) {
  Bytes bytes(input);
  const SolveOptions options = next_options(bytes);
  constexpr std::int64_t kUnits[] = {1, 1, 1, 6, 64, 1 << 20, std::int64_t{1} << 48};
  const std::int64_t unit = kUnits[bytes.below(7)];
  const std::int64_t spare = bytes.below(5) - 2;
  Problem problem;
  while (!bytes.empty() && problem.buffers.size() < kMostBuffers) {
    problem.buffers.push_back(next_buffer(bytes, problem.buffers.size(), unit));
  }
  const Status status = check(problem);
  if (!status.ok()) {
    const Result<Solution> refused = solve(problem, options);
    require(!refused.ok() && refused.error().code == status.error().code, "solve refuses as check",
            test::text_of(problem));
    return;
  }
  if (!is_quick(problem)) {
    check_plan(problem, options);
    return;
  }
  const std::optional<test::LowestPlan> lowest = test::lowest_plan(problem);
  require(lowest.has_value(), "what check accepts has a plan", test::text_of(problem));
  check_lowest(problem, options, lowest->peak);
  check_within(problem, options, lowest->peak + spare, lowest->peak);
}

}  // namespace
}  // namespace tessera::memory

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::memory::check_bytes({bytes, size});
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Pairs of placements, larger than those of the tests and in every notation: programs are verified
// slot by slot, and plans are run against the element-by-element reference in guarded memory, with
// several threads, stores and instruction sets each.
//   relayout_pairs_sweep --quick   tens of thousands of pairs, some of 10^5 elements
//   relayout_pairs_sweep --full    many more, up to 2·10^6 elements
//   relayout_pairs_sweep --seed N [--most ELEMENTS]   one case of the usual kinds
// Prints how many pairs were tried. Returns 1 when a law breaks, after printing up to 5 cases.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/generate.h"
#include "tessera/testing/notation/random_texts.h"
#include "tessera/testing/process.h"
#include "tessera/testing/relayout/plan_laws.h"
#include "tessera/testing/relayout/relayout_laws.h"
#include "tessera/testing/relayout/relayout_pairs.h"

namespace tessera::test {
namespace {

constexpr int kMaxFailures = 5;

struct Counts {
  std::int64_t pairs = 0;
  std::int64_t moved = 0;  ///< pairs that have a program
  int failures = 0;
};

bool give_up(const Counts& counts) { return counts.failures >= kMaxFailures; }

/// Both laws for one pair, with as many trials.
void try_pair(Dice& dice, const Placement& from, const Placement& to, int trials,
              const std::string& name, Counts& counts) {
  ++counts.pairs;
  const auto rule = static_cast<relayout::PaddingRule>(dice.below(3));
  std::string mistake = program_mistake(from, to, rule);
  if (mistake.empty()) {
    std::vector<Trial> list;
    for (int t = 0; t < trials; ++t) list.push_back(random_trial(dice));
    const auto seed = static_cast<std::uint64_t>(dice.below(1 << 30));
    mistake = plan_mistake(from, to, rule, list, seed);
  }
  if (relayout::make_program(from, to, rule).ok()) ++counts.moved;
  if (mistake.empty()) return;
  ++counts.failures;
  std::printf("%s: %s\n", name.c_str(), mistake.c_str());
}

/// The usual kinds, from dice of this seed.
void usual(std::uint64_t seed, std::int64_t most, int trials, Counts& counts) {
  Dice dice(seed);
  const DType dtype = relayout_dtype(dice);
  const std::string name = cat("--seed ", seed, " --most ", most);
  if (dice.chance(60)) {
    const auto [from, to] = kernel_pair(dice, most, dtype);
    return try_pair(dice, from, to, trials, name, counts);
  }
  const Shape shape = relayout_shape(dice, most);
  const Placement from = random_source(dice, shape, dtype);
  const Placement to = random_destination(dice, shape, dtype);
  try_pair(dice, from, to, trials, name, counts);
}

void usual_kinds(std::int64_t cases, std::int64_t most, Counts& counts) {
  for (std::int64_t i = 0; i < cases && !give_up(counts); ++i) {
    usual(static_cast<std::uint64_t>(most * 1000 + i), most, 6, counts);
  }
}

/// Texts of all notations: each goes to and from row-major, a random layout of its shape, and
/// another text of that shape.
void notation_texts(std::int64_t each, Counts& counts) {
  std::map<std::pair<std::vector<std::int64_t>, DType>, std::vector<Tensor>> alike;
  Dice dice(11);
  for (const Notation& notation : notations()) {
    for (std::int64_t i = 0; i < each && !give_up(counts); ++i) {
      const std::string text = random_text(notation.name, dice);
      const Result<Tensor> tensor = parse_tensor(text);
      if (!tensor.ok()) continue;
      const Placement& placement = tensor->placement;
      const DType storage = placement.atom().storage;
      std::vector<Tensor>& others = alike[{placement.shape().extents(), storage}];
      const Layout blocks = is_block_float(storage)
                                ? *Layout::row_major(placement.shape(), DType::kF32)
                                : blocked_layout(dice, placement.shape(), storage);
      try_pair(dice, placement, blocks, 1, text, counts);
      try_pair(dice, blocks, placement, 1, text, counts);
      if (!others.empty()) {
        const Tensor& other =
            others[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(others.size())))];
        const std::string names = cat(text, "\n  and ", print_tensor(other));
        try_pair(dice, placement, other.placement, 1, names, counts);
        try_pair(dice, other.placement, placement, 1, names, counts);
      }
      if (others.size() < 50) others.push_back(*tensor);
    }
  }
}

int report(const char* what, const Counts& counts) {
  std::printf("%s: %lld pairs, %lld moved, %d broken\n", what, static_cast<long long>(counts.pairs),
              static_cast<long long>(counts.moved), counts.failures);
  // A generator that mostly draws pairs that are refused would prove little.
  return counts.failures > 0 || counts.moved * 10 < counts.pairs * 8 ? 1 : 0;
}

/// How many cases of a kind. Sanitizers slow the reference by an order of magnitude.
std::int64_t cases(bool full, std::int64_t in_full, std::int64_t in_quick) {
  return full ? in_full : (kSanitized ? (in_quick + 9) / 10 : in_quick);
}

int sweep(bool full) {
  int broken = 0;
  Counts texts;
  notation_texts(cases(full, 20000, 600), texts);
  broken |= report("texts of all notations", texts);
  Counts small;
  usual_kinds(cases(full, 200000, 4000), 1000, small);
  broken |= report("up to 10^3 elements", small);
  Counts middle;
  usual_kinds(cases(full, 20000, 500), 100'000, middle);
  broken |= report("up to 10^5 elements", middle);
  Counts large;
  usual_kinds(cases(full, 1000, 12), 2'000'000, large);
  return broken | report("up to 2·10^6 elements", large);
}

}  // namespace
}  // namespace tessera::test

int main(int argc, char** argv) {
  using tessera::test::Counts;
  using tessera::test::report;
  using tessera::test::sweep;
  using tessera::test::usual;
  if (argc == 2 && std::strcmp(argv[1], "--quick") == 0) return sweep(false);
  if (argc == 2 && std::strcmp(argv[1], "--full") == 0) return sweep(true);
  if ((argc == 3 || (argc == 5 && std::strcmp(argv[3], "--most") == 0)) &&
      std::strcmp(argv[1], "--seed") == 0) {
    Counts counts;
    usual(std::strtoull(argv[2], nullptr, 10),
          argc == 5 ? std::strtoll(argv[4], nullptr, 10) : 1000, 6, counts);
    return report("one pair", counts);
  }
  std::fprintf(stderr, "usage: %s --quick | --full | --seed N [--most ELEMENTS]\n", argv[0]);
  return 2;
}

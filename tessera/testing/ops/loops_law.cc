// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/loops_law.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/testing/graph/random_run.h"

namespace tessera::test {

bool reads_in(const ops::Access& access, const ops::Loops& loops, const Index& iteration) {
  if (!access.once) return true;
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    const bool counts =
        loops.factors[f].kind == ops::FactorKind::kReduce && !access.has(static_cast<int>(f));
    if (counts && iteration[f] != 0) return false;
  }
  return true;
}

long double neutral_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return 1;
    case Reduction::kMin:
      return INFINITY;
    case Reduction::kMax:
      return -INFINITY;
    default:
      return 0;
  }
}

long double combined(Reduction reduction, long double a, long double b) {
  switch (reduction) {
    case Reduction::kProduct:
      return a * b;
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kMax:
      return std::max(a, b);
    default:
      return a + b;
  }
}

bool is_close(long double a, long double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) ||
         std::fabs(a - b) <= 1e-5L * (1 + std::fabs(b));
}

namespace {

using ops::Access;
using ops::FactorKind;
using ops::Loops;

void each_iteration(const Part& part, const std::function<void(const Index&)>& visit) {
  std::vector<std::int64_t> sizes;
  for (const auto& values : part) sizes.push_back(static_cast<std::int64_t>(values.size()));
  const Shape shape = *Shape::make(sizes);
  each_index(shape, [&](const Index& at) {
    Index iteration;
    for (std::size_t f = 0; f < part.size(); ++f) {
      iteration.push_back(part[f][static_cast<std::size_t>(at[f])]);
    }
    visit(iteration);
  });
}

std::vector<std::int64_t> all_values(std::int64_t extent) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = 0; v < extent; ++v) values.push_back(v);
  return values;
}

std::vector<bool> touched(const Access& access, const Loops& loops, const Shape& shape,
                          const Part& part) {
  std::vector<bool> marks(static_cast<std::size_t>(shape.elements()));
  each_iteration(part, [&](const Index& iteration) {
    const Index x = access.index(iteration);
    if (shape.contains(x) && reads_in(access, loops, iteration)) {
      marks[static_cast<std::size_t>(row_major(shape, x))] = true;
    }
  });
  return marks;
}

}  // namespace

std::vector<std::optional<NaiveTensor>> seen_by(const OpCase& made, const Loops& loops,
                                                const Part& part, long double poison) {
  Reduction reduction = Reduction::kSum;
  Part sums = part;  // with every share
  for (std::size_t f = 0; f < part.size(); ++f) {
    if (loops.factors[f].kind != FactorKind::kReduce) continue;
    reduction = loops.factors[f].reduction;
    sums[f] = all_values(loops.factors[f].extent);
  }
  std::vector<std::optional<NaiveTensor>> seen = made.inputs;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i]) continue;
    NaiveTensor& tensor = *seen[i];
    const auto count = static_cast<std::size_t>(tensor.type.shape.elements());
    std::vector<bool> mine(count);
    std::vector<bool> of_sums(count);
    if (loops.inputs[i]) {
      mine = touched(*loops.inputs[i], loops, tensor.type.shape, part);
      of_sums = touched(*loops.inputs[i], loops, tensor.type.shape, sums);
    }
    for (std::size_t e = 0; e < count; ++e) {
      if (mine[e]) continue;
      if (of_sums[e] && !made.is_index(i)) {
        tensor.elements[e] = neutral_of(reduction);
      } else {  // a position stays one: 0 is always valid
        tensor.elements[e] = made.is_index(i) ? 0 : as_element(poison, tensor.type.dtype);
      }
    }
  }
  return seen;
}

std::string loops_law(Dice& dice, const OpCase& made, const Loops& loops) {
  const auto expected = made.evaluate();
  if (!expected) return "the evaluator does not know the op";
  // What shares the division of the reduced factors has, and one set of values of the others.
  std::vector<std::vector<std::vector<std::int64_t>>> choices;
  Part whole;
  Reduction reduction = Reduction::kSum;
  for (const ops::Factor& factor : loops.factors) {
    whole.push_back(all_values(factor.extent));
    if (factor.kind == FactorKind::kWhole) {
      choices.push_back({whole.back()});
      continue;
    }
    std::vector<std::vector<std::int64_t>> halves(2);
    for (const std::int64_t value : whole.back()) {
      halves[dice.chance(50) ? 1 : 0].push_back(value);
    }
    std::erase_if(halves, [](const auto& half) { return half.empty(); });
    if (factor.kind == FactorKind::kPass && halves.size() > 1) halves.pop_back();
    if (factor.kind == FactorKind::kReduce) reduction = factor.reduction;
    if (halves.empty()) halves.emplace_back();  // a factor of extent 0
    choices.push_back(std::move(halves));
  }

  // Elements of outputs, and the pass factors of the iterations that touch them.
  for (std::size_t o = 0; o < expected->size(); ++o) {
    const Shape& shape = (*expected)[o].type.shape;
    std::map<std::int64_t, Index> owners;
    std::string wrong;
    each_iteration(whole, [&](const Index& iteration) {
      const Index y = loops.outputs[o].index(iteration);
      if (!shape.contains(y)) return;
      Index passes;
      for (std::size_t f = 0; f < loops.factors.size(); ++f) {
        if (loops.factors[f].kind == FactorKind::kPass) passes.push_back(iteration[f]);
      }
      const auto [at, is_new] = owners.emplace(row_major(shape, y), passes);
      if (!is_new && at->second != passes) wrong = cat("output ", o, " has two owners");
    });
    if (!wrong.empty()) return wrong;
    const bool empty_sum = std::ranges::any_of(
        loops.factors, [](const ops::Factor& factor) { return factor.extent == 0; });
    if (static_cast<std::int64_t>(owners.size()) != shape.elements() && !empty_sum) {
      return cat("output ", o, ": ", owners.size(), " of ", shape.elements(), " are touched");
    }
  }

  for (const long double poison : {77.0L, -77.0L}) {
    std::vector<NaiveTensor> sum;
    std::vector<std::int64_t> counts;
    for (const auto& choice : choices) counts.push_back(static_cast<std::int64_t>(choice.size()));
    const Shape shares = *Shape::make(counts);
    Part any;
    bool failed = false;
    each_index(shares, [&](const Index& share) {
      Part part;
      for (std::size_t f = 0; f < choices.size(); ++f) {
        part.push_back(choices[f][static_cast<std::size_t>(share[f])]);
      }
      OpCase partial = made;
      partial.inputs = seen_by(made, loops, part, poison);
      auto outputs = partial.evaluate();
      if (!outputs) {
        failed = true;
        return;
      }
      if (sum.empty()) {
        sum = *std::move(outputs);
        any = part;
        return;
      }
      for (std::size_t o = 0; o < sum.size(); ++o) {
        for (std::size_t e = 0; e < sum[o].elements.size(); ++e) {
          sum[o].elements[e] = combined(reduction, sum[o].elements[e], (*outputs)[o].elements[e]);
        }
      }
    });
    if (failed) return "the evaluator failed on a part";
    for (std::size_t o = 0; o < sum.size(); ++o) {
      const Shape& shape = (*expected)[o].type.shape;
      const std::vector<bool> owned = touched(loops.outputs[o], loops, shape, any);
      for (std::size_t e = 0; e < owned.size(); ++e) {
        if (!owned[e]) continue;
        const long double got = sum[o].elements[e];
        const long double want = (*expected)[o].elements[e];
        if (!is_close(got, want)) {
          return cat("output ", o, " element ", e, " is ", std::to_string(static_cast<double>(got)),
                     ", expected ", std::to_string(static_cast<double>(want)));
        }
      }
    }
  }
  return "";
}

}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/small_layouts.h"

#include <algorithm>
#include <array>
#include <vector>

#include "tessera/testing/naive.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kMaxAxis = 6;

/// The digits of a number in mixed radix, lowest first.
class Choices {
 public:
  explicit Choices(std::int64_t number) : left_(number) {}
  std::int64_t take(std::int64_t radix) {
    const std::int64_t digit = left_ % radix;
    left_ /= radix;
    return digit;
  }
  template <typename T, std::size_t N>
  const T& pick(const std::array<T, N>& list) {
    return list[static_cast<std::size_t>(take(static_cast<std::int64_t>(N)))];
  }
  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(take(static_cast<std::int64_t>(list.size())))];
  }

 private:
  std::int64_t left_;
};

/// Widths, each with a target.
using Chain = std::vector<Cut>;

Chain with_width(const Chain& tail, std::int64_t width, Target target, bool has_dims = true) {
  Cut cut;
  cut.width = width;
  cut.target = target;
  cut.cause = default_cause(has_dims, target);
  Chain chain = {cut};
  chain.insert(chain.end(), tail.begin(), tail.end());
  return chain;
}

/// Every chain of up to `length` widths: the last is 1, the others are from the list for their
/// position in the chain.
std::vector<Chain> chains(int length, const std::vector<std::vector<std::int64_t>>& widths,
                          const std::vector<Target>& targets) {
  std::vector<Chain> all;
  std::vector<Chain> tails = {{}};
  for (int n = 1; n <= length; ++n) {
    std::vector<Chain> longer;
    const std::vector<std::int64_t> choice =
        n == 1 ? std::vector<std::int64_t>{1} : widths[static_cast<std::size_t>(n - 2)];
    for (const Chain& tail : tails) {
      for (const std::int64_t width : choice) {
        for (const Target target : targets) longer.push_back(with_width(tail, width, target));
      }
    }
    all.insert(all.end(), longer.begin(), longer.end());
    tails = longer;
  }
  return all;
}

const Target kMemory = Target::memory();
const std::vector<std::int64_t> kUpTo6 = {1, 2, 3, 4, 5, 6};

const std::vector<Chain>& line_chains() {
  static const std::vector<Chain> list =
      chains(3, {kUpTo6, kUpTo6}, {kMemory, Target::mesh(0), Target::nothing()});
  return list;
}
const std::vector<Chain>& dim_chains(int axis) {
  static const std::array<std::vector<Chain>, 2> lists = {
      chains(2, {{2, 3, 4}}, {kMemory, Target::mesh(0)}),
      chains(2, {{2, 3, 4}}, {kMemory, Target::mesh(1)})};
  return lists[static_cast<std::size_t>(axis)];
}
const std::vector<Chain>& joint_chains() {
  static const std::vector<Chain> list =
      chains(3, {{1, 2, 3, 4}, {2, 3, 4, 6, 9}}, {kMemory, Target::mesh(0)});
  return list;
}
const std::vector<Chain>& again_chains() {
  static const std::vector<Chain> list =
      chains(2, {{2, 3, 4, 6}}, {kMemory, Target::mesh(1), Target::nothing()});
  return list;
}
const std::vector<Chain>& short_chains() {
  static const std::vector<Chain> list = chains(2, {{2, 4}}, {kMemory, Target::mesh(0)});
  return list;
}
const std::vector<Chain>& pair_chains() {
  static const std::vector<Chain> list = chains(2, {{2}}, {kMemory, Target::mesh(0)});
  return list;
}

/// Gives counts, strides and a mesh to folds whose cuts have widths and targets.
std::optional<Form> finish(Choices& choices, Shape shape, std::vector<Fold> folds) {
  Form form;
  form.shape = std::move(shape);
  form.folds = std::move(folds);
  const bool gapped = choices.take(2) == 1;
  const std::int64_t extra = choices.take(2);
  const std::int64_t misc = choices.take(5);
  if (misc == 1) form.fills.push_back(Fill::replicate(0, 2));
  if (misc == 2) form.fills.push_back(Fill::fixed(0, 1));
  if (misc >= 3) {
    Fold synthetic;
    synthetic.start = misc - 3;
    synthetic.cuts = with_width({}, 1, misc == 3 ? kMemory : Target::mesh(0), false);
    synthetic.cuts[0].count = 1;
    form.folds.push_back(synthetic);
  }
  std::vector<Cut*> memory;
  std::array<std::vector<Cut*>, 2> axes;
  for (Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = naive_needed(fold, form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      Cut& cut = fold.cuts[k];
      cut.count = needed[k] + (fold.terms.empty() || k + 1 == fold.cuts.size() ? extra : 0);
      if (fold.terms.empty()) cut.count = std::max<std::int64_t>(cut.count, 2);
      if (cut.target.is_memory()) memory.push_back(&cut);
      if (cut.target.is_mesh()) axes[static_cast<std::size_t>(cut.target.axis())].push_back(&cut);
    }
  }
  if (!gapped) std::reverse(memory.begin(), memory.end());
  std::int64_t reach = 0;
  for (Cut* cut : memory) {
    cut->stride = reach + 1 + (gapped && cut == memory.back() ? 1 : 0);
    reach += std::max<std::int64_t>(cut->count - 1, 0) * cut->stride;
  }
  std::vector<std::int64_t> mesh;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    std::int64_t last = axis == 0 && misc == 1 ? 1 : 0;
    std::reverse(axes[axis].begin(), axes[axis].end());
    for (Cut* cut : axes[axis]) {
      cut->stride = last + 1;
      last += std::max<std::int64_t>(cut->count - 1, 0) * cut->stride;
    }
    if (axis == 0 && misc == 2) last += 1;
    if (last + 1 > kMaxAxis) return std::nullopt;
    const bool used = !axes[axis].empty() || (axis == 0 && (misc == 1 || misc == 2));
    if (used || (axis == 0 && !axes[1].empty())) mesh.push_back(last + 1);
  }
  form.mesh = *Shape::make(mesh);
  return form;
}
constexpr std::int64_t kFinishes = 20;  // 2 · 2 · 5

struct Line1 {
  std::int64_t coef, start;
};
constexpr std::array<Line1, 5> kLines1 = {{{1, 0}, {1, 1}, {2, 0}, {-1, 0}, {-2, 1}}};

Fold line(const Shape& shape, std::vector<Term> terms, std::int64_t start, const Chain& chain) {
  for (const Term& term : terms) {
    const std::int64_t extent = shape[static_cast<std::size_t>(term.dim)];
    if (term.coef < 0 && extent > 0) start -= term.coef * (extent - 1);
  }
  return Fold{std::move(terms), start, chain};
}

std::optional<Form> rank_1(Choices choices) {
  const Shape shape = *Shape::make({choices.take(7)});
  const Line1 kind = choices.pick(kLines1);
  const Fold fold = line(shape, {Term{0, kind.coef}}, kind.start, choices.pick(line_chains()));
  return finish(choices, shape, {fold});
}

Shape shape_of_rank_2(Choices& choices) {
  const std::int64_t rows = 1 + choices.take(6);
  return *Shape::make({rows, 1 + choices.take(6)});
}

std::optional<Form> rank_2_apart(Choices choices) {
  const Shape shape = shape_of_rank_2(choices);
  const Fold rows = line(shape, {Term{0, 1}}, 0, choices.pick(dim_chains(0)));
  const Fold cols = line(shape, {Term{1, 1}}, 0, choices.pick(dim_chains(1)));
  return finish(choices, shape, {rows, cols});
}

std::optional<Form> rank_2_joint(Choices choices) {
  const Shape shape = shape_of_rank_2(choices);
  std::vector<Term> terms;
  switch (choices.take(4)) {
    case 0:
      terms = {Term{0, shape[1]}, Term{1, 1}};
      break;
    case 1:
      terms = {Term{1, shape[0]}, Term{0, 1}};
      break;
    case 2:
      terms = {Term{0, shape[1] + 2}, Term{1, 1}};
      break;
    default:
      terms = {Term{0, shape[1]}, Term{1, -1}};
      break;
  }
  const Fold joint = line(shape, terms, 0, choices.pick(joint_chains()));
  return finish(choices, shape, {joint});
}

std::optional<Form> rank_2_again(Choices choices) {
  const Shape shape = shape_of_rank_2(choices);
  const Fold rows = line(shape, {Term{0, 1}}, 0, choices.pick(short_chains()));
  const std::int64_t step = 1 + choices.take(2);
  const Fold both = line(shape, {Term{0, step}, Term{1, 1}}, 0, choices.pick(again_chains()));
  return finish(choices, shape, {rows, both});
}

Shape shape_of_rank_3(Choices& choices) {
  constexpr std::array<std::int64_t, 6> kExtents = {1, 2, 3, 4, 5, 6};
  const std::int64_t a = choices.pick(kExtents);
  const std::int64_t b = choices.pick(kExtents);
  return *Shape::make({a, b, choices.pick(kExtents)});
}

std::optional<Form> rank_3_apart(Choices choices) {
  const Shape shape = shape_of_rank_3(choices);
  std::vector<Fold> folds;
  for (int dim = 0; dim < 3; ++dim) {
    folds.push_back(line(shape, {Term{dim, 1}}, 0, choices.pick(pair_chains())));
  }
  return finish(choices, shape, folds);
}

std::optional<Form> rank_3_pairs(Choices choices) {
  const Shape shape = shape_of_rank_3(choices);
  const bool flipped = choices.take(2) == 1;
  const Term alone = flipped ? Term{0, -1} : Term{2, 1};
  const std::vector<Term> pair =
      flipped ? std::vector<Term>{{2, shape[1]}, {1, 1}} : std::vector<Term>{{0, shape[1]}, {1, 1}};
  const Fold joint = line(shape, pair, 0, choices.pick(short_chains()));
  return finish(choices, shape, {joint, line(shape, {alone}, 0, choices.pick(short_chains()))});
}

std::optional<Form> rank_3_joint(Choices choices) {
  const Shape shape = shape_of_rank_3(choices);
  const std::vector<Term> terms = {{0, shape[1] * shape[2]}, {1, shape[2]}, {2, 1}};
  return finish(choices, shape, {line(shape, terms, 0, choices.pick(joint_chains()))});
}

struct Family {
  std::int64_t count;
  std::optional<Form> (*form)(Choices);
};

std::int64_t size(const std::vector<Chain>& list) { return static_cast<std::int64_t>(list.size()); }

const std::vector<Family>& families() {
  static const std::vector<Family> list = {
      {35 * size(line_chains()) * kFinishes, rank_1},
      {36 * size(dim_chains(0)) * size(dim_chains(1)) * kFinishes, rank_2_apart},
      {144 * size(joint_chains()) * kFinishes, rank_2_joint},
      {36 * size(short_chains()) * 2 * size(again_chains()) * kFinishes, rank_2_again},
      {216 * size(pair_chains()) * size(pair_chains()) * size(pair_chains()) * kFinishes,
       rank_3_apart},
      {432 * size(short_chains()) * size(short_chains()) * kFinishes, rank_3_pairs},
      {216 * size(joint_chains()) * kFinishes, rank_3_joint},
  };
  return list;
}

}  // namespace

std::int64_t small_forms() {
  std::int64_t total = 0;
  for (const Family& family : families()) total += family.count;
  return total;
}

std::optional<Form> small_form(std::int64_t i) {
  for (const Family& family : families()) {
    if (i < family.count) return family.form(Choices(i));
    i -= family.count;
  }
  return std::nullopt;
}

}  // namespace tessera::test

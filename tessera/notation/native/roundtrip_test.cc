// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tessera/notation/notation.h"

/// The two laws of the native notation, on random layouts that were built as specs, not read from
/// text: parse(print(x)) == x, and printing what was parsed gives the same text.
namespace tessera::notation {
namespace {

class RandomSpecs {
 public:
  explicit RandomSpecs(std::uint64_t seed) : random_(seed) {}

  LayoutSpec next() {
    LayoutSpec spec;
    Form& form = spec.form;
    form.shape = random_shape(3, 0, 7);
    form.mesh = random_shape(3, 1, 5);
    used_.assign(form.mesh.rank(), 1);
    memory_ = 1;
    add_folds(form);
    add_fills(form);
    if (chance(4)) form.offset = pick(0, 40);
    if (chance(3)) spec.slots = form.check().ok() ? form.reach() + (chance(2) ? pick(0, 9) : 0) : 1;
    spec.dtype = random_dtype();
    spec.atom = Atom::scalar(chance(4) ? random_dtype() : spec.dtype);
    if (chance(4)) spec.atom = Atom::tile(pick(1, 3), pick(1, 3), spec.dtype);
    if (chance(8)) spec.atom = Atom::tile(32, 32, random_dtype());
    if (chance(3)) spec.slots = ceil_to(spec, spec.atom.elements());
    spec.padding = random_padding();
    if (chance(3)) spec.space = chance(2) ? "l1" : "_Dram2";
    spec.device_map = random_device(form.mesh);
    return spec;
  }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(std::int64_t one_in) { return pick(1, one_in) == 1; }

  Shape random_shape(std::int64_t max_rank, std::int64_t low, std::int64_t high) {
    std::vector<std::int64_t> extents(static_cast<std::size_t>(pick(0, max_rank)));
    for (std::int64_t& extent : extents)
      extent = std::max(low, pick(low, high) - (chance(2) ? 1 : 0));
    return *Shape::make(std::move(extents));
  }

  DType random_dtype() {
    return all_dtypes()[static_cast<std::size_t>(
        pick(0, static_cast<std::int64_t>(all_dtypes().size()) - 1))];
  }

  static std::int64_t ceil_to(const LayoutSpec& spec, std::int64_t unit) {
    if (!spec.form.check().ok()) return 1;
    return (spec.form.reach() + unit - 1) / unit * unit;
  }

  PaddingValue random_padding() {
    if (chance(2)) return PaddingValue::undef();
    if (chance(3)) return PaddingValue::of(static_cast<double>(pick(-2, 2)));
    if (chance(4)) return PaddingValue::of(chance(2) ? INFINITY : -INFINITY);
    const double any = std::bit_cast<double>(random_());
    return PaddingValue::of(std::isnan(any) ? 0.5 : any);
  }

  /// Joins dims into lines of growing coefficients, so that most folds can be undone.
  void add_folds(Form& form) {
    std::vector<int> dims(form.shape.rank());
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<int>(i);
    std::shuffle(dims.begin(), dims.end(), random_);
    while (!dims.empty()) {
      Fold fold;
      std::int64_t coef = 1;
      do {
        const int dim = dims.back();
        dims.pop_back();
        const std::int64_t steps =
            std::max<std::int64_t>(form.shape[static_cast<std::size_t>(dim)], 1);
        if (chance(8)) coef += pick(1, 3);
        const bool flip = chance(5);
        fold.terms.push_back({dim, flip ? -coef : coef});
        if (flip) fold.start += coef * (steps - 1);
        coef *= steps;
      } while (!dims.empty() && chance(3));
      if (chance(6)) fold.start += pick(1, 9);
      add_cuts(form, fold);
    }
    if (chance(5)) add_cuts(form, Fold{});
    if (chance(8) && form.shape.rank() > 0) {
      Fold check{{{0, 1}},
                 pick(0, 3),
                 {{pick(1, 5), 1, Target::nothing(), pick(0, 2), Cause::kGap},
                  {1, 1, Target::nothing(), 1, Cause::kAlignment}}};
      raise_counts(form, check);
      form.folds.push_back(check);
    }
  }

  void raise_counts(const Form& form, Fold& fold) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < needed.size(); ++k) {
      fold.cuts[k].count = needed[k] + (chance(5) ? pick(1, 3) : 0);
    }
  }

  void add_cuts(Form& form, Fold fold) {
    const std::int64_t cuts = pick(1, 3);
    for (std::int64_t k = 1; k <= cuts; ++k) fold.cuts.push_back({k == cuts ? 1 : pick(1, 9)});
    raise_counts(form, fold);
    for (Cut& cut : fold.cuts) {
      cut.target = place(form, cut);
      cut.cause = chance(4) ? static_cast<Cause>(pick(0, kCauses - 1))
                            : default_cause(!fold.terms.empty(), cut.target);
    }
    form.folds.push_back(std::move(fold));
  }

  /// A mesh axis that still has room, otherwise memory after the used slots; sometimes with gaps.
  Target place(const Form& form, Cut& cut) {
    const std::int64_t count = std::max<std::int64_t>(cut.count, 1);
    if (count == 1 && chance(4)) return Target::nothing();
    if (form.mesh.rank() > 0 && chance(2)) {
      const auto axis =
          static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(form.mesh.rank()) - 1));
      if (used_[axis] * count <= form.mesh[axis]) {
        cut.stride = used_[axis];
        used_[axis] *= count;
        return Target::mesh(static_cast<int>(axis));
      }
    }
    cut.stride = memory_ + (chance(6) ? pick(1, 4) : 0);
    memory_ = cut.stride * count;
    return Target::memory();
  }

  void add_fills(Form& form) {
    for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
      const auto a = static_cast<int>(axis);
      const std::int64_t rest = form.mesh[axis] / used_[axis];
      if (rest == 1 && chance(2)) continue;
      const std::int64_t count = chance(2) ? rest : pick(1, rest);
      const auto reduction = static_cast<Reduction>(pick(0, 5));
      switch (pick(0, 2)) {
        case 0:
          form.fills.push_back(Fill::replicate(a, count, used_[axis]));
          break;
        case 1:
          form.fills.push_back(Fill::partial(a, count, reduction, used_[axis]));
          break;
        default:
          form.fills.push_back(Fill::fixed(a, pick(0, rest - 1) * used_[axis]));
      }
    }
  }

  DeviceMap random_device(const Shape& mesh) {
    if (chance(2)) return DeviceMap::identity();
    if (chance(2)) {
      const Shape physical = *Shape::make({mesh.elements() + pick(0, 3), 2});
      std::vector<Place> places;
      for (std::int64_t i = 0; i < mesh.elements(); ++i) places.push_back({i, pick(0, 1)});
      std::shuffle(places.begin(), places.end(), random_);
      return DeviceMap::table(physical, std::move(places));
    }
    Fold line;
    const std::vector<std::int64_t> strides = mesh.row_major_strides();
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      line.terms.push_back({static_cast<int>(axis), strides[axis]});
    }
    const std::int64_t banks = pick(1, 8);
    line.cuts = {{banks, 1, Target::memory(), 1, Cause::kAlignment},
                 {1, 1, Target::mesh(0), 1, Cause::kGrid}};
    Form form;
    form.shape = mesh;
    raise_counts(form, line);
    const Shape physical = *Shape::make({banks + 12});
    return DeviceMap::folded(physical, {line}, chance(2) ? Place{} : Place{pick(0, 4)});
  }

  std::mt19937_64 random_;
  std::vector<std::int64_t> used_;
  std::int64_t memory_ = 1;
};

/// The same text with a blank on both sides of every symbol, or with no blanks at all.
std::string respaced(const std::string& text, bool wide) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    const bool arrow = text.compare(i, 2, "->") == 0;
    const bool symbol = arrow || std::string_view("<>[](){},=/#*!").find(text[i]) < 14;
    if (wide && symbol) out += " ";
    out += text[i];
    if (arrow) out += text[++i];
    if (wide && symbol) out += "\n";
  }
  return out;
}

TEST(NativeRoundTrip, RandomLayoutsComeBackAsTheyWere) {
  RandomSpecs specs(20240229);
  int layouts = 0;
  int refused = 0;
  while (layouts < 20000) {
    const LayoutSpec spec = specs.next();
    const Result<Layout> layout = Layout::make(spec);
    if (!layout) {
      ASSERT_LT(++refused, 200000) << "the generator makes too few layouts";
      continue;
    }
    ++layouts;
    const std::string text = print_native(*layout);
    for (const std::string& spelling : {text, respaced(text, true), respaced(text, false)}) {
      const Result<Tensor> tensor = parse_tensor(spelling);
      ASSERT_TRUE(tensor.ok()) << render(tensor.error(), spelling);
      ASSERT_TRUE(tensor->layout().spec() == spec) << text;
      ASSERT_EQ(print_native(tensor->layout()), text);
    }
  }
  RecordProperty("layouts", layouts);
  RecordProperty("refused", refused);
}

TEST(NativeRoundTrip, TruncatedAndMangledTextsNeverLoseTheirSpan) {
  RandomSpecs specs(7);
  std::mt19937_64 random(8);
  const std::string_view alphabet = "<>[](){},=/#*!-+x0 1dm9\"\\\xE2n";
  for (int layouts = 0; layouts < 1000;) {
    const Result<Layout> layout = Layout::make(specs.next());
    if (!layout) continue;
    ++layouts;
    const std::string text = print_native(*layout);
    for (int change = 0; change < 20; ++change) {
      std::string mangled =
          text.substr(0, random() % 4 == 0 ? random() % text.size() : text.size());
      for (std::uint64_t edits = random() % 3; edits > 0 && !mangled.empty(); --edits) {
        mangled[random() % mangled.size()] = alphabet[random() % alphabet.size()];
      }
      const Result<Tensor> tensor = parse_tensor(mangled);
      if (tensor.ok()) continue;
      const auto size = static_cast<std::int64_t>(mangled.size());
      ASSERT_TRUE(tensor.error().span.has_value()) << mangled;
      const Span span = *tensor.error().span;
      ASSERT_TRUE(0 <= span.from && span.from <= span.to && span.to <= size)
          << render(tensor.error(), mangled);
    }
  }
}

}  // namespace
}  // namespace tessera::notation

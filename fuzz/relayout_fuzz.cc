// SPDX-License-Identifier: Apache-2.0
// Any bytes are choices: a shape, a source (a layout, or a view of one), a destination, a type and
// a rule for padding. What can be moved must obey the laws of relayout:
//   the verifier finds nothing wrong with the program, or the program was refused;
//   the plan gives the same destination as moving element by element, byte by byte, for any
//   threads and stores.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/program.h"
#include "tessera/relayout/verify.h"

namespace tessera {
namespace {

/// Reads choices from the bytes; when they are used up, every choice is the first.
class Choices {
 public:
  Choices(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}
  std::int64_t below(std::int64_t n) {
    if (n <= 1 || next_ == end_) return 0;
    return static_cast<std::int64_t>(*next_++) % n;
  }
  bool yes() { return below(2) == 1; }
  /// One time in eight.
  bool seldom() { return below(8) == 7; }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
};

Shape any_shape(Choices& choices) {
  std::vector<std::int64_t> extents(static_cast<std::size_t>(choices.below(5)));
  const std::int64_t most = extents.size() <= 2 && choices.yes() ? 150 : 8;
  for (std::int64_t& extent : extents) {
    extent = choices.below(most) + 1;
    if (extent == most) extent = 0;
  }
  return *Shape::make(extents);
}

struct Digit {
  std::int64_t count;
  std::int64_t* stride;
};

/// Strides in a chosen order, each beyond the reach of the previous ones, with gaps.
std::int64_t spread(Choices& choices, std::vector<Digit> digits) {
  std::int64_t reach = 0;
  while (!digits.empty()) {
    const auto from_end =
        static_cast<std::ptrdiff_t>(choices.below(static_cast<std::int64_t>(digits.size())));
    const auto chosen = digits.end() - 1 - from_end;
    *chosen->stride = reach + 1 + (choices.seldom() ? choices.below(5) : 0);
    reach += std::max<std::int64_t>(chosen->count - 1, 0) * *chosen->stride;
    digits.erase(chosen);
  }
  return reach;
}

Fold any_fold(Choices& choices, const Shape& shape, const std::vector<int>& dims,
              std::int64_t mesh_rank) {
  Fold fold;
  std::int64_t coef = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const std::int64_t extent = std::max<std::int64_t>(shape[static_cast<std::size_t>(dims[i])], 1);
    const bool flip = choices.seldom();
    fold.terms.insert(fold.terms.begin(), Term{dims[i], flip ? -coef : coef});
    if (flip) fold.start += coef * (extent - 1);
    coef *= extent + (choices.seldom() ? 1 : 0);
  }
  std::vector<std::int64_t> widths = {1};
  for (std::int64_t more = choices.below(4); more > 0; --more) {
    const std::int64_t by = 1 + choices.below(40);
    widths.insert(widths.begin(), choices.yes() ? widths.front() * by : by);
  }
  for (const std::int64_t width : widths) fold.cuts.push_back({width});
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    Cut& cut = fold.cuts[k];
    cut.count = needed[k] + (choices.seldom() ? choices.below(3) : 0);
    const std::int64_t where = choices.below(6);
    if (where > 3 && mesh_rank > 0 && cut.count <= 8) {
      cut.target = Target::mesh(static_cast<int>(choices.below(mesh_rank)));
    }
  }
  return fold;
}

LayoutSpec any_spec(Choices& choices, const Shape& shape, DType dtype) {
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  const std::int64_t mesh_rank = choices.below(3);
  std::vector<std::vector<int>> groups;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (groups.empty() || choices.below(4) < 3) groups.emplace_back();
    groups.back().push_back(static_cast<int>(dim));
  }
  for (const std::vector<int>& dims : groups) {
    spec.form.folds.push_back(any_fold(choices, shape, dims, mesh_rank));
  }
  for (int axis = 0; axis < mesh_rank; ++axis) {
    const std::int64_t kind = choices.below(4);
    if (kind == 1) spec.form.fills.push_back(Fill::replicate(axis, 1 + choices.below(3)));
    if (kind == 2) spec.form.fills.push_back(Fill::fixed(axis, choices.below(3)));
  }
  std::vector<Digit> memory;
  std::vector<std::vector<Digit>> axes(static_cast<std::size_t>(mesh_rank));
  for (Fold& fold : spec.form.folds) {
    for (Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) memory.push_back({cut.count, &cut.stride});
      if (cut.target.is_mesh()) {
        axes[static_cast<std::size_t>(cut.target.axis())].push_back({cut.count, &cut.stride});
      }
    }
  }
  for (Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kFixed) continue;
    axes[static_cast<std::size_t>(fill.axis)].push_back({fill.count, &fill.stride});
  }
  spread(choices, std::move(memory));
  std::vector<std::int64_t> mesh;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    std::int64_t last = spread(choices, axes[axis]);
    for (const Fill& fill : spec.form.fills) {
      if (fill.kind == Fill::Kind::kFixed && fill.axis == static_cast<int>(axis)) {
        last += fill.value;
      }
    }
    mesh.push_back(last + 1);
  }
  spec.form.mesh = *Shape::make(mesh);
  if (choices.seldom()) spec.form.offset = choices.below(9);
  if (choices.seldom()) spec.slots = spec.form.reach() + choices.below(9);
  if (choices.yes()) spec.padding = PaddingValue::of(static_cast<double>(choices.below(4)) - 1);
  return spec;
}

/// Small enough to check spot by spot many times per second.
bool is_small(const Placement& placement) {
  return placement.slots() <= 1 << 18 && placement.places() * placement.slots() <= 1 << 18;
}

std::optional<Layout> any_layout(Choices& choices, const Shape& shape, DType dtype) {
  Result<Layout> layout = Layout::make(any_spec(choices, shape, dtype));
  if (!layout.ok() || !is_small(*layout)) return std::nullopt;
  return *std::move(layout);
}

/// A view after up to three operations; those that cannot be expressed are skipped.
View any_view(Choices& choices, const Layout& layout) {
  View view = View::of(layout);
  for (std::int64_t more = choices.below(4); more > 0; --more) {
    const auto rank = static_cast<std::int64_t>(view.shape().rank());
    const int dim = static_cast<int>(choices.below(rank));
    std::optional<Result<View>> next;
    const std::int64_t kind = choices.below(3);
    if (kind == 0 && rank > 1) {
      std::vector<int> perm;
      for (int d = 0; d < rank; ++d) perm.push_back((d + 1 + dim) % static_cast<int>(rank));
      next = view.transpose(perm);
    } else if (kind == 1 && rank > 0) {
      const std::int64_t step = choices.below(5) - 2;
      next = view.slice(dim, choices.below(8), 1 + choices.below(8), step);
    } else if (kind == 2 && rank < 4) {
      next = view.broadcast(dim, 1 + choices.below(4));
    }
    if (next && next->ok()) view = **next;
  }
  return view;
}

void check_pair(Choices& choices, const Placement& from, const Placement& to) {
  const std::string text = print_native(from) + "\n" + print_native(to);
  const auto rule = static_cast<relayout::PaddingRule>(choices.below(3));
  const Result<relayout::Program> program = relayout::make_program(from, to, rule);
  if (!program.ok()) {
    require(program.error().code == ErrorCode::kNotInjective && to.view() != nullptr,
            "only destinations that share slots are refused", text);
    return;
  }
  const Result<std::vector<relayout::Finding>> findings =
      relayout::verify(*program, from, to, rule);
  require(findings.ok(), "a program can be followed", text);
  require(findings->empty(), findings->empty() ? "" : findings->front().message.c_str(), text);

  relayout::PlanOptions options;
  options.stores = static_cast<relayout::Stores>(choices.below(3));
  const Result<relayout::Plan> plan = relayout::Plan::make(*program, options);
  require(plan.ok(), "a program has a plan", text);
  std::vector<std::byte> source(static_cast<std::size_t>(program->from.bytes));
  for (std::size_t i = 0; i < source.size(); ++i) {
    source[i] = static_cast<std::byte>((i * 0x9E3779B97F4A7C15U) >> 56);
  }
  std::vector<std::byte> moved(static_cast<std::size_t>(program->to.bytes), std::byte{0xA5});
  std::vector<std::byte> right = moved;
  require(relayout::move_naively(from, source, to, right, rule).ok(), "elements can be moved",
          text);
  static ThreadPool one(1);
  static ThreadPool two(2);
  require(plan->run(source, moved, choices.seldom() ? two : one).ok(), "a plan runs", text);
  require(moved == right, "a plan moves what the reference does", text);
}

void check_choices(Choices choices) {
  constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kI8, DType::kF64, DType::kI4};
  const DType dtype = kTypes[choices.below(5)];
  const Shape shape = any_shape(choices);
  const std::optional<Layout> base = any_layout(choices, shape, dtype);
  if (!base) return;
  Placement from = *base;
  if (choices.below(4) == 3) from = any_view(choices, *base);
  const std::optional<Layout> other = any_layout(choices, from.shape(), dtype);
  if (!other) return;
  if (from.view() != nullptr && choices.seldom()) {
    check_pair(choices, *other, from);
  } else {
    check_pair(choices, from, *other);
  }
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_choices(tessera::Choices(bytes, size));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/machines/rules.h"
#include "tessera/ops/machines/spyre_sticks.h"

namespace tessera::ops::machines {
namespace {

/// 256 MiB less 4 KiB: what a core can address of one tensor.
constexpr std::int64_t kSpanBytes = 268431360;

/// The bytes from the first to the last stick of a core's piece in the undivided device tensor,
/// which a core addresses although its piece does not fill it.
std::int64_t span_bytes(const Layout& layout) {
  struct Digit {
    std::int64_t stride;  ///< in the piece
    std::int64_t here;    ///< values in the piece
    std::int64_t whole;   ///< values in the undivided tensor
  };
  std::vector<Digit> digits;
  for (const Fold& fold : layout.form().folds) {
    std::int64_t pieces = 1;
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh()) {
        pieces *= cut.count;
      } else if (cut.target.is_memory() && cut.stride >= per_stick(layout)) {
        digits.push_back({cut.stride, cut.count, cut.count * pieces});
        pieces = 1;
      }
    }
  }
  std::ranges::sort(digits, {}, &Digit::stride);
  Checked sticks = 1;
  Checked step = 1;
  for (const Digit& digit : digits) {
    sticks += step * (digit.here - 1);
    step *= digit.whole;
  }
  sticks *= 128;
  return sticks.saturated();
}

Allowed check_sticks(const Asked& asked) {
  for (const Asked::Named& operand : asked.all()) {
    const Layout& layout = *operand.layout;
    const std::int64_t lanes = per_stick(layout);
    if (lanes == 0 || layout.slots() % lanes != 0 || stick_dims(layout).size() > 1) {
      return refused("sticks", operand.name + " is not in sticks of 128 bytes along one dim");
    }
    if (const std::int64_t span = span_bytes(layout); span > kSpanBytes) {
      return refused("span", cat(operand.name, " has a span of ", span,
                                 " bytes on a core, expected at most ", kSpanBytes));
    }
  }
  return by("sticks");
}

/// Whether an input dim is only summed over.
bool is_reduced(const Loops& loops, std::size_t input, std::size_t dim) {
  const std::optional<Access>& access = loops.inputs[input];
  return access && std::ranges::any_of(access->dims[dim].terms, [&](const Term& term) {
           return loops.factors[static_cast<std::size_t>(term.dim)].kind != FactorKind::kPass;
         });
}

/// Cores divide dims of the output, and k of a product, evenly and in whole sticks.
Allowed check_cores(const Asked& asked) {
  for (const Asked::Named& operand : asked.all()) {
    const Layout& layout = *operand.layout;
    for (const Fold& fold : layout.form().folds) {
      std::int64_t left = fold.extent(layout.shape());  // what the next cut divides
      for (const Cut& cut : fold.cuts) {
        const std::int64_t extent = left;
        left = std::min(left, cut.width);
        if (!cut.target.is_mesh() || cut.count <= 1) continue;
        const bool in_sticks = fold.terms.size() == 1 && fold.terms[0].dim == stick_dim(layout);
        const std::int64_t unit = in_sticks ? per_stick(layout) : 1;
        const std::int64_t units = (extent + unit - 1) / unit;
        if (cut.width % unit != 0 || units != cut.width / unit * cut.count) {
          return refused("core division",
                         cat("cores of ", operand.name, " have ", cut.width, " of ", extent,
                             in_sticks ? " elements, expected equal numbers of whole sticks"
                                       : " elements, expected equal numbers"));
        }
      }
    }
  }
  const Result<Loops> loops = loops_of(asked.call, asked.types);
  if (!loops || asked.is_any({"matmul", "gemm"})) return by("core division");
  for (std::size_t i = 0; i < asked.operands.inputs.size(); ++i) {
    const Layout* layout = asked.in(i);
    for (std::size_t d = 0; layout != nullptr && d < layout->shape().rank(); ++d) {
      if (is_divided(*layout, d) && is_reduced(*loops, i, d)) {
        return refused("core division", cat("dim ", d, " of input ", i,
                                            " is reduced and divided over cores; only the k of a "
                                            "matmul may be"));
      }
    }
  }
  return by("core division");
}

/// Operands that are not broadcast along the stick dim of the output use it too.
Allowed elementwise(const Asked& asked) {
  const Layout* largest = nullptr;
  for (std::size_t i = 0; i < asked.operands.inputs.size(); ++i) {
    const Layout* x = asked.in(i);
    const bool more =
        x != nullptr && (largest == nullptr || x->shape().rank() > largest->shape().rank() ||
                         (x->shape().rank() == largest->shape().rank() &&
                          x->shape().elements() > largest->shape().elements()));
    if (more) largest = x;
  }
  if (largest == nullptr) return by("any");
  const Shape& out = asked.types[0].shape;
  const int lead = static_cast<int>(out.rank() - largest->shape().rank());
  const int stick = is_sparse(*largest) ? -1 : stick_dim(*largest) + lead;
  for (const Asked::Named& operand : asked.all()) {
    const Layout& x = *operand.layout;
    const int before = static_cast<int>(out.rank() - x.shape().rank());
    const int own = is_sparse(x) ? -1 : stick_dim(x) + before;
    // Along the stick dim the operand has one element, which is broadcast.
    const bool broadcasts =
        stick >= 0 &&
        (stick < before || (x.shape()[static_cast<std::size_t>(stick - before)] == 1 &&
                            out[static_cast<std::size_t>(stick)] != 1));
    if (broadcasts || own == stick) continue;
    return refused("elementwise sticks",
                   cat(operand.name, " is ", stick_text(x), ", expected ",
                       stick < 0 ? "sparse" : cat("sticks along dim ", stick - before)));
  }
  const Layout* y = asked.out();
  if (y != nullptr && y->shape() == largest->shape() && y->dtype() == largest->dtype()) {
    const Result<Comparison> same = same_function(*y, *largest);
    if (!same || !same->equal || y->slots() != largest->slots()) {
      return refused("elementwise output",
                     "the output has another layout than the input of the largest rank");
    }
  }
  return by("elementwise");
}

Allowed matmul(const Asked& asked) {
  const bool gemm = asked.is("gemm");
  const auto expect = [&](const Layout* layout, std::string_view name, std::size_t from_last,
                          std::string_view dim) -> std::optional<Allowed> {
    if (layout == nullptr || layout->shape().rank() <= from_last) return std::nullopt;
    const std::size_t stick = layout->shape().rank() - 1 - from_last;
    // One element along the dim is one element a stick in either way.
    if (stick_dim(*layout) == static_cast<int>(stick) ||
        (layout->shape()[stick] == 1 && is_sparse(*layout))) {
      return std::nullopt;
    }
    return refused("matmul sticks", cat(name, " is ", stick_text(*layout), ", expected along ", dim,
                                        ", dim ", stick));
  };
  const std::size_t turn_a = gemm && asked.call.integer("trans_a") != 0 ? 1 : 0;
  const std::size_t turn_b = gemm && asked.call.integer("trans_b") != 0 ? 1 : 0;
  if (const auto wrong = expect(asked.in(0), "A", turn_a, "k")) return *wrong;
  const bool vector = asked.in(1) != nullptr && asked.in(1)->shape().rank() == 1;
  if (!vector) {
    if (const auto wrong = expect(asked.in(1), "B", turn_b, "j")) return *wrong;
    if (const auto wrong = expect(asked.out(), "C", 0, "j")) return *wrong;
  }
  const Layout* c = asked.out();
  if (c != nullptr && c->places() == 1 && c->shape().rank() > 0 && !c->shape().empty()) {
    const std::optional<Layout> usual = in_sticks(*c);
    if (usual) {
      const Result<Comparison> same = same_function(*c, *usual);
      if (same && !same->equal) {
        return refused("matmul output", "C does not have the default layout of its shape");
      }
    }
  }
  return by("matmul");
}

/// Over the stick dim, one element per stick is left; over another, its device dim is gone.
Allowed reduction(const Asked& asked) {
  const Layout* x = asked.in(0);
  const Layout* y = asked.out();
  const bool one_axis = asked.is_any({"argmax", "argmin", "cumsum"});
  if (x == nullptr || y == nullptr || is_sparse(*x) || one_axis) return by("reduce");
  const std::size_t rank = x->shape().rank();
  std::vector<bool> reduced(rank, !asked.call.given("axes"));
  for (const std::int64_t axis : asked.call.integers("axes")) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis)] =
        true;
  }
  const auto stick = static_cast<std::size_t>(stick_dim(*x));
  if (reduced[stick]) {
    if (!is_sparse(*y)) {
      return refused("reduce stick dim", cat("the stick dim is reduced, and the output is ",
                                             stick_text(*y), ", expected sparse"));
    }
    return by("reduce stick dim");
  }
  int expected = static_cast<int>(stick);
  if (asked.call.integer("keepdims") == 0) {
    expected -= static_cast<int>(std::count(reduced.begin(), reduced.begin() + expected, true));
  }
  if (stick_dim(*y) != expected) {
    return refused("reduce other dim", cat("the output is ", stick_text(*y),
                                           ", expected in sticks along dim ", expected));
  }
  return by("reduce other dim");
}

/// A transpose moves nothing: sticks stay what they are, and their dim gets another number.
Allowed transpose(const Asked& asked) {
  const Layout* x = asked.in(0);
  const Layout* y = asked.out();
  if (x == nullptr || y == nullptr) return by("transpose");
  const std::size_t rank = x->shape().rank();
  std::vector<std::size_t> from;  // the dim of the input for each of the output
  for (std::size_t d = 0; d < rank; ++d) {
    from.push_back(asked.call.given("perm")
                       ? static_cast<std::size_t>(asked.call.integers("perm")[d])
                       : rank - 1 - d);
  }
  if (is_sparse(*x) != is_sparse(*y)) {
    return refused("transpose", cat("the output is ", stick_text(*y), ", expected ",
                                    is_sparse(*x) ? "sparse" : "dense"));
  }
  if (!is_sparse(*x) &&
      from[static_cast<std::size_t>(stick_dim(*y))] != static_cast<std::size_t>(stick_dim(*x))) {
    return refused("transpose",
                   cat("the output is ", stick_text(*y), ", but the input ", stick_text(*x),
                       ": a view keeps its sticks; restickify before or after"));
  }
  return by("transpose");
}

Allowed restickify(const Asked& asked) {
  const Layout* x = asked.in(0);
  const Layout* y = asked.out();
  if (x == nullptr || y == nullptr) return by("restickify");
  const Result<Comparison> same = same_function(*x, *y);
  if (same && same->equal) return by("restickify");
  for (const Layout* layout : {x, y}) {
    if (is_sparse(*layout)) {
      return refused("restickify", cat(layout == x ? "the input" : "the output",
                                       " is sparse, expected dense to dense"));
    }
  }
  return by("restickify");
}

}  // namespace

Allowed on_spyre(const Asked& asked) {
  for (const auto rule : {check_sticks, check_cores}) {
    if (Allowed first = rule(asked); !first.legal) return first;
  }
  static const std::vector<OpsRule> table = {
      {{"matmul", "gemm"}, matmul},
      {{"transpose"}, transpose},
      {{"layout_transform"}, restickify},
  };
  return by_table(asked, table, elementwise, reduction);
}

}  // namespace tessera::ops::machines

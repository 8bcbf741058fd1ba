// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/ops/loops.h"
#include "tessera/ops/machines/rules.h"
#include "tessera/ops/machines/ttnn_kinds.h"

namespace tessera::ops::machines {
namespace {

/// The width of the last cut over cores of a dim: elements of its line in one shard; 0 where it is
/// not divided.
std::int64_t shard_extent(const Layout& layout, std::size_t dim) {
  std::int64_t width = 0;
  for (const Fold& fold : layout.form().folds) {
    const auto is_dim = [&](const Term& term) { return term.dim == static_cast<int>(dim); };
    if (std::ranges::none_of(fold.terms, is_dim)) continue;
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh() && cut.count > 1) width = cut.width;
    }
  }
  return width;
}

std::int64_t rows_of(const Shape& shape) {
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 1 < shape.rank(); ++d) rows *= shape[d];
  return rows;
}

/// Whether the physical cores of a layout are all of a rectangle.
bool is_rectangle(const Layout& layout) {
  const Shape& mesh = layout.mesh();
  std::set<Place> cores;
  for (std::int64_t p = 0; p < mesh.elements(); ++p) {
    cores.insert(layout.spec().device_map.map(mesh, mesh.delinear(p)).place);
  }
  if (cores.empty()) return true;
  Place low = *cores.begin();
  Place high = low;
  for (const Place& core : cores) {
    for (std::size_t a = 0; a < core.size(); ++a) {
      low[a] = std::min(low[a], core[a]);
      high[a] = std::max(high[a], core[a]);
    }
  }
  std::int64_t inside = 1;
  for (std::size_t a = 0; a < low.size(); ++a) inside *= high[a] - low[a] + 1;
  return inside == static_cast<std::int64_t>(cores.size());
}

std::string said(const Asked::Named& operand) {
  return cat(operand.name, " is ", kind_text(kind_of(*operand.layout)));
}

/// The first operand that is none of these kinds.
std::optional<Asked::Named> not_of(const std::vector<Asked::Named>& operands,
                                   std::initializer_list<Kind> kinds) {
  for (const Asked::Named& operand : operands) {
    if (std::ranges::find(kinds, kind_of(*operand.layout)) == kinds.end()) return operand;
  }
  return std::nullopt;
}

Allowed all_interleaved(const Asked& asked, std::string_view rule) {
  const auto other = not_of(asked.all(), {Kind::kInterleaved});
  if (other) return refused(rule, said(*other) + ", expected interleaved");
  return by(rule);
}

/// The five forms of a matrix product, by the kinds of A, B and C.
Allowed matmul(const Asked& asked) {
  for (const Asked::Named& operand : asked.all()) {
    if (!is_tiled(*operand.layout)) {
      return refused("matmul tiled", operand.name + " is row-major, expected 32x32 tiles");
    }
  }
  const Layout* a = asked.in(0);
  const Layout* b = asked.in(1);
  const Layout* c = asked.out();
  if (a == nullptr || b == nullptr) return by("any");
  const Kind kind_a = kind_of(*a);
  // The loop over k takes blocks of a shard of A, so shards must divide k.
  const std::size_t k_dim = a->shape().rank() - 1;
  if (const std::int64_t block = shard_extent(*a, k_dim); block > 0) {
    const std::int64_t tiles = (a->shape()[k_dim] + 31) / 32;
    if (block % 32 != 0 || tiles % (block / 32) != 0) {
      return refused("matmul k block", cat("a shard of input 0 has ", block, " columns, k has ",
                                           tiles, " tiles: expected a divisor in whole tiles"));
    }
  }
  const bool decode = kind_a == Kind::kWidth && kind_of(*b) == Kind::kWidth;
  if (decode) {
    if (a->spec().space != "l1" || b->spec().space != "dram") {
      return refused("matmul decode", cat("A is in ", a->spec().space, " and the weights in ",
                                          b->spec().space, ", expected l1 and dram"));
    }
    if (rows_of(a->shape()) > 32) {
      return refused("matmul decode",
                     cat("A has ", rows_of(a->shape()), " rows, expected at most one tile of 32"));
    }
    if (c != nullptr && (kind_of(*c) != Kind::kWidth || c->spec().space != "l1")) {
      return refused("matmul decode", "the output is not width-sharded in l1");
    }
    return by("matmul decode");
  }
  if (kind_of(*b) != Kind::kInterleaved) {
    return refused("matmul weights", said({"input 1", b}) +
                                         ", expected interleaved, or width-sharded in dram "
                                         "beside a width-sharded input 0 in l1");
  }
  if (c == nullptr) return by("any");
  const Kind kind_c = kind_of(*c);
  const auto mismatch = [&](std::string_view rule, std::string_view expected) {
    return refused(rule, cat("the output is ", kind_text(kind_c), " and ", said({"input 0", a}),
                             ", expected ", expected));
  };
  if (kind_c == Kind::kInterleaved) {
    if (kind_a != Kind::kInterleaved) {
      return mismatch("matmul interleaved", "an interleaved input");
    }
    if (c->spec().space == "l1") {
      return refused("matmul interleaved", "the output is interleaved in l1, expected dram");
    }
    return by("matmul interleaved");
  }
  const Shape& weights = b->shape();
  if (weights.rank() > 2 && rows_of(weights) != weights[weights.rank() - 2]) {
    return refused("matmul batched weights",
                   "the weights are batched, so the output cannot be sharded");
  }
  switch (kind_c) {
    case Kind::kBlock:
      if (kind_a != Kind::kBlock) return mismatch("matmul block", "a block-sharded input");
      if (a->mesh() != c->mesh()) {
        return refused("matmul block",
                       cat("input 0 is on ", bracketed(a->mesh().extents()), " and the output on ",
                           bracketed(c->mesh().extents()), ", expected one grid"));
      }
      return by("matmul block");  // both extents exceed 1, or the kind would be another
    case Kind::kWidth:
      if (kind_a != Kind::kWidth && kind_a != Kind::kInterleaved) {
        return mismatch("matmul width", "a width-sharded or interleaved input");
      }
      return by("matmul width");
    default:
      if (kind_a != Kind::kHeight) return mismatch("matmul height", "a height-sharded input");
      return by("matmul height");
  }
}

Allowed elementwise(const Asked& asked) {
  std::optional<Asked::Named> first;
  for (const Asked::Named& operand : asked.all()) {
    const Layout& layout = *operand.layout;
    if (kind_of(layout) == Kind::kInterleaved) continue;
    if (!first) {
      first = operand;
      continue;
    }
    const Layout& other = *first->layout;
    const bool same_grid = layout.mesh() == other.mesh();
    const bool same_shards = layout.slots() == other.slots() && layout.atom() == other.atom();
    if (kind_of(layout) != kind_of(other) || !same_grid || !same_shards) {
      return refused(
          "elementwise",
          cat(said(operand), " on ", bracketed(layout.mesh().extents()), " with ", layout.slots(),
              " elements a shard, ", said(*first), " on ", bracketed(other.mesh().extents()),
              " with ", other.slots(), ": expected one kind, grid and shard"));
    }
  }
  return by("elementwise");
}

Allowed reduction(const Asked& asked) {
  const Layout* x = asked.in(0);
  if (x != nullptr && !is_tiled(*x) && !is_interleaved(x)) {
    return refused("reduce row-major",
                   said({"input 0", x}) + " and row-major, expected tiles, or interleaved");
  }
  return by("reduce");
}

/// The dim that a softmax runs over stays whole in a shard.
Allowed softmax(const Asked& asked) {
  const Layout* x = asked.in(0);
  if (x == nullptr) return by("any");
  if (!is_tiled(*x)) return refused("softmax tiled", "input 0 is row-major, expected 32x32 tiles");
  const auto rank = static_cast<std::int64_t>(x->shape().rank());
  const std::int64_t axis = asked.call.integer("axis");
  const auto dim = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  if (is_divided(*x, dim)) {
    return refused("softmax whole dim", cat("dim ", dim, " of input 0 is divided over cores"));
  }
  return by("softmax");
}

Allowed norm(const Asked& asked) {
  const Layout* x = asked.in(0);
  if (x == nullptr) return by("any");
  const Kind kind = kind_of(*x);
  if (kind == Kind::kHeight) {
    return refused("norm height", "input 0 is height-sharded, expected any other kind");
  }
  if (kind == Kind::kInterleaved) return by("norm");
  const Layout* y = asked.out();
  if (y != nullptr && kind_of(*y) != kind) {
    return refused("norm same kind",
                   cat("input 0 is ", kind_text(kind), " and ", said({"the output", y})));
  }
  if (divides_columns(*x) && !is_rectangle(*x)) {
    return refused("norm rectangle",
                   "the cores of input 0 are no rectangle, and none holds whole rows");
  }
  return by("norm");
}

/// The same elements in the same tiles.
bool is_view(const Asked& asked) {
  if (!asked.call.op().rule().is_view) return false;
  const Shape& x = asked.call.shape(0);
  const Shape& y = asked.types[0].shape;
  if (x.rank() < 2 || y.rank() < 2) return false;
  const std::int64_t rows_x = x[x.rank() - 2];
  const std::int64_t rows_y = y[y.rank() - 2];
  return x[x.rank() - 1] == y[y.rank() - 1] &&
         (rows_x == rows_y || (rows_x % 32 == 0 && rows_y % 32 == 0));
}

Allowed movement(const Asked& asked) {
  const Layout* x = asked.in(0);
  if (x != nullptr && kind_of(*x) == Kind::kWidth) {
    return refused("move width", "input 0 is width-sharded, expected any other kind");
  }
  if (is_view(asked)) return by("view");
  if (!is_interleaved(asked.out())) {
    return refused("move output",
                   said({"the output", asked.out()}) + ", expected interleaved: it is no view");
  }
  return by("move");
}

Allowed concat(const Asked& asked) {
  std::optional<Asked::Named> first;
  for (std::size_t i = 0; i < asked.operands.inputs.size(); ++i) {
    if (asked.in(i) == nullptr) continue;
    const Asked::Named operand{cat("input ", i), asked.in(i)};
    if (!first) first = operand;
    const bool same = kind_of(*operand.layout) == kind_of(*first->layout) &&
                      operand.layout->mesh() == first->layout->mesh();
    if (!same) {
      return refused("concat one kind",
                     cat(said(operand), ", ", said(*first), ": expected one kind and one grid"));
    }
  }
  if (!first) return by("any");
  const Kind kind = kind_of(*first->layout);
  const auto rank = static_cast<std::int64_t>(asked.types[0].shape.rank());
  std::int64_t axis = asked.call.integer("axis");
  if (axis < 0) axis += rank;
  if (axis + 1 == rank && kind == Kind::kWidth) {
    return refused("concat width", "along the width, inputs are width-sharded");
  }
  if (axis + 2 == rank && kind == Kind::kHeight) {
    return refused("concat height", "along the height, inputs are height-sharded");
  }
  return by("concat");
}

Allowed embedding(const Asked& asked) {
  const Layout* table = asked.in(0);
  if (table != nullptr && is_tiled(*table)) {
    return refused("embedding table", "the table is tiled, expected row-major");
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_interleaved(asked.in(i))) {
      return refused("embedding", said({cat("input ", i), asked.in(i)}) + ", expected interleaved");
    }
  }
  return by("embedding");
}

/// A window that reads beyond its own position, so that shards need their neighbours' edges.
bool has_halo(const Asked& asked) {
  if (asked.is_any({"conv", "conv_transpose"})) {
    const Shape& weights = asked.call.shape(1);
    for (std::size_t d = 2; d < weights.rank(); ++d) {
      if (weights[d] > 1) return true;
    }
    return false;
  }
  return std::ranges::any_of(asked.call.integers("kernel"), [](auto extent) { return extent > 1; });
}

Allowed window(const Asked& asked) {
  const Layout* x = asked.in(0);
  if (x == nullptr) return by("any");
  if (has_halo(asked) && is_interleaved(x)) {
    return refused("window halo", "input 0 is interleaved, expected shards that exchange halos");
  }
  if (asked.out() != nullptr && kind_of(*asked.out()) != kind_of(*x)) {
    return refused("window same kind",
                   cat(said({"input 0", x}), " and ", said({"the output", asked.out()})));
  }
  return by("window");
}

/// One query position at a time is a decode.
Allowed attention(const Asked& asked) {
  const Shape& q = asked.call.shape(0);
  if (q[q.rank() - 2] != 1) return all_interleaved(asked, "attention");
  const Layout* query = asked.in(0);
  if (query != nullptr && kind_of(*query) != Kind::kHeight && query->spec().space != "dram") {
    return refused("attention decode", cat(said({"input 0", query}), " in ", query->spec().space,
                                           ", expected height-sharded or in dram"));
  }
  for (std::size_t i = 1; i < 3; ++i) {
    if (asked.in(i) != nullptr && asked.in(i)->spec().space != "dram") {
      return refused("attention decode",
                     cat("input ", i, " is in ", asked.in(i)->spec().space, ", expected dram"));
    }
  }
  return by("attention decode");
}

}  // namespace

Allowed on_ttnn(const Asked& asked) {
  static const std::vector<OpsRule> table = {
      {{"matmul", "gemm"}, matmul},
      {{"softmax", "log_softmax"}, softmax},
      {{"layer_norm", "rms_norm"}, norm},
      {{"transpose", "reshape", "flatten", "squeeze", "unsqueeze"}, movement},
      {{"slice", "pad"}, [](const Asked& a) { return all_interleaved(a, "slice and pad"); }},
      {{"concat"}, concat},
      {{"embedding"}, embedding},
      {{"conv", "conv_transpose", "max_pool", "average_pool"}, window},
      {{"attention"}, attention},
  };
  return by_table(asked, table, elementwise, reduction);
}

}  // namespace tessera::ops::machines

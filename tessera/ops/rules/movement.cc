// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <numeric>

#include "tessera/base/checked.h"
#include "tessera/graph/rules/slices.h"
#include "tessera/ops/rules/rules.h"

namespace tessera::ops::rules {
namespace {

void identity(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.out());
  nest.input(0, dims_at(factors));
  nest.output(0, dims_at(factors));
}

void transpose(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.in(0));
  std::vector<int> out(factors.rbegin(), factors.rend());
  if (nest.call().given("perm")) {
    for (std::size_t d = 0; d < out.size(); ++d) {
      out[d] = factors[static_cast<std::size_t>(nest.call().integers("perm")[d])];
    }
  }
  nest.input(0, dims_at(factors));
  nest.output(0, dims_at(out));
}

/// The products of the last extents: [2, 3, 4] has 24, 12, 4, 1.
std::vector<std::int64_t> boundaries(const Shape& shape) {
  std::vector<std::int64_t> products = {1};
  for (std::size_t d = shape.rank(); d-- > 0;) products.push_back(products.back() * shape[d]);
  std::ranges::reverse(products);
  return products;
}

/// The row-major position of a reshape, p, is cut into digits by a chain of boundaries, each a
/// multiple of the next. A digit is a factor of both sides if no dim of either side ends inside it.
class Regroup {
 public:
  explicit Regroup(Nest& nest)
      : nest_(nest), in_(boundaries(nest.in(0))), out_(boundaries(nest.out())) {}

  void run() {
    std::vector<DimAccess> x(nest_.in(0).rank());
    std::vector<DimAccess> y(nest_.out().rank());
    if (nest_.out().empty()) {
      add_whole(x, in_, nest_.in(0));
      add_whole(y, out_, nest_.out());
    } else {
      const std::vector<std::int64_t> chain = shared();
      for (std::size_t c = 0; c + 1 < chain.size(); ++c) {
        add_digit(x, y, chain[c], chain[c + 1]);
      }
    }
    nest_.input(0, std::move(x));
    nest_.output(0, std::move(y));
  }

 private:
  static bool comparable(std::int64_t a, std::int64_t b) { return a % b == 0 || b % a == 0; }

  /// Numbers that divide or are divided by every boundary of both sides, from the number of
  /// elements down to 1.
  std::vector<std::int64_t> shared() const {
    std::vector<std::int64_t> candidates;
    for (const std::int64_t a : in_) {
      for (const std::int64_t b : out_) {
        candidates.insert(candidates.end(), {a, b, std::gcd(a, b), saturating_lcm(a, b)});
      }
    }
    std::ranges::sort(candidates, std::greater<>());
    std::vector<std::int64_t> chain;
    for (const std::int64_t candidate : candidates) {
      const auto fits = [&](std::int64_t b) { return comparable(candidate, b); };
      if (!std::ranges::all_of(in_, fits) || !std::ranges::all_of(out_, fits)) continue;
      if (!chain.empty() && (chain.back() == candidate || chain.back() % candidate != 0)) continue;
      chain.push_back(candidate);
    }
    return chain;
  }

  /// Adds coef·factor to the dim in which the digit of `width` lies.
  static void add_term(std::vector<DimAccess>& dims, const std::vector<std::int64_t>& bounds,
                       std::int64_t width, int factor) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (bounds[d] > width && width % bounds[d + 1] == 0 && bounds[d + 1] <= width) {
        dims[d] = dims[d] + at(factor, width / bounds[d + 1]);
        return;
      }
    }
  }

  /// The digit of p below `from` and from `to` on.
  void add_digit(std::vector<DimAccess>& x, std::vector<DimAccess>& y, std::int64_t from,
                 std::int64_t to) {
    const auto inside = [&](std::int64_t b) { return to < b && b < from; };
    if (std::ranges::none_of(in_, inside) && std::ranges::none_of(out_, inside)) {
      const int factor = nest_.pass(from / to);
      add_term(x, in_, to, factor);
      add_term(y, out_, to, factor);
      return;
    }
    for (auto* side : {&in_, &out_}) {
      std::int64_t above = from;
      for (const std::int64_t bound : *side) {
        if (bound >= above || bound < to) continue;
        add_term(side == &in_ ? x : y, *side, bound, nest_.whole(above / bound));
        above = bound;
      }
      if (above != to) add_term(side == &in_ ? x : y, *side, to, nest_.whole(above / to));
    }
  }

  void add_whole(std::vector<DimAccess>& dims, const std::vector<std::int64_t>&,
                 const Shape& shape) {
    for (std::size_t d = 0; d < dims.size(); ++d) dims[d] = at(nest_.whole(shape[d]));
  }

  Nest& nest_;
  std::vector<std::int64_t> in_;
  std::vector<std::int64_t> out_;
};

void reshape(Nest& nest) { Regroup(nest).run(); }

void slice(Nest& nest) {
  const auto slices = graph::rules::read_slices(nest.call());
  assert(slices);
  const std::vector<int> factors = nest.pass_dims(nest.out());
  std::vector<DimAccess> in = dims_at(factors);
  for (const graph::rules::Slice& slice : *slices) {
    in[slice.dim] = at(factors[slice.dim], slice.step) + slice.from;
  }
  nest.input(0, std::move(in));
  nest.output(0, dims_at(factors));
}

/// The factor of the axis runs over all of the larger side; each part reads or writes its own
/// range.
void split(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.in(0));
  const std::size_t axis = axis_of(nest.call(), factors.size());
  std::int64_t from = 0;
  for (std::size_t o = 0; o < nest.call().outputs(); ++o) {
    std::vector<DimAccess> out = dims_at(factors);
    out[axis].start = -from;
    from += nest.out(o)[axis];
    nest.output(o, std::move(out));
  }
  nest.input(0, dims_at(factors));
}

void concat(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.out());
  const std::size_t axis = axis_of(nest.call(), factors.size());
  std::int64_t from = 0;
  for (std::size_t i = 0; i < nest.call().inputs(); ++i) {
    std::vector<DimAccess> in = dims_at(factors);
    in[axis].start = -from;
    from += nest.in(i)[axis];
    nest.input(i, std::move(in));
  }
  nest.output(0, dims_at(factors));
}

/// Padding with a constant reads nothing outside; the other modes read the edge or a reflection.
void pad(Nest& nest) {
  const std::vector<std::int64_t>& pads = nest.call().integers("pads");
  const std::size_t rank = nest.in(0).rank();
  const bool constant = nest.call().text("mode") == "constant";
  std::vector<DimAccess> in;
  std::vector<DimAccess> out;
  for (std::size_t d = 0; d < rank; ++d) {
    if (constant || (pads[d] <= 0 && pads[d + rank] <= 0)) {
      out.push_back(at(nest.pass(nest.out()[d])));
      in.push_back(out.back() + -pads[d]);
    } else {
      out.push_back(at(nest.whole(nest.out()[d])));
      in.push_back(at(nest.whole(nest.in(0)[d])));
    }
  }
  nest.input(0, std::move(in));
  if (nest.call().has(1)) nest.input(1, std::vector<DimAccess>(nest.in(1).rank()));
  nest.output(0, std::move(out));
}

void expand(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.out());
  nest.broadcast_input(0, factors);
  nest.output(0, dims_at(factors));
}

void tile(Nest& nest) {
  std::vector<DimAccess> in;
  std::vector<DimAccess> out;
  for (std::size_t d = 0; d < nest.in(0).rank(); ++d) {
    const int repeat = nest.pass(nest.call().integers("repeats")[d], "");
    const int x = nest.pass(nest.in(0)[d]);
    in.push_back(at(x));
    out.push_back(at(repeat, nest.in(0)[d]) + at(x));
  }
  nest.input(0, std::move(in));
  nest.output(0, std::move(out));
}

/// A dim of a table that is read where indices say: every row is an iteration, and contributes only
/// where an index chooses it, so a table may be divided by rows.
int chosen(Nest& nest, std::int64_t extent) {
  return nest.add({"row", extent, FactorKind::kReduce, Reduction::kSum, true});
}

void gather(Nest& nest) {
  const Shape& x = nest.in(0);
  const bool embedding = nest.call().op().is("embedding");
  const std::size_t axis = embedding ? 0 : axis_of(nest.call(), x.rank());
  std::vector<DimAccess> table;
  std::vector<DimAccess> indices;
  std::vector<DimAccess> out;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (d == axis) {
      table.push_back(at(chosen(nest, x[d])));
      for (const std::int64_t extent : nest.in(1).extents()) {
        indices.push_back(at(nest.pass(extent)));
        out.push_back(indices.back());
      }
    } else {
      table.push_back(at(nest.pass(x[d])));
      out.push_back(table.back());
    }
  }
  nest.input(0, std::move(table));
  nest.input(1, std::move(indices));
  nest.output(0, std::move(out));
}

void gather_elements(Nest& nest) {
  const std::vector<int> factors = nest.pass_dims(nest.out());
  const std::size_t axis = axis_of(nest.call(), factors.size());
  std::vector<DimAccess> table = dims_at(factors);
  table[axis] = at(chosen(nest, nest.in(0)[axis]));
  nest.input(0, std::move(table));
  nest.input(1, dims_at(factors));
  nest.output(0, dims_at(factors));
}

void gather_nd(Nest& nest) {
  const Shape& x = nest.in(0);
  const Shape& indices = nest.in(1);
  const auto batch = static_cast<std::size_t>(nest.call().integer("batch_dims"));
  const auto width = static_cast<std::size_t>(indices[indices.rank() - 1]);
  std::vector<DimAccess> index;
  for (std::size_t d = 0; d + 1 < indices.rank(); ++d) index.push_back(at(nest.pass(indices[d])));
  std::vector<DimAccess> table(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(batch));
  std::vector<DimAccess> out = index;
  index.push_back(at(nest.whole(static_cast<std::int64_t>(width), "coordinate")));
  for (std::size_t d = batch; d < x.rank(); ++d) {
    if (d < batch + width) {
      table.push_back(at(chosen(nest, x[d])));
    } else {
      table.push_back(at(nest.pass(x[d])));
      out.push_back(table.back());
    }
  }
  nest.input(0, std::move(table));
  nest.input(1, std::move(index));
  nest.output(0, std::move(out));
}

/// Updates go anywhere along the dims that coordinates name, in order; the dims after them pass.
void scatter_nd(Nest& nest) {
  const Shape& x = nest.in(0);
  const Shape& indices = nest.in(1);
  const auto width = static_cast<std::size_t>(indices[indices.rank() - 1]);
  std::vector<DimAccess> index;
  for (const std::int64_t extent : indices.extents()) index.push_back(at(nest.whole(extent)));
  std::vector<DimAccess> updates(index.begin(), index.end() - 1);
  std::vector<DimAccess> in;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    in.push_back(at(d < width ? nest.whole(x[d]) : nest.pass(x[d])));
    if (d >= width) updates.push_back(in.back());
  }
  nest.input(0, in);
  nest.input(1, std::move(index));
  nest.input(2, std::move(updates));
  nest.output(0, std::move(in));
}

void scatter_elements(Nest& nest) {
  const Shape& x = nest.in(0);
  const std::size_t axis = axis_of(nest.call(), x.rank());
  std::vector<DimAccess> in;
  std::vector<DimAccess> updates;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    in.push_back(at(d == axis ? nest.whole(x[d]) : nest.pass(x[d])));
    updates.push_back(d == axis ? at(nest.whole(nest.in(1)[d])) : in.back());
  }
  nest.input(0, in);
  nest.input(1, updates);
  nest.input(2, std::move(updates));
  nest.output(0, std::move(in));
}

/// [n, c, h, w] between blocks of pixels and channels: DCR has channel (row, col, c), CRD (c, row,
/// col).
void blocks(Nest& nest, bool to_space) {
  const Shape& deep = to_space ? nest.in(0) : nest.out();
  const std::int64_t block = nest.call().integer("block");
  const bool crd = to_space && nest.call().text("mode") == "CRD";
  const std::int64_t area = block * block;
  const int n = nest.pass(deep[0], "n");
  const int c = nest.pass(deep[1] / area, "c");
  const int h = nest.pass(deep[2], "h");
  const int w = nest.pass(deep[3], "w");
  const int row = nest.pass(block, "row");
  const int col = nest.pass(block, "col");
  const std::int64_t channels = deep[1] / area;
  const DimAccess channel = crd ? at(c, area) + at(row, block) + at(col)
                                : at(row, block * channels) + at(col, channels) + at(c);
  std::vector<DimAccess> in_depth = {at(n), channel, at(h), at(w)};
  std::vector<DimAccess> in_space = {at(n), at(c), at(h, block) + at(row), at(w, block) + at(col)};
  nest.input(0, to_space ? in_depth : in_space);
  nest.output(0, to_space ? std::move(in_space) : std::move(in_depth));
}
void depth_to_space(Nest& nest) { blocks(nest, true); }
void space_to_depth(Nest& nest) { blocks(nest, false); }

void reverse_sequence(Nest& nest) {
  const auto rank = static_cast<std::int64_t>(nest.in(0).rank());
  const auto dim_of = [&](std::string_view name) {
    const std::int64_t axis = nest.call().integer(name);
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  };
  const std::size_t batch = dim_of("batch_axis");
  const std::size_t time = dim_of("time_axis");
  std::vector<int> factors;
  for (std::size_t d = 0; d < nest.in(0).rank(); ++d) {
    factors.push_back(d == time ? nest.whole(nest.in(0)[d]) : nest.pass(nest.in(0)[d]));
  }
  nest.input(0, dims_at(factors));
  nest.input(1, {at(factors[batch])});
  nest.output(0, dims_at(factors));
}

}  // namespace

std::vector<Entry> movement_rules() {
  return {{"identity", identity},
          {"dropout", identity},
          {"layout_transform", identity},
          {"trilu", identity},
          {"transpose", transpose},
          {"reshape", reshape},
          {"flatten", reshape},
          {"squeeze", reshape},
          {"unsqueeze", reshape},
          {"slice", slice},
          {"split", split},
          {"concat", concat},
          {"pad", pad},
          {"expand", expand},
          {"tile", tile},
          {"gather", gather},
          {"embedding", gather},
          {"gather_elements", gather_elements},
          {"gather_nd", gather_nd},
          {"scatter_nd", scatter_nd},
          {"scatter_elements", scatter_elements},
          {"depth_to_space", depth_to_space},
          {"space_to_depth", space_to_depth},
          {"reverse_sequence", reverse_sequence}};
}

}  // namespace tessera::ops::rules

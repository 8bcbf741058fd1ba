// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/rules/rules.h"
#include "tessera/graph/rules/slices.h"

namespace tessera::graph::rules {
namespace {

/// The elements start, start + step, .. before `end`, after both are brought into the extent as
/// ONNX does: negative ones count from the end, and what lies outside is clamped. A start before
/// the first element is the first one also where NumPy finds nothing, with a negative step.
Slice clamped(std::size_t dim, std::int64_t start, std::int64_t end, std::int64_t step,
              std::int64_t extent) {
  if (extent == 0) return {dim, 0, step, 0};
  const auto settle = [&](std::int64_t at, std::int64_t low) {
    const std::int64_t from_start = at < 0 ? (Checked(at) + extent).raw() : at;
    return std::clamp(from_start, low, step > 0 ? extent : extent - 1);
  };
  const std::int64_t from = settle(start, 0);
  const std::int64_t to = settle(end, step > 0 ? 0 : -1);
  Slice slice{dim, from, step, 0};
  if (step > 0 && from < to) slice.count = (to - from - 1) / step + 1;
  // The quotient of two negative numbers; INT64_MIN has no positive counterpart.
  if (step < 0 && from > to) slice.count = (to - from + 1) / step + 1;
  return slice;
}

}  // namespace

Result<std::vector<Slice>> read_slices(const Call& call) {
  const std::vector<std::int64_t>& starts = call.integers("starts");
  const std::vector<std::int64_t>& ends = call.integers("ends");
  const std::size_t rank = call.shape(0).rank();
  std::vector<std::int64_t> axes = call.integers("axes");
  if (!call.given("axes")) {
    for (std::size_t d = 0; d < starts.size(); ++d) axes.push_back(static_cast<std::int64_t>(d));
  }
  std::vector<std::int64_t> steps = call.integers("steps");
  if (!call.given("steps")) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    return bad(cat("starts, ends, axes and steps have ", starts.size(), ", ", ends.size(), ", ",
                   axes.size(), " and ", steps.size(), " numbers"),
               "one number for each axis");
  }
  TESSERA_CHECK_OK(dims_of(axes, rank));
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    TESSERA_TRY(const std::size_t dim, dim_of(axes[i], rank));
    if (steps[i] == 0) return bad("a step of 0", "a step is not 0");
    slices.push_back(clamped(dim, starts[i], ends[i], steps[i], call.shape(0)[dim]));
  }
  return slices;
}

namespace {

Result<Types> transpose(const Call& call) {
  const Shape& x = call.shape(0);
  std::vector<std::int64_t> extents(x.extents().rbegin(), x.extents().rend());
  if (call.given("perm")) {
    const std::vector<std::int64_t>& perm = call.integers("perm");
    if (perm.size() != x.rank()) {
      return bad(
          cat("attribute perm has ", perm.size(), " numbers for ", call.type(0).to_string()));
    }
    TESSERA_CHECK_OK(dims_of(perm, x.rank()));
    for (std::size_t d = 0; d < perm.size(); ++d) {
      if (perm[d] < 0) return bad(cat("attribute perm has ", perm[d]), "dims count from 0");
      extents[d] = x[static_cast<std::size_t>(perm[d])];
    }
  }
  return one(std::move(extents), call.dtype(0));
}

Result<Types> reshape(const Call& call) {
  TESSERA_TRY(Types types, one(call.integers("shape"), call.dtype(0)));
  if (types[0].shape.elements() == call.shape(0).elements()) return types;
  return disagree(call.type(0), types[0],
                  cat(call.shape(0).elements(), " elements do not fit ", types[0].shape.elements()),
                  "attribute shape has all extents, and as many elements as the input");
}

Result<Types> flatten(const Call& call) {
  const Shape& x = call.shape(0);
  std::int64_t axis = call.integer("axis");
  const auto rank = static_cast<std::int64_t>(x.rank());
  if (axis < -rank || axis > rank) {
    return bad(cat("axis ", axis, " of a tensor of rank ", rank),
               cat("from ", -rank, " to ", rank));
  }
  if (axis < 0) axis += rank;
  std::vector<std::int64_t> extents = {1, 1};
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const std::size_t side = static_cast<std::int64_t>(d) < axis ? 0 : 1;
    TESSERA_TRY(extents[side], (Checked(extents[side]) * x[d]).value("an extent"));
  }
  return one(std::move(extents), call.dtype(0));
}

Result<Types> squeeze(const Call& call) {
  const Shape& x = call.shape(0);
  std::vector<bool> dropped(x.rank());
  for (std::size_t d = 0; d < x.rank(); ++d) dropped[d] = x[d] == 1;
  if (call.given("axes")) {
    TESSERA_TRY(dropped, dims_of(call.integers("axes"), x.rank()));
  }
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (!dropped[d]) extents.push_back(x[d]);
    if (dropped[d] && x[d] != 1) {
      return bad(cat("axis ", d, " of ", call.type(0).to_string(), " has extent ", x[d]),
                 "only dims of extent 1 can be dropped");
    }
  }
  return one(std::move(extents), call.dtype(0));
}

Result<Types> unsqueeze(const Call& call) {
  const std::vector<std::int64_t>& axes = call.integers("axes");
  const std::size_t rank = call.shape(0).rank() + axes.size();
  if (rank > kMaxRank) {
    return Error{ErrorCode::kRankTooLarge, cat("a tensor of rank ", rank), std::nullopt,
                 cat("at most ", kMaxRank)};
  }
  TESSERA_TRY(const std::vector<bool> added, dims_of(axes, rank));
  std::vector<std::int64_t> extents;
  std::size_t next = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    extents.push_back(added[d] ? 1 : call.shape(0)[next++]);
  }
  return one(std::move(extents), call.dtype(0));
}

Result<Types> slice(const Call& call) {
  TESSERA_TRY(const std::vector<Slice> slices, read_slices(call));
  std::vector<std::int64_t> extents = call.shape(0).extents();
  for (const Slice& slice : slices) extents[slice.dim] = slice.count;
  return one(std::move(extents), call.dtype(0));
}

Result<Types> split(const Call& call) {
  TESSERA_TRY(const std::size_t dim, dim_of(call.integer("axis"), call.shape(0).rank()));
  const std::vector<std::int64_t>& sizes = call.integers("sizes");
  if (sizes.size() != call.outputs()) {
    return bad(cat(sizes.size(), " sizes for ", call.outputs(), " outputs"), "one size per output");
  }
  Types types;
  Checked sum(0);
  std::vector<std::int64_t> extents = call.shape(0).extents();
  for (const std::int64_t size : sizes) {
    extents[dim] = size;
    sum += size;
    TESSERA_TRY(Shape shape, Shape::make(extents));
    types.push_back({std::move(shape), call.dtype(0)});
  }
  if (sum.saturated() != call.shape(0)[dim]) {
    return bad(cat("sizes ", bracketed(sizes), " do not add up to extent ", call.shape(0)[dim],
                   " of axis ", dim));
  }
  return types;
}

Result<Types> concat(const Call& call) {
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(const std::size_t dim, dim_of(call.integer("axis"), call.shape(0).rank()));
  std::vector<std::int64_t> extents = call.shape(0).extents();
  Checked sum(0);
  for (std::size_t i = 0; i < call.inputs(); ++i) {
    const Shape& shape = call.shape(i);
    bool fits = shape.rank() == extents.size();
    for (std::size_t d = 0; fits && d < extents.size(); ++d) {
      fits = d == dim || shape[d] == call.shape(0)[d];
    }
    if (!fits) {
      return disagree(call.type(0), call.type(i),
                      cat("inputs may differ along axis ", dim, " only"));
    }
    sum += shape[dim];
  }
  TESSERA_TRY(extents[dim], sum.value("the extent of the result"));
  return one(std::move(extents), call.dtype(0));
}

/// `pads` has what is added before each dim, then what is added after; negative numbers crop.
Result<Types> pad(const Call& call) {
  const std::vector<std::int64_t>& pads = call.integers("pads");
  const Shape& x = call.shape(0);
  if (pads.size() != 2 * x.rank()) {
    return bad(cat("attribute pads has ", pads.size(), " numbers for ", call.type(0).to_string()),
               "two for each dim: all before, then all after");
  }
  const std::string_view mode = call.text("mode");
  if (mode != "constant" && mode != "edge" && mode != "reflect") {
    return bad("attribute mode is none of constant, edge, reflect");
  }
  if (call.has(1) && (call.shape(1).elements() != 1 || call.dtype(1) != call.dtype(0))) {
    return disagree(call.type(0), call.type(1), "the padding is one element of the input's type");
  }
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    const std::int64_t before = pads[d];
    const std::int64_t after = pads[d + x.rank()];
    TESSERA_TRY(const std::int64_t extent,
                (Checked(x[d]) + before + after).value("a padded extent"));
    if (extent < 0) {
      return bad(cat("pads ", before, " and ", after, " leave extent ", extent, " of dim ", d));
    }
    const bool grows = before > 0 || after > 0;
    if (mode == "edge" && grows && x[d] == 0) return bad(cat("dim ", d, " has no edge to repeat"));
    if (mode == "reflect" && std::max(before, after) >= std::max<std::int64_t>(x[d], 1)) {
      return bad(cat("pads ", before, " and ", after, " reflect past the other end of dim ", d),
                 "a reflection is smaller than the extent");
    }
    extents.push_back(extent);
  }
  return one(std::move(extents), call.dtype(0));
}

Result<Types> expand(const Call& call) {
  TESSERA_TRY(const Types target, one(call.integers("shape"), call.dtype(0)));
  TESSERA_TRY(Shape shape, broadcast(call.type(0), target[0]));
  return one(std::move(shape), call.dtype(0));
}

Result<Types> tile(const Call& call) {
  const std::vector<std::int64_t>& repeats = call.integers("repeats");
  if (repeats.size() != call.shape(0).rank()) {
    return bad(cat(repeats.size(), " repeats for ", call.type(0).to_string()), "one for each dim");
  }
  std::vector<std::int64_t> extents;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) return bad(cat("attribute repeats has ", repeats[d]), "at least 0");
    TESSERA_TRY(const std::int64_t extent,
                (Checked(repeats[d]) * call.shape(0)[d]).value("an extent"));
    extents.push_back(extent);
  }
  return one(std::move(extents), call.dtype(0));
}

Result<Types> gather(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 1, Accepts::kIntegers));
  const Shape& x = call.shape(0);
  TESSERA_TRY(const std::size_t dim, dim_of(call.integer("axis"), x.rank()));
  std::vector<std::int64_t> extents(x.extents().begin(),
                                    x.extents().begin() + static_cast<std::ptrdiff_t>(dim));
  const std::vector<std::int64_t>& indices = call.shape(1).extents();
  extents.insert(extents.end(), indices.begin(), indices.end());
  extents.insert(extents.end(), x.extents().begin() + static_cast<std::ptrdiff_t>(dim) + 1,
                 x.extents().end());
  return one(std::move(extents), call.dtype(0));
}

/// embedding(table[V, D], ids[..]) is [.., D].
Result<Types> embedding(const Call& call) {
  if (call.shape(0).rank() != 2) return bad(cat("the table is ", call.type(0).to_string()));
  TESSERA_CHECK_OK(accept_dtype(call, 1, Accepts::kIntegers));
  std::vector<std::int64_t> extents = call.shape(1).extents();
  extents.push_back(call.shape(0)[1]);
  return one(std::move(extents), call.dtype(0));
}

/// An index chooses along the axis only; along the other dims it keeps its own position, so the
/// table must reach as far as the indices.
Status check_other_dims(const Call& call) {
  const Shape& table = call.shape(0);
  const Shape& indices = call.shape(1);
  if (indices.rank() != table.rank()) {
    return disagree(call.type(0), call.type(1), "ranks differ");
  }
  TESSERA_TRY(const std::size_t axis, dim_of(call.integer("axis"), table.rank()));
  for (std::size_t d = 0; d < table.rank(); ++d) {
    if (d == axis || indices[d] <= table[d]) continue;
    return disagree(call.type(0), call.type(1),
                    cat("there are indices for ", indices[d], " positions of dim ", d,
                        ", which has ", table[d]));
  }
  return ok_status();
}

Result<Types> gather_elements(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 1, Accepts::kIntegers));
  TESSERA_CHECK_OK(check_other_dims(call));
  return one(call.shape(1), call.dtype(0));
}

/// The last dim of the indices holds coordinates of the dims of x after the batch dims.
Result<Types> gather_nd(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 1, Accepts::kIntegers));
  const Shape& x = call.shape(0);
  const Shape& indices = call.shape(1);
  const std::int64_t batch = call.integer("batch_dims");
  const auto least = static_cast<std::int64_t>(std::min(x.rank(), indices.rank()));
  if (batch < 0 || batch >= least) {
    return bad(cat("batch_dims ", batch, " of ", x.to_string(), " and ", indices.to_string()));
  }
  const auto first = static_cast<std::size_t>(batch);
  for (std::size_t d = 0; d < first; ++d) {
    if (x[d] != indices[d]) return disagree(call.type(0), call.type(1), "batch dims differ");
  }
  const std::int64_t width = indices[indices.rank() - 1];
  if (width < 1 || width > static_cast<std::int64_t>(x.rank() - first)) {
    return disagree(call.type(0), call.type(1), cat("coordinates of ", width, " numbers"));
  }
  std::vector<std::int64_t> extents(indices.extents().begin(), indices.extents().end() - 1);
  extents.insert(extents.end(), x.extents().begin() + batch + width, x.extents().end());
  return one(std::move(extents), call.dtype(0));
}

Status check_reduction(const Call& call) {
  const std::string_view reduction = call.text("reduction");
  if (reduction == "none" || reduction == "add" || reduction == "mul") return ok_status();
  return bad("attribute reduction is none of none, add, mul");
}

Result<Types> scatter_nd(const Call& call) {
  TESSERA_CHECK_OK(check_reduction(call));
  TESSERA_CHECK_OK(accept_dtype(call, 1, Accepts::kIntegers));
  const Shape& x = call.shape(0);
  const Shape& indices = call.shape(1);
  if (indices.rank() == 0 || x.rank() == 0) {
    return disagree(call.type(0), call.type(1), "neither may have rank 0");
  }
  const std::int64_t width = indices[indices.rank() - 1];
  if (width > static_cast<std::int64_t>(x.rank())) {
    return disagree(call.type(0), call.type(1), cat("coordinates of ", width, " numbers"));
  }
  std::vector<std::int64_t> wanted(indices.extents().begin(), indices.extents().end() - 1);
  wanted.insert(wanted.end(), x.extents().begin() + width, x.extents().end());
  if (call.shape(2).extents() != wanted) {
    return disagree(call.type(1), call.type(2), cat("updates are expected as ", bracketed(wanted)));
  }
  if (call.dtype(2) != call.dtype(0)) {
    return Error{ErrorCode::kBadDType,
                 cat("updates are ", call.type(2).to_string(), " for ", call.type(0).to_string())};
  }
  return like_first(call);
}

Result<Types> scatter_elements(const Call& call) {
  TESSERA_CHECK_OK(check_reduction(call));
  TESSERA_CHECK_OK(accept_dtype(call, 1, Accepts::kIntegers));
  if (!(call.shape(1) == call.shape(2))) {
    return disagree(call.type(1), call.type(2), "indices and updates have one shape");
  }
  TESSERA_CHECK_OK(check_other_dims(call));
  return like_first(call);
}

Result<Types> blocks(const Call& call, bool to_space) {
  const Shape& x = call.shape(0);
  const std::int64_t block = call.integer("block");
  if (x.rank() != 4) return bad(cat("the input is ", call.type(0).to_string()), "[N, C, H, W]");
  if (block < 1) return bad(cat("block is ", block), "at least 1");
  TESSERA_TRY(const std::int64_t area, (Checked(block) * block).value("a block"));
  if (to_space) {
    if (x[1] % area != 0) return bad(cat(x[1], " channels are not whole blocks of ", area));
    TESSERA_TRY(const std::int64_t rows, (Checked(x[2]) * block).value("an extent"));
    TESSERA_TRY(const std::int64_t cols, (Checked(x[3]) * block).value("an extent"));
    return one({x[0], x[1] / area, rows, cols}, call.dtype(0));
  }
  if (x[2] % block != 0 || x[3] % block != 0) {
    return bad(cat(call.type(0).to_string(), " is not made of whole blocks of ", block));
  }
  TESSERA_TRY(const std::int64_t channels, (Checked(x[1]) * area).value("an extent"));
  return one({x[0], channels, x[2] / block, x[3] / block}, call.dtype(0));
}

Result<Types> depth_to_space(const Call& call) {
  const std::string_view mode = call.text("mode");
  if (mode != "DCR" && mode != "CRD") return bad("attribute mode is neither DCR nor CRD");
  return blocks(call, true);
}
Result<Types> space_to_depth(const Call& call) { return blocks(call, false); }

Result<Types> trilu(const Call& call) {
  if (call.shape(0).rank() >= 2) return like_first(call);
  return bad(cat("the input is ", call.type(0).to_string()), "at least rank 2");
}

Result<Types> reverse_sequence(const Call& call) {
  const Shape& x = call.shape(0);
  TESSERA_TRY(const std::size_t batch, dim_of(call.integer("batch_axis"), x.rank(), "batch_axis"));
  TESSERA_TRY(const std::size_t time, dim_of(call.integer("time_axis"), x.rank(), "time_axis"));
  if (batch == time) return bad("batch_axis and time_axis are the same");
  if (call.shape(1).extents() != std::vector{x[batch]}) {
    return disagree(call.type(0), call.type(1), "one length for each sequence");
  }
  return like_first(call);
}

}  // namespace

std::vector<OpRule> movement_ops() {
  constexpr Arity kOne{1, 1};
  constexpr Arity kTwo{2, 2};
  constexpr Arity kThree{3, 3};
  constexpr Family kFamily = Family::kMovement;
  constexpr AttributeKind kList = AttributeKind::kIntegers;
  std::vector<OpRule> ops;
  const auto add = [&](std::string_view name, Arity inputs, Arity outputs,
                       std::vector<AttributeRule> attributes, Result<Types> (*infer)(const Call&),
                       bool is_view = false) {
    ops.push_back(
        {name, kFamily, inputs, outputs, std::move(attributes), infer, nullptr, 0, is_view});
  };
  add("identity", kOne, kOne, {}, like_first, true);
  add("dropout", kOne, kOne, {real("ratio", 0.5)}, like_first, true);
  add("reshape", kOne, kOne, {required("shape", kList)}, reshape, true);
  add("flatten", kOne, kOne, {integer("axis", 1)}, flatten, true);
  add("squeeze", kOne, kOne, {optional("axes", kList)}, squeeze, true);
  add("unsqueeze", kOne, kOne, {required("axes", kList)}, unsqueeze, true);
  add("transpose", kOne, kOne, {optional("perm", kList)}, transpose);
  add("slice", kOne, kOne,
      {required("starts", kList), required("ends", kList), optional("axes", kList),
       optional("steps", kList)},
      slice);
  add("split", kOne, {1, kAnyNumber}, {integer("axis", 0), required("sizes", kList)}, split);
  add("concat", {1, kAnyNumber}, kOne, {required("axis", AttributeKind::kInteger)}, concat);
  add("pad", {1, 2}, kOne, {required("pads", kList), text("mode", "constant")}, pad);
  add("expand", kOne, kOne, {required("shape", kList)}, expand);
  add("tile", kOne, kOne, {required("repeats", kList)}, tile);
  add("gather", kTwo, kOne, {integer("axis", 0)}, gather);
  add("gather_elements", kTwo, kOne, {integer("axis", 0)}, gather_elements);
  add("gather_nd", kTwo, kOne, {integer("batch_dims", 0)}, gather_nd);
  add("scatter_nd", kThree, kOne, {text("reduction", "none")}, scatter_nd);
  add("scatter_elements", kThree, kOne, {integer("axis", 0), text("reduction", "none")},
      scatter_elements);
  add("embedding", kTwo, kOne, {}, embedding);
  add("depth_to_space", kOne, kOne,
      {required("block", AttributeKind::kInteger), text("mode", "DCR")}, depth_to_space);
  add("space_to_depth", kOne, kOne, {required("block", AttributeKind::kInteger)}, space_to_depth);
  add("trilu", kOne, kOne, {integer("upper", 1), integer("k", 0)}, trilu);
  add("reverse_sequence", kTwo, kOne, {integer("batch_axis", 1), integer("time_axis", 0)},
      reverse_sequence);
  add("layout_transform", kOne, kOne, {text("layout", "")}, like_first);
  return ops;
}

}  // namespace tessera::graph::rules

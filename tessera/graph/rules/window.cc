// SPDX-License-Identifier: Apache-2.0
#include "tessera/graph/rules/window.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/rules/rules.h"

namespace tessera::graph::rules {

Result<std::vector<std::int64_t>> spatial_list(const Call& call, std::string_view name,
                                               std::size_t count, std::int64_t otherwise,
                                               std::int64_t least) {
  if (!call.given(name)) return std::vector<std::int64_t>(count, otherwise);
  const std::vector<std::int64_t>& list = call.integers(name);
  if (list.size() != count) {
    return bad(cat("attribute ", name, " has ", list.size(), " numbers, expected ", count));
  }
  for (const std::int64_t number : list) {
    if (number < least)
      return bad(cat("attribute ", name, " has ", number), cat("at least ", least));
  }
  return list;
}

Result<Window> read_window(const Call& call, std::vector<std::int64_t> kernel) {
  const std::size_t dims = kernel.size();
  Window window;
  window.kernel = std::move(kernel);
  for (const std::int64_t extent : window.kernel) {
    if (extent < 1) return bad(cat("a kernel of extent ", extent), "at least 1");
  }
  TESSERA_TRY(window.strides, spatial_list(call, "strides", dims, 1, 1));
  TESSERA_TRY(window.dilations, spatial_list(call, "dilations", dims, 1, 1));
  TESSERA_TRY(const std::vector<std::int64_t> pads, spatial_list(call, "pads", 2 * dims, 0, 0));
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(dims);
  window.before.assign(pads.begin(), middle);
  window.after.assign(middle, pads.end());
  return window;
}

std::vector<std::int64_t> spatial_extents(const Shape& shape) {
  return {shape.extents().begin() + 2, shape.extents().end()};
}

namespace {

constexpr std::size_t kMaxSpatialRank = 3;

Result<std::size_t> spatial_rank(const Call& call) {
  const std::size_t rank = call.shape(0).rank();
  if (rank >= 3 && rank <= 2 + kMaxSpatialRank) return rank - 2;
  return bad(cat("the input is ", call.type(0).to_string()),
             "batch, channels and one to three spatial dims");
}

/// Positions of a window along spatial dim d of extent `extent`:
/// (extent + padding - dilation·(kernel - 1) - 1) / stride + 1, rounded down, or up with `ceil`.
Result<std::int64_t> positions(const Window& window, std::size_t d, std::int64_t extent,
                               bool ceil = false) {
  const Checked reach = Checked(window.dilations[d]) * (window.kernel[d] - 1) + 1;
  const Checked padded = Checked(extent) + window.before[d] + window.after[d];
  TESSERA_TRY(const std::int64_t room, (padded - reach).value("the padded extent"));
  if (room < 0) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("a window that reaches over ", reach.raw(), " elements is larger than the ",
                     padded.raw(), " elements of spatial dim ", d, " with its padding"),
                 std::nullopt, "make the kernel smaller or the padding larger"};
  }
  if (!ceil) return room / window.strides[d] + 1;
  const std::int64_t count = ceil_div(room, window.strides[d]) + 1;
  // A last window that would begin in the padding after the data does not count.
  const bool outside = (count - 1) * window.strides[d] >= extent + window.before[d];
  return outside ? count - 1 : count;
}

Status check_bias(const Call& call, std::int64_t channels) {
  if (!call.has(2) || call.shape(2).extents() == std::vector{channels}) return ok_status();
  return disagree(call.type(1), call.type(2),
                  cat("a bias has one element for each of ", channels, " output channels"));
}

/// How many dims a convolution slides over: numbers of one type, an input and kernels of one rank,
/// and at least one group of channels.
Result<std::size_t> dims_of_conv(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_CHECK_OK(same_dtype(call));
  TESSERA_TRY(const std::size_t dims, spatial_rank(call));
  if (call.type(1).shape.rank() != dims + 2) {
    return disagree(call.type(0), call.type(1), "ranks differ");
  }
  const std::int64_t groups = call.integer("groups");
  if (groups < 1) return bad(cat("groups is ", groups), "at least 1");
  return dims;
}

/// x[N, C, ..], w[M, C / groups, ..], bias[M].
Result<Types> conv(const Call& call) {
  TESSERA_TRY(const std::size_t dims, dims_of_conv(call));
  const TensorType& x = call.type(0);
  const TensorType& w = call.type(1);
  const std::int64_t groups = call.integer("groups");
  if ((Checked(w.shape[1]) * groups).saturated() != x.shape[1] || w.shape[0] % groups != 0) {
    return disagree(x, w,
                    cat(x.shape[1], " channels in ", groups, " groups do not fit kernels of ",
                        w.shape[1], " channels and ", w.shape[0], " outputs"),
                    "weights are [outputs, channels / groups, ..]");
  }
  TESSERA_CHECK_OK(check_bias(call, w.shape[0]));
  TESSERA_TRY(const Window window, read_window(call, spatial_extents(w.shape)));
  std::vector<std::int64_t> extents = {x.shape[0], w.shape[0]};
  for (std::size_t d = 0; d < dims; ++d) {
    TESSERA_TRY(const std::int64_t count, positions(window, d, x.shape[d + 2]));
    extents.push_back(count);
  }
  return one(std::move(extents), x.dtype);
}

std::int64_t conv_flops(const Call& call, const Types& outputs) {
  const Shape& w = call.shape(1);
  const std::int64_t outputs_each = std::max<std::int64_t>(w[0], 1);
  const std::int64_t sums = call.has(2) ? 1 : 0;
  const Checked each = Checked(2) * (w.elements() / outputs_each) + sums;
  return product({outputs[0].shape.elements(), each.saturated()});
}

/// x[N, C, ..], w[C, M / groups, ..], bias[M]:
/// stride·(extent - 1) + output_padding + dilation·(kernel - 1) + 1 - padding.
Result<Types> conv_transpose(const Call& call) {
  TESSERA_TRY(const std::size_t dims, dims_of_conv(call));
  const TensorType& x = call.type(0);
  const TensorType& w = call.type(1);
  const std::int64_t groups = call.integer("groups");
  if (w.shape[0] != x.shape[1] || x.shape[1] % groups != 0) {
    return disagree(x, w, cat(x.shape[1], " channels in ", groups, " groups"),
                    "weights are [channels, outputs / groups, ..]");
  }
  TESSERA_TRY(const std::int64_t channels, (Checked(w.shape[1]) * groups).value("channels"));
  TESSERA_CHECK_OK(check_bias(call, channels));
  TESSERA_TRY(const Window window, read_window(call, spatial_extents(w.shape)));
  TESSERA_TRY(const std::vector<std::int64_t> extra,
              spatial_list(call, "output_padding", dims, 0, 0));
  std::vector<std::int64_t> extents = {x.shape[0], channels};
  for (std::size_t d = 0; d < dims; ++d) {
    const Checked reach = Checked(window.dilations[d]) * (window.kernel[d] - 1) + 1;
    const Checked all = Checked(window.strides[d]) * (Checked(x.shape[d + 2]) - 1) + extra[d] +
                        reach - window.before[d] - window.after[d];
    TESSERA_TRY(const std::int64_t extent, all.value("an output extent"));
    if (extent < 0) {
      return disagree(x, w, cat("spatial dim ", d, " of the output has extent ", extent),
                      "use less padding");
    }
    extents.push_back(extent);
  }
  return one(std::move(extents), x.dtype);
}

std::int64_t conv_transpose_flops(const Call& call, const Types& outputs) {
  const Shape& w = call.shape(1);
  const std::int64_t each = w.elements() / std::max<std::int64_t>(w[0], 1);
  const Checked sums(call.has(2) ? outputs[0].shape.elements() : 0);
  return (Checked(product({2, call.shape(0).elements(), each})) + sums).saturated();
}

Result<Types> pool(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_TRY(const std::size_t dims, spatial_rank(call));
  TESSERA_TRY(std::vector<std::int64_t> kernel, spatial_list(call, "kernel", dims, 1, 1));
  TESSERA_TRY(const Window window, read_window(call, std::move(kernel)));
  const Shape& x = call.shape(0);
  std::vector<std::int64_t> extents = {x[0], x[1]};
  for (std::size_t d = 0; d < dims; ++d) {
    TESSERA_TRY(const std::int64_t count,
                positions(window, d, x[d + 2], call.integer("ceil") != 0));
    extents.push_back(count);
  }
  TESSERA_TRY(Types types, one(std::move(extents), call.dtype(0)));
  if (call.outputs() == 2) types.push_back({types[0].shape, DType::kI64});
  return types;
}

std::int64_t pool_flops(const Call& call, const Types& outputs) {
  Checked each(outputs[0].shape.elements());
  for (const std::int64_t extent : call.integers("kernel")) each *= extent;
  return each.saturated();
}

Result<Types> global_pool(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  TESSERA_CHECK_OK(spatial_rank(call));
  std::vector<std::int64_t> extents = call.shape(0).extents();
  std::fill(extents.begin() + 2, extents.end(), 1);
  return one(std::move(extents), call.dtype(0));
}

/// `shape` is the output's; `scales`, where given, replace the quotient of extents when positions
/// are computed. With tf_crop_and_resize, `roi` has the starts and then the ends of the region.
Result<Types> resize(const Call& call) {
  TESSERA_CHECK_OK(accept_dtype(call, 0, Accepts::kNumbers));
  const std::vector<std::int64_t>& shape = call.integers("shape");
  const std::size_t rank = call.shape(0).rank();
  if (shape.size() != rank) {
    return bad(
        cat("attribute shape has ", shape.size(), " extents for ", call.type(0).to_string()));
  }
  if (call.given("scales") && call.reals("scales").size() != rank) {
    return bad(
        cat("attribute scales has ", call.reals("scales").size(), " numbers, expected ", rank));
  }
  if (call.given("roi") && call.reals("roi").size() != 2 * rank) {
    return bad(
        cat("attribute roi has ", call.reals("roi").size(), " numbers, expected ", 2 * rank));
  }
  const std::string_view mode = call.text("mode");
  if (mode != "nearest" && mode != "linear" && mode != "cubic") {
    return bad("attribute mode is none of nearest, linear, cubic");
  }
  return one(shape, call.dtype(0));
}

std::int64_t resize_flops(const Call& call, const Types& outputs) {
  if (call.text("mode") == "nearest") return 0;
  const std::int64_t taps = call.text("mode") == "linear" ? 2 : 4;
  Checked each(2);
  for (std::size_t d = 0; d < call.shape(0).rank(); ++d) {
    if (call.shape(0)[d] != outputs[0].shape[d]) each *= taps;
  }
  return product({outputs[0].shape.elements(), each.saturated()});
}

}  // namespace

std::vector<OpRule> window_ops() {
  constexpr Arity kOne{1, 1};
  constexpr Family kFamily = Family::kWindow;
  constexpr AttributeKind kList = AttributeKind::kIntegers;
  const AttributeRule strides = optional("strides", kList);
  const AttributeRule dilations = optional("dilations", kList);
  const AttributeRule pads = optional("pads", kList);
  const AttributeRule groups = integer("groups", 1);
  const AttributeRule kernel = required("kernel", kList);
  const AttributeRule ceil = integer("ceil", 0);
  return {
      {"conv", kFamily, {2, 3}, kOne, {strides, dilations, pads, groups}, conv, conv_flops},
      {"conv_transpose",
       kFamily,
       {2, 3},
       kOne,
       {strides, dilations, pads, groups, optional("output_padding", kList)},
       conv_transpose,
       conv_transpose_flops},
      {"max_pool",
       kFamily,
       kOne,
       {1, 2},
       {kernel, strides, dilations, pads, ceil, integer("column_major", 0)},
       pool,
       pool_flops},
      {"average_pool",
       kFamily,
       kOne,
       kOne,
       {kernel, strides, dilations, pads, ceil, integer("count_include_pad", 0)},
       pool,
       pool_flops},
      {"global_max_pool", kFamily, kOne, kOne, {}, global_pool, per_input_element<1>},
      {"global_average_pool", kFamily, kOne, kOne, {}, global_pool, per_input_element<1>},
      {"resize",
       kFamily,
       kOne,
       kOne,
       {required("shape", kList), optional("scales", AttributeKind::kReals),
        optional("roi", AttributeKind::kReals), text("mode", "nearest"),
        text("coordinates", "half_pixel"), text("nearest_mode", "round_prefer_floor"),
        real("cubic_coeff_a", -0.75), integer("exclude_outside", 0), real("extrapolation", 0.0)},
       resize,
       resize_flops},
  };
}

}  // namespace tessera::graph::rules

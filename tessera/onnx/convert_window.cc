// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/same_ops.h"

namespace tessera::onnx_import {
namespace {

using graph::Attributes;
using Ints = std::vector<std::int64_t>;

Ints or_ones(const Ints& list, std::size_t count) { return list.empty() ? Ints(count, 1) : list; }

/// Padding in total along each dim, split as auto_pad says: the odd element after the data for
/// SAME_UPPER, before them for SAME_LOWER.
Ints divided(const Ints& totals, bool lower) {
  Ints pads;
  for (const std::int64_t total : totals) pads.push_back(lower ? total - total / 2 : total / 2);
  for (const std::int64_t total : totals) pads.push_back(lower ? total / 2 : total - total / 2);
  return pads;
}

/// The explicit pads of a window. SAME gives ceil(extent / stride) positions.
Result<Ints> explicit_pads(const NodeView& node, const Ints& kernel, const Ints& strides,
                           const Ints& dilations) {
  const std::string rule = node.text("auto_pad", "NOTSET");
  const std::size_t dims = kernel.size();
  if (rule == "VALID") return Ints(2 * dims, 0);
  if (rule != "SAME_UPPER" && rule != "SAME_LOWER") {
    const Ints pads = node.integer_list("pads");
    return pads.empty() ? Ints(2 * dims, 0) : pads;
  }
  if (node.shape(0).rank() != dims + 2 || strides.size() != dims || dilations.size() != dims) {
    return not_supported("lists of different lengths");
  }
  Ints totals;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t extent = node.shape(0)[d + 2];
    if (strides[d] < 1 || kernel[d] < 1) return not_supported("a stride or kernel below 1");
    const std::int64_t positions = ceil_div(extent, strides[d]);
    const Checked reach = Checked(dilations[d]) * (kernel[d] - 1) + 1;
    const Checked total = Checked(positions - 1) * strides[d] + reach - extent;
    TESSERA_TRY(const std::int64_t padding, total.value("the padding"));
    totals.push_back(std::max<std::int64_t>(padding, 0));
  }
  return divided(totals, rule == "SAME_LOWER");
}

/// What follows from auto_pad and from lists that are left out.
void set_window(Attributes& attributes, const Ints& strides, const Ints& dilations,
                const Ints& pads) {
  attributes.set("strides", strides);
  attributes.set("dilations", dilations);
  attributes.set("pads", pads);
}

Ints spatial(const Shape& shape) {
  if (shape.rank() < 2) return {};
  return {shape.extents().begin() + 2, shape.extents().end()};
}

Status conv(NodeView& node) {
  const Ints kernel = spatial(node.shape(1));
  if (node.given("kernel_shape") && node.integer_list("kernel_shape") != kernel) {
    return not_supported(cat("kernel_shape ", bracketed(node.integer_list("kernel_shape")),
                             " of weights ", node.input_type(1).to_string()));
  }
  const Ints strides = or_ones(node.integer_list("strides"), kernel.size());
  const Ints dilations = or_ones(node.integer_list("dilations"), kernel.size());
  TESSERA_TRY(const Ints pads, explicit_pads(node, kernel, strides, dilations));
  Attributes attributes = node.same_attributes("conv");
  set_window(attributes, strides, dilations, pads);
  TESSERA_CHECK_OK(node.emit("conv", node.all_inputs(), std::move(attributes), 0));
  return ok_status();
}

/// output_shape and SAME decide the padding: what the whole result has too many.
Status conv_transpose(NodeView& node) {
  const Ints kernel = spatial(node.shape(1));
  const std::size_t dims = kernel.size();
  const Ints strides = or_ones(node.integer_list("strides"), dims);
  const Ints dilations = or_ones(node.integer_list("dilations"), dims);
  Ints extra = node.integer_list("output_padding");
  if (extra.empty()) extra.assign(dims, 0);
  Ints wanted = node.integer_list("output_shape");
  const std::string rule = node.text("auto_pad", "NOTSET");
  const bool same = rule == "SAME_UPPER" || rule == "SAME_LOWER";
  if (node.shape(0).rank() != dims + 2 || strides.size() != dims || dilations.size() != dims ||
      extra.size() != dims || (!wanted.empty() && wanted.size() != dims)) {
    return not_supported("lists of different lengths");
  }
  if (wanted.empty() && same) {
    for (std::size_t d = 0; d < dims; ++d) {
      TESSERA_TRY(const std::int64_t extent,
                  (Checked(node.shape(0)[d + 2]) * strides[d]).value("an extent"));
      wanted.push_back(extent);
    }
  }
  Ints pads = node.integer_list("pads");
  if (pads.empty() || rule == "VALID") pads.assign(2 * dims, 0);
  if (!wanted.empty()) {
    Ints totals;
    for (std::size_t d = 0; d < dims; ++d) {
      const Checked whole = Checked(strides[d]) * (Checked(node.shape(0)[d + 2]) - 1) + extra[d] +
                            Checked(dilations[d]) * (kernel[d] - 1) + 1;
      TESSERA_TRY(std::int64_t total, (whole - wanted[d]).value("the padding"));
      if (total < 0) {  // the result is larger than all that is computed: zeros behind it
        extra[d] -= total;
        total = 0;
      }
      totals.push_back(total);
    }
    // ONNX's formula: total / 2 before the data unless auto_pad is SAME_UPPER.
    pads = divided(totals, rule != "SAME_UPPER");
    if (rule != "SAME_UPPER" && rule != "SAME_LOWER") pads = divided(totals, false);
  }
  Attributes attributes = node.same_attributes("conv_transpose");
  set_window(attributes, strides, dilations, pads);
  attributes.set("output_padding", extra);
  TESSERA_CHECK_OK(node.emit("conv_transpose", node.all_inputs(), std::move(attributes), 0));
  return ok_status();
}

Status pool(NodeView& node) {
  const Ints kernel = node.integer_list("kernel_shape");
  const Ints strides = or_ones(node.integer_list("strides"), kernel.size());
  const Ints dilations = or_ones(node.integer_list("dilations"), kernel.size());
  TESSERA_TRY(const Ints pads, explicit_pads(node, kernel, strides, dilations));
  const std::string_view op = our_op(node.op());
  Attributes attributes = node.same_attributes(op);
  set_window(attributes, strides, dilations, pads);
  TESSERA_CHECK_OK(node.emit_all(op, {node.input(0)}, std::move(attributes),
                                 op == "max_pool" && node.wants(1) ? 2 : 1));
  return ok_status();
}

/// Upsample, and Resize of opset 10, are Resize with asymmetric positions rounded down.
Status resize(NodeView& node) {
  const bool old = node.op() == "Upsample" || node.version() < 11;
  const std::size_t rank = node.shape(0).rank();
  std::vector<double> scales;
  Ints sizes;
  if (node.given("scales")) {
    scales = node.real_list("scales");
  } else if (node.given("height_scale")) {
    scales = {1, 1, node.real("height_scale", 1), node.real("width_scale", 1)};
  } else if (node.has(old ? 1 : 2)) {
    TESSERA_TRY(scales, node.reals(old ? 1 : 2));
  }
  if (!old && node.has(3)) {
    TESSERA_TRY(sizes, node.integers(3));
  }
  if (scales.empty() && sizes.empty()) return not_supported("neither scales nor sizes");
  if ((!scales.empty() && scales.size() != rank) || (!sizes.empty() && sizes.size() != rank)) {
    return not_supported(cat("scales or sizes of another length than rank ", rank));
  }
  Attributes attributes;
  if (old) {
    attributes = {{"coordinates", "asymmetric"}, {"nearest_mode", "floor"}};
  } else {
    attributes = node.same_attributes("resize", {"shape", "scales", "roi"});
  }
  const std::string mode = node.text("mode", "nearest");
  attributes.set("mode", mode == "bilinear" ? "linear" : mode);
  const std::string coordinates = node.text("coordinate_transformation_mode", "half_pixel");
  std::vector<double> roi;
  if (!old && node.has(1) && coordinates == "tf_crop_and_resize") {
    TESSERA_TRY(roi, node.reals(1));
    attributes.set("roi", roi);
    if (roi.size() != 2 * rank) return not_supported("a region of another length than the rank");
  }
  if (sizes.empty()) {
    for (std::size_t d = 0; d < rank; ++d) {
      const double part = roi.empty() ? 1 : roi[d + rank] - roi[d];
      const double extent = std::floor(static_cast<double>(node.shape(0)[d]) * part * scales[d]);
      const bool is_extent = extent >= 0 && extent < 1e15;  // false for a NaN
      if (!is_extent) return not_supported("a scale that is out of range");
      sizes.push_back(static_cast<std::int64_t>(extent));
    }
    attributes.set("scales", scales);
  }
  attributes.set("shape", sizes);
  TESSERA_CHECK_OK(node.emit("resize", {node.input(0)}, std::move(attributes), 0));
  return ok_status();
}

}  // namespace

std::vector<NamedConverter> window_converters() {
  return {{"Conv", conv},     {"ConvTranspose", conv_transpose},
          {"MaxPool", pool},  {"AveragePool", pool},
          {"Resize", resize}, {"Upsample", resize}};
}

}  // namespace tessera::onnx_import

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/node_writer.h"

namespace tessera::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

/// What is given of the lists that convolutions and pools have in common.
AttributeProtos window_attributes(const NodeWriter& node) {
  AttributeProtos out;
  for (const std::string_view name : {"strides", "dilations", "pads", "output_padding"}) {
    if (node.call().given(name)) out.push_back(attribute(name, node.call().integers(name)));
  }
  return out;
}

Status conv(NodeWriter& node) {
  AttributeProtos attributes = window_attributes(node);
  attributes.push_back(attribute("group", node.call().integer("groups")));
  const Ints& weights = node.call().shape(1).extents();
  attributes.push_back(attribute("kernel_shape", Ints(weights.begin() + 2, weights.end())));
  return node.write(node.op() == "conv" ? "Conv" : "ConvTranspose", node.all_inputs(), attributes);
}

Status pool(NodeWriter& node) {
  const graph::Call& call = node.call();
  const bool max = node.op() == "max_pool";
  AttributeProtos attributes = window_attributes(node);
  if (!max) {
    const Ints& dilations = call.integers("dilations");
    if (std::ranges::any_of(dilations, [](std::int64_t d) { return d != 1; })) {
      return Status(not_supported(
          cat("an average_pool with dilations ", bracketed(dilations), "; ONNX has none")));
    }
    std::erase_if(attributes, [](const auto& each) { return each.name() == "dilations"; });
  }
  attributes.push_back(attribute("kernel_shape", call.integers("kernel")));
  attributes.push_back(attribute("ceil_mode", call.integer("ceil")));
  attributes.push_back(max ? attribute("storage_order", call.integer("column_major"))
                           : attribute("count_include_pad", call.integer("count_include_pad")));
  return node.write(max ? "MaxPool" : "AveragePool", {node.in(0)}, attributes);
}

/// ONNX computes the shape from scales where it has them, so they have to give it.
Status check_scales(const NodeWriter& node, const std::vector<double>& roi) {
  const Ints& shape = node.call().integers("shape");
  const std::vector<double>& scales = node.call().reals("scales");
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const double part = roi.empty() ? 1 : roi[d + shape.size()] - roi[d];
    const double scale = static_cast<float>(scales[d]);
    const double extent = std::floor(static_cast<double>(node.in(0).type.shape[d]) * part * scale);
    if (extent == static_cast<double>(shape[d])) continue;
    return Status(not_supported(cat("a resize of dim ", d, " to ", shape[d], ", where ONNX takes ",
                                    "the extent from the scale")));
  }
  return ok_status();
}

Status resize(NodeWriter& node) {
  constexpr std::array<std::string_view, 6> kCoordinates = {
      "half_pixel", "pytorch_half_pixel",   "align_corners",
      "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  const graph::Call& call = node.call();
  const std::string_view coordinates = call.text("coordinates");
  if (std::ranges::count(kCoordinates, coordinates) == 0) {
    return Status(not_supported(cat("coordinates ", coordinates)));
  }
  const bool crops = coordinates == "tf_crop_and_resize";
  std::vector<double> roi;
  for (const double number : crops ? call.reals("roi") : std::vector<double>()) {
    roi.push_back(static_cast<float>(number));
  }
  std::vector<Ref> inputs(4);
  inputs[0] = node.in(0);
  if (!roi.empty()) inputs[1] = node.reals("roi", roi);
  if (call.given("scales")) {
    TESSERA_CHECK_OK(check_scales(node, roi));
    inputs[2] = node.reals("scales", call.reals("scales"));
  } else {
    inputs[3] = node.integers("sizes", call.integers("shape"));
  }
  return node.write("Resize", inputs,
                    {attribute("mode", call.text("mode")),
                     attribute("coordinate_transformation_mode", coordinates),
                     attribute("nearest_mode", call.text("nearest_mode")),
                     attribute("cubic_coeff_a", call.real("cubic_coeff_a")),
                     attribute("exclude_outside", call.integer("exclude_outside")),
                     attribute("extrapolation_value", call.real("extrapolation"))});
}

}  // namespace

std::vector<NamedWriter> window_writers() {
  return {{"conv", conv},
          {"conv_transpose", conv},
          {"max_pool", pool},
          {"average_pool", pool},
          {"resize", resize}};
}

}  // namespace tessera::onnx_import

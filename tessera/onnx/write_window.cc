// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/onnx/node_view.h"
#include "tessera/onnx/node_writer.h"
#include "tessera/onnx/same_ops.h"

namespace tessera::onnx_import {
namespace {

using Ints = std::vector<std::int64_t>;

Status conv(NodeWriter& node) {
  AttributeProtos attributes = node.same_attributes();
  const Ints& weights = node.call().shape(1).extents();
  attributes.push_back(attribute("kernel_shape", Ints(weights.begin() + 2, weights.end())));
  return node.write(their_op(node.op()), node.all_inputs(), attributes);
}

Status average_pool(NodeWriter& node) {
  const Ints& dilations = node.call().integers("dilations");
  if (std::ranges::any_of(dilations, [](std::int64_t d) { return d != 1; })) {
    return Status(not_supported(
        cat("an average_pool with dilations ", bracketed(dilations), "; ONNX has none")));
  }
  return node.write("AveragePool", {node.in(0)}, node.same_attributes({"dilations"}));
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
  return node.write("Resize", inputs, node.same_attributes({"shape", "scales", "roi"}));
}

}  // namespace

std::vector<NamedWriter> window_writers() {
  return {
      {"conv", conv}, {"conv_transpose", conv}, {"average_pool", average_pool}, {"resize", resize}};
}

}  // namespace tessera::onnx_import

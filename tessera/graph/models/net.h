// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/graph/builder.h"
#include "tessera/graph/models/models.h"

namespace tessera::graph {

/// A builder for models: after the first error everything is ignored, so that a model reads as a
/// list of layers; `finish` returns the error.
class Net {
 public:
  using Ints = std::vector<std::int64_t>;

  Net(std::string name, DType dtype) : builder_(std::move(name)), dtype_(dtype) {}

  static std::int64_t batch(const ModelOptions& options) { return options.batch.value_or(1); }
  ValueId input(std::string name, Ints shape) {
    return input(std::move(name), std::move(shape), dtype_);
  }
  ValueId input(std::string name, Ints shape, DType dtype) {
    return kept(builder_.input(std::move(name), std::move(shape), dtype));
  }
  ValueId weight(std::string name, Ints shape) {
    return kept(builder_.parameter(std::move(name), std::move(shape), dtype_));
  }
  /// A constant without dims.
  ValueId number(std::string name, double number) {
    const DType wide = dtype_ == DType::kF64 ? dtype_ : DType::kF32;
    const ValueId made = kept(builder_.constant(
        std::move(name), {}, wide, Data::of_bytes(*bytes_of(std::vector{number}, wide))));
    return wide == dtype_ ? made : op("cast", {made}, {{"to", std::string(dtype_name(dtype_))}});
  }
  ValueId op(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {},
             std::string name = "") {
    if (error_) return 0;
    return kept(builder_.add(op, std::move(inputs), std::move(attributes), std::move(name)));
  }
  /// x·w + b over the last dim.
  ValueId linear(const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                 bool bias = true) {
    const ValueId y = op("matmul", {x, weight(name + ".weight", {in, out})}, {}, name + ".matmul");
    return bias ? op("add", {y, weight(name + ".bias", {out})}, {}, name) : y;
  }
  ValueId reshape(ValueId x, Ints shape) {
    return op("reshape", {x}, {{"shape", std::move(shape)}});
  }
  ValueId transpose(ValueId x, Ints perm) {
    return op("transpose", {x}, {{"perm", std::move(perm)}});
  }
  ValueId layer_norm(const std::string& name, ValueId x, std::int64_t width) {
    return op("layer_norm", {x, weight(name + ".weight", {width}), weight(name + ".bias", {width})},
              {}, name);
  }
  /// A square convolution without bias, and its batch norm.
  ValueId conv_norm(const std::string& name, ValueId x, std::int64_t in, std::int64_t out,
                    std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1) {
    const std::int64_t pad = kernel / 2;
    const ValueId y = op(
        "conv", {x, weight(name + ".weight", {out, in / groups, kernel, kernel})},
        {{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}, {"groups", groups}},
        name);
    return op("batch_norm",
              {y, weight(name + ".norm.scale", {out}), weight(name + ".norm.bias", {out}),
               constant(name + ".norm.mean", out), constant(name + ".norm.variance", out)},
              {}, name + ".norm");
  }
  std::int64_t extent(ValueId v, std::size_t dim) const {
    return error_ ? 1 : builder_.type(v).shape[dim];
  }
  void output(ValueId v) {
    if (!error_) (void)builder_.output(v);
  }
  Result<Graph> finish() && {
    if (error_) return *std::move(error_);
    return std::move(builder_).finish();
  }

 private:
  ValueId constant(std::string name, std::int64_t width) {
    return kept(builder_.constant(std::move(name), {width}, dtype_, {}));
  }
  ValueId kept(Result<ValueId> made) {
    if (made) return *made;
    if (!error_) error_ = made.error();
    return 0;
  }

  GraphBuilder builder_;
  DType dtype_;
  std::optional<Error> error_;
};

// One function per file of models.
Result<Graph> make_mlp(const ModelOptions& options);
Result<Graph> make_resnet50(const ModelOptions& options);
Result<Graph> make_mobilenet_v2(const ModelOptions& options);
Result<Graph> make_unet_block(const ModelOptions& options);
Result<Graph> make_bert(const ModelOptions& options);
Result<Graph> make_llama(const ModelOptions& options);
Result<Graph> make_mlp_mixer(const ModelOptions& options);

}  // namespace tessera::graph

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tessera/graph/models/net.h"

/// Networks on images, as their papers describe them: ResNet-50 (He et al. 2015, with the stride in
/// the 3x3 convolution as in common use), MobileNet-v2 (Sandler et al. 2018), a block of a UNet
/// (Ronneberger et al. 2015), MLP-Mixer (Tolstikhin et al. 2021, size S/16), and the small MLP of
/// PyFlame's document.
namespace tessera::graph {

/// 1024 -> 512 -> 256 -> 10 with a relu after each layer, and a batch of 32 unless another is
/// given.
Result<Graph> make_mlp(const ModelOptions& options) {
  Net net("mlp", options.dtype);
  constexpr std::array<std::int64_t, 4> kWidths = {1024, 512, 256, 10};
  ValueId x = net.input("x", {options.batch.value_or(32), kWidths[0]});
  for (std::size_t i = 0; i + 1 < kWidths.size(); ++i) {
    x = net.op("relu", {net.linear(cat("fc", i + 1), x, kWidths[i], kWidths[i + 1])});
  }
  net.output(x);
  return std::move(net).finish();
}

Result<Graph> make_resnet50(const ModelOptions& options) {
  Net net("resnet50", options.dtype);
  const std::int64_t image = options.image.value_or(224);
  ValueId x = net.input("image", {net.batch(options), 3, image, image});
  x = net.op("relu", {net.conv_norm("stem", x, 3, 64, 7, 2)});
  x = net.op(
      "max_pool", {x},
      {{"kernel", Net::Ints{3, 3}}, {"strides", Net::Ints{2, 2}}, {"pads", Net::Ints{1, 1, 1, 1}}});
  std::int64_t channels = 64;
  constexpr std::array<std::int64_t, 4> kBlocks = {3, 4, 6, 3};
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (std::int64_t block = 0; block < kBlocks[stage]; ++block) {
      const std::string name = cat("stage", stage + 1, ".", block);
      const std::int64_t stride = block == 0 && stage > 0 ? 2 : 1;
      ValueId y = net.op("relu", {net.conv_norm(name + ".a", x, channels, width, 1)});
      y = net.op("relu", {net.conv_norm(name + ".b", y, width, width, 3, stride)});
      y = net.conv_norm(name + ".c", y, width, 4 * width, 1);
      if (block == 0) x = net.conv_norm(name + ".short", x, channels, 4 * width, 1, stride);
      x = net.op("relu", {net.op("add", {y, x})});
      channels = 4 * width;
    }
  }
  x = net.op("flatten", {net.op("global_average_pool", {x})});
  net.output(net.linear("classes", x, channels, 1000));
  return std::move(net).finish();
}

Result<Graph> make_mobilenet_v2(const ModelOptions& options) {
  Net net("mobilenet-v2", options.dtype);
  const std::int64_t image = options.image.value_or(224);
  struct Stage {
    std::int64_t expansion, channels, blocks, stride;
  };
  constexpr std::array<Stage, 7> kStages = {{{1, 16, 1, 1},
                                             {6, 24, 2, 2},
                                             {6, 32, 3, 2},
                                             {6, 64, 4, 2},
                                             {6, 96, 3, 1},
                                             {6, 160, 3, 2},
                                             {6, 320, 1, 1}}};
  ValueId x = net.input("image", {net.batch(options), 3, image, image});
  const ValueId zero = net.number("relu6.least", 0);
  const ValueId six = net.number("relu6.most", 6);
  const auto relu6 = [&](ValueId v) { return net.op("clip", {v, zero, six}); };
  x = relu6(net.conv_norm("stem", x, 3, 32, 3, 2));
  std::int64_t channels = 32;
  for (std::size_t s = 0; s < kStages.size(); ++s) {
    const Stage& stage = kStages[s];
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      const std::string name = cat("stage", s + 1, ".", block);
      const std::int64_t stride = block == 0 ? stage.stride : 1;
      const std::int64_t wide = channels * stage.expansion;
      ValueId y = x;
      if (stage.expansion > 1) y = relu6(net.conv_norm(name + ".expand", y, channels, wide, 1));
      y = relu6(net.conv_norm(name + ".depth", y, wide, wide, 3, stride, wide));
      y = net.conv_norm(name + ".project", y, wide, stage.channels, 1);
      x = stride == 1 && channels == stage.channels ? net.op("add", {x, y}) : y;
      channels = stage.channels;
    }
  }
  x = relu6(net.conv_norm("head", x, channels, 1280, 1));
  x = net.op("flatten", {net.op("global_average_pool", {x})});
  net.output(net.linear("classes", x, 1280, 1000));
  return std::move(net).finish();
}

/// One level down and up again, with the skip connection between.
Result<Graph> make_unet_block(const ModelOptions& options) {
  Net net("unet-block", options.dtype);
  const std::int64_t image = options.image.value_or(64);
  const std::int64_t width = options.hidden.value_or(64);
  ValueId x = net.input("image", {net.batch(options), width, image, image});
  const auto twice = [&](const std::string& name, ValueId v, std::int64_t in, std::int64_t out) {
    const ValueId first = net.op("relu", {net.conv_norm(name + ".a", v, in, out, 3)});
    return net.op("relu", {net.conv_norm(name + ".b", first, out, out, 3)});
  };
  const ValueId skip = twice("down", x, width, width);
  x = net.op("max_pool", {skip}, {{"kernel", Net::Ints{2, 2}}, {"strides", Net::Ints{2, 2}}});
  x = twice("bottom", x, width, 2 * width);
  x = net.op("conv_transpose",
             {x, net.weight("up.weight", {2 * width, width, 2, 2}), net.weight("up.bias", {width})},
             {{"strides", Net::Ints{2, 2}}}, "up");
  x = net.op("concat", {skip, x}, {{"axis", 1}});
  net.output(twice("out", x, 2 * width, width));
  return std::move(net).finish();
}

Result<Graph> make_mlp_mixer(const ModelOptions& options) {
  Net net("mlp-mixer", options.dtype);
  const std::int64_t image = options.image.value_or(224);
  const std::int64_t width = options.hidden.value_or(512);
  const std::int64_t layers = options.layers.value_or(8);
  constexpr std::int64_t kPatch = 16;
  ValueId x = net.input("image", {net.batch(options), 3, image, image});
  x = net.op("conv",
             {x, net.weight("patches.weight", {width, 3, kPatch, kPatch}),
              net.weight("patches.bias", {width})},
             {{"strides", Net::Ints{kPatch, kPatch}}}, "patches");
  const std::int64_t tokens = (image / kPatch) * (image / kPatch);
  x = net.transpose(net.reshape(x, {net.batch(options), width, tokens}), {0, 2, 1});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string name = cat("layer", layer);
    ValueId y = net.transpose(net.layer_norm(name + ".norm1", x, width), {0, 2, 1});
    y = net.op("gelu", {net.linear(name + ".tokens.up", y, tokens, width / 2)});
    y = net.linear(name + ".tokens.down", y, width / 2, tokens);
    x = net.op("add", {x, net.transpose(y, {0, 2, 1})});
    y = net.layer_norm(name + ".norm2", x, width);
    y = net.op("gelu", {net.linear(name + ".channels.up", y, width, 4 * width)});
    x = net.op("add", {x, net.linear(name + ".channels.down", y, 4 * width, width)});
  }
  x = net.layer_norm("norm", x, width);
  x = net.op("reduce_mean", {x}, {{"axes", Net::Ints{1}}, {"keepdims", 0}});
  net.output(net.linear("classes", x, width, 1000));
  return std::move(net).finish();
}

}  // namespace tessera::graph

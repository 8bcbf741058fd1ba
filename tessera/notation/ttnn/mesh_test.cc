// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/ttnn/mesh.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/notation/reasons.h"

namespace tessera::notation {
namespace {

Tensor read(const std::string& text) {
  Result<Tensor> tensor = parse_tensor(text);
  EXPECT_TRUE(tensor.ok()) << render(tensor.error(), text);
  return tensor.ok() ? *std::move(tensor) : *parse_tensor("tensor<f32, strided<[]>>");
}

/// The law: x is on device q, at the position that the device's own layout gives.
TtnnMesh expect_mesh(const std::string& text) {
  SCOPED_TRACE(text);
  const Layout layout = read(text).layout();
  const Result<TtnnMesh> mesh = raise_ttnn_mesh(layout);
  EXPECT_TRUE(mesh.ok()) << mesh.error().message;
  if (!mesh.ok()) return {};
  const Result<Layout> device = lower(mesh->layout, mesh->shape, layout.dtype());
  EXPECT_TRUE(device.ok()) << device.error().message;
  if (!device.ok()) return *mesh;
  EXPECT_EQ(device->slots(), layout.slots());
  Index x(layout.shape().rank(), 0);
  do {
    Index y = x;
    Index along(x.size());  // the number of the device along each dim
    for (std::size_t d = 0; d < x.size(); ++d) {
      along[d] = x[d] / mesh->shape[d];
      y[d] = x[d] % mesh->shape[d];
    }
    // Axes that divide one dim together number its devices, the first axis slowest.
    Place expected(mesh->devices.size());
    for (std::size_t axis = mesh->devices.size(); axis-- > 0;) {
      if (mesh->dims[axis] < 0) continue;
      std::int64_t& number = along[static_cast<std::size_t>(mesh->dims[axis])];
      expected[axis] = number % mesh->devices[axis];
      number /= mesh->devices[axis];
    }
    const Result<Location> there = device->locate(y);
    const Result<Location> here = layout.locate(x);
    if (!there.ok() || !here.ok()) {
      ADD_FAILURE() << bracketed(x);
      return *mesh;
    }
    expected.insert(expected.end(), there->places[0].begin(), there->places[0].end());
    if (here->places[0] != expected || here->slot != there->slot) {
      ADD_FAILURE() << bracketed(x) << " is in slot " << here->slot << " of "
                    << bracketed(here->places[0]) << ", expected " << there->slot << " of "
                    << bracketed(expected);
      return *mesh;
    }
  } while (layout.shape().next(x));
  return *mesh;
}

TEST(TtnnMesh, TwoDevicesOfTheDocument) {
  // The multi-device example of the tt-mlir layout specification: the batch is divided between two
  // devices of a 2x4 grid each. There, 3·64 rows on 2 places are 96 rows: three tiles.
  const TtnnMesh mesh = expect_mesh(
      "tensor<2x3x64x128xf32, #tt.metal_layout<(d0, d1, d2, d3) -> (d0, d1 * 64 + d2, d3), undef, "
      "<2x2x4>, memref<1x3x1x!tt.tile<32 x 32, bfp_bf8>, #tt.memory_space<l1>>>>");
  EXPECT_EQ(mesh.devices, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(mesh.dims, (std::vector<int>{0}));
  EXPECT_EQ(mesh.shape.to_string(), "1x3x64x128");
  EXPECT_EQ(write(mesh.layout),
            "#ttnn.ttnn_layout<(d0, d1, d2, d3) -> (d0 * 192 + d1 * 64 + d2, d3), <2x4>, "
            "memref<3x1x!ttcore.tile<32x32, bfp_bf8>, #ttnn.buffer_type<l1>>, <block_sharded>, "
            "core_ranges = <[#ttnn.core_range<(0,0), (3,1)>]>>");
}

TEST(TtnnMesh, DevicesOverSeveralAxesAndDims) {
  const TtnnMesh two = expect_mesh(
      "tensor<4x6x32x32xf32, native<mesh=[2, 3, 1, 1], {d0} / (2 -> m0, 1 -> mem*2048), {d1} / (2 "
      "-> m1, 1 -> mem*1024), {d2} / (1 -> mem*32), {d3} / (1 -> mem), space=l1>>");
  EXPECT_EQ(two.devices, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(two.dims, (std::vector<int>{0, 1}));
  EXPECT_EQ(two.shape.to_string(), "2x2x32x32");
  // One dim over two axes of devices and the rows of their grids: canonically one digit.
  const TtnnMesh joined = expect_mesh(
      "tensor<24x5xf32, native<mesh=[2, 3, 2, 1], {d0} / (12 -> m0, 4 -> m1, 2 -> m2, 1 -> mem*5), "
      "{d1} / (1 -> mem), space=l1>>");
  EXPECT_EQ(joined.devices, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(joined.dims, (std::vector<int>{0, 0}));
  EXPECT_EQ(joined.shape.to_string(), "4x5");
  // An axis of one device divides nothing.
  const TtnnMesh one = expect_mesh(
      "tensor<24x5xf32, native<mesh=[1, 2, 1], {d0} / (12 -> m1, 1 -> mem*5), {d1} / (1 -> mem), "
      "space=l1>>");
  EXPECT_EQ(one.dims, (std::vector<int>{-1}));
}

TEST(TtnnMesh, HasReasons) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"tensor<4x4xf32, native<mesh=[2, 1], {d0} / (2 -> m0, 1 -> mem*4), {d1} / (1 -> mem)>>",
            "mesh_rank mesh=[2, 1] least_axes=3 most_axes=64"},
           {"tensor<5x4xf32, native<mesh=[2, 1, 1], {d0} / (3 -> m0, 1 -> mem*4), {d1} / (1 -> "
            "mem)>>",
            "device_axis axis=0 devices=2 dim=0 extent=5 per_device=3"},
           {"tensor<2x3x4xf32, native<mesh=[2, 1, 1], {3*d0 + d1} / (4 -> m0, 1 -> mem*4), {d2} / "
            "(1 -> mem)>>",
            "device_axis axis=0 devices=2"},
           {"tensor<4x4xf32, native<mesh=[2, 1, 1], {d0} / (1 -> mem*4), {d1} / (1 -> mem), "
            "fixed(m0=0)>>",
            "device_axis axis=0 devices=2"},
           {"tensor<4x4xf32, native<mesh=[2, 1, 1], {d0} / (1 -> mem*4), {d1} / (1 -> mem), "
            "replicate(m0)>>",
            "replicated places=2 axis=0"},
           {"tensor<4x4xf32, native<mesh=[2, 1, 1], {d0} / (2 -> m0, 1 -> mem*4), {d1} / (1 -> "
            "mem), pad=0>>",
            "padding_value"}}) {
    SCOPED_TRACE(text);
    const Result<TtnnMesh> mesh = raise_ttnn_mesh(read(text).layout());
    ASSERT_FALSE(mesh.ok());
    EXPECT_EQ(mesh.error().code, ErrorCode::kNotSupported);
    EXPECT_EQ(test::reasons_text(mesh.error()), reason);
  }
}

}  // namespace
}  // namespace tessera::notation

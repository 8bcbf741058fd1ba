// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/machines/restrictions.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/notation/tensor.h"
#include "tessera/testing/ops/machine_tensors.h"

/// Both sides of every rule, with tensors as their makers write them.
namespace tessera::ops {
namespace {

using Integers = std::vector<std::int64_t>;
using test::block;
using test::dense;
using test::dram;
using test::height;
using test::l1_interleaved;
using test::row_major;
using test::row_major_shards;
using test::sparse;
using test::width;

/// The rule by which a machine allows a call, "no: " and the rule by which it does not, or the
/// error. Texts are the inputs and then the outputs; an empty one is an output that is not known,
/// whose type is then inferred.
std::string rule_of(MachineFamily family, std::string_view op, const std::vector<std::string>& ins,
                    const std::string& out = "", const graph::Attributes& attributes = {}) {
  Operands operands;
  graph::Types types;
  for (const std::string& text : ins) {
    const Result<Tensor> tensor = parse_tensor(text);
    EXPECT_TRUE(tensor) << text << ": " << tensor.error().message;
    if (!tensor) return "";
    operands.inputs.emplace_back(tensor->layout());
    types.push_back({tensor->shape(), tensor->dtype()});
  }
  std::vector<const graph::TensorType*> inputs;
  for (const graph::TensorType& type : types) inputs.push_back(&type);
  const graph::Call call(*graph::Op::find(op), inputs, attributes, 1);
  const Result<graph::Types> outputs = graph::infer(call);
  EXPECT_TRUE(outputs) << outputs.error().message;
  if (!outputs) return "";
  if (!out.empty()) {
    const Result<Tensor> tensor = parse_tensor(out);
    EXPECT_TRUE(tensor) << out << ": " << tensor.error().message;
    if (!tensor) return "";
    operands.outputs.emplace_back(tensor->layout());
  }
  const Result<Allowed> allowed = allowed_on(family, call, *outputs, operands);
  if (!allowed) return "error";
  EXPECT_EQ(allowed->legal, allowed->reason.empty()) << allowed->rule;
  return (allowed->legal ? "" : "no: ") + allowed->rule;
}

// ------------------------------------------------------------------------------------------ TTNN

/// [n, c, h, w] or another rank 4, divided over `cores` along its dim 0.
std::string four(const std::string& shape, std::int64_t cores) {
  return cat("tensor<", shape, "xbf16, pyflame.RowPartition(", cores, ")>");
}

std::string ttnn(std::string_view op, const std::vector<std::string>& ins,
                 const std::string& out = "", const graph::Attributes& attributes = {}) {
  return rule_of(MachineFamily::kTtnn, op, ins, out, attributes);
}

TEST(Ttnn, MatmulHasFiveForms) {
  const std::string weights = dram(512, 256);
  EXPECT_EQ(ttnn("matmul", {dram(256, 512), weights}, dram(256, 256)), "matmul interleaved");
  EXPECT_EQ(ttnn("matmul", {block(256, 512, 4, 4), weights}, block(256, 256, 4, 4)),
            "matmul block");
  EXPECT_EQ(ttnn("matmul", {width(256, 512, 8), weights}, width(256, 256, 8)), "matmul width");
  EXPECT_EQ(ttnn("matmul", {dram(256, 512), weights}, width(256, 256, 8)), "matmul width");
  EXPECT_EQ(ttnn("matmul", {height(256, 512, 8), weights}, height(256, 256, 8)), "matmul height");
  EXPECT_EQ(ttnn("matmul", {width(32, 512, 8), width(512, 256, 8, "dram")}, width(32, 256, 8)),
            "matmul decode");
}

TEST(Ttnn, MatmulRefusesEverythingElse) {
  const std::string weights = dram(512, 256);
  EXPECT_EQ(ttnn("matmul", {row_major(256, 512), weights}, dram(256, 256)), "no: matmul tiled");
  EXPECT_EQ(ttnn("matmul", {dram(256, 512), weights}, l1_interleaved(256, 256)),
            "no: matmul interleaved");
  EXPECT_EQ(ttnn("matmul", {height(256, 512, 8), weights}, dram(256, 256)),
            "no: matmul interleaved");
  EXPECT_EQ(ttnn("matmul", {dram(256, 512), height(512, 256, 8)}, dram(256, 256)),
            "no: matmul weights");
  EXPECT_EQ(ttnn("matmul", {height(256, 512, 8), weights}, block(256, 256, 4, 4)),
            "no: matmul block");
  EXPECT_EQ(ttnn("matmul", {block(256, 512, 4, 4), weights}, block(256, 256, 2, 4)),
            "no: matmul block");
  EXPECT_EQ(ttnn("matmul", {height(256, 512, 8), weights}, width(256, 256, 8)), "no: matmul width");
  EXPECT_EQ(ttnn("matmul", {dram(256, 512), weights}, height(256, 256, 8)), "no: matmul height");
  // One extent of the grid is 1, so this is no block sharding.
  EXPECT_EQ(ttnn("matmul", {block(256, 512, 8, 1), weights}, block(256, 256, 8, 1)),
            "matmul height");
  // Shards of 3 tiles do not divide a k of 16.
  EXPECT_EQ(ttnn("matmul", {width(256, 512, 6), weights}, width(256, 256, 8)),
            "no: matmul k block");
  // Decode: weights in l1, and more than a tile of rows.
  EXPECT_EQ(ttnn("matmul", {width(32, 512, 8), width(512, 256, 8)}, width(32, 256, 8)),
            "no: matmul decode");
  EXPECT_EQ(ttnn("matmul", {width(64, 512, 8), width(512, 256, 8, "dram")}, width(64, 256, 8)),
            "no: matmul decode");
  EXPECT_EQ(ttnn("matmul", {width(32, 512, 8), width(512, 256, 8, "dram")}, dram(32, 256)),
            "no: matmul decode");
}

TEST(Ttnn, ElementwiseSharesKindGridAndShard) {
  EXPECT_EQ(ttnn("add", {height(256, 64, 8), dram(256, 64)}, height(256, 64, 8)), "elementwise");
  EXPECT_EQ(ttnn("add", {height(256, 64, 8), height(256, 64, 4)}), "no: elementwise");
  EXPECT_EQ(ttnn("add", {height(256, 256, 8), width(256, 256, 8)}), "no: elementwise");
  EXPECT_EQ(ttnn("relu", {dram(256, 64)}, width(256, 64, 2)), "elementwise");
}

TEST(Ttnn, ReductionsAndSoftmax) {
  const graph::Attributes last = {{"axes", Integers{1}}};
  EXPECT_EQ(ttnn("reduce_sum", {height(256, 64, 8)}, "", last), "reduce");
  EXPECT_EQ(ttnn("reduce_sum", {row_major(256, 64)}, "", last), "reduce");
  EXPECT_EQ(ttnn("reduce_sum", {row_major_shards(256, 64, 8)}, "", last), "no: reduce row-major");
  EXPECT_EQ(ttnn("softmax", {height(256, 64, 8)}), "softmax");
  EXPECT_EQ(ttnn("softmax", {dram(256, 64)}), "softmax");
  EXPECT_EQ(ttnn("softmax", {width(256, 256, 8)}), "no: softmax whole dim");
  EXPECT_EQ(ttnn("softmax", {width(256, 256, 8)}, "", {{"axis", std::int64_t{0}}}), "softmax");
  EXPECT_EQ(ttnn("softmax", {row_major(256, 64)}), "no: softmax tiled");
}

TEST(Ttnn, Norms) {
  EXPECT_EQ(ttnn("rms_norm", {dram(256, 256)}, width(256, 256, 8)), "norm");
  EXPECT_EQ(ttnn("rms_norm", {width(256, 256, 8)}, width(256, 256, 8)), "norm");
  EXPECT_EQ(ttnn("rms_norm", {block(256, 256, 4, 4)}, block(256, 256, 4, 4)), "norm");
  EXPECT_EQ(ttnn("rms_norm", {height(256, 256, 8)}, height(256, 256, 8)), "no: norm height");
  EXPECT_EQ(ttnn("rms_norm", {width(256, 256, 8)}, dram(256, 256)), "no: norm same kind");
  // 5 cores: a row of 4 and one of the next.
  const std::string ragged =
      "tensor<32x320xbf16, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x5>, memref<1x2x"
      "!ttcore.tile<32x32, bf16>, #ttnn.buffer_type<l1>>, <width_sharded>, core_ranges = "
      "<[#ttnn.core_range<(0, 0), (3, 0)>, #ttnn.core_range<(0, 1), (0, 1)>]>>>";
  EXPECT_EQ(ttnn("rms_norm", {ragged}, ragged), "no: norm rectangle");
}

TEST(Ttnn, Movement) {
  EXPECT_EQ(ttnn("transpose", {height(256, 64, 8)}, dram(64, 256)), "move");
  EXPECT_EQ(ttnn("transpose", {width(256, 64, 2)}, dram(64, 256)), "no: move width");
  EXPECT_EQ(ttnn("transpose", {dram(256, 64)}, height(64, 256, 2)), "no: move output");
  const graph::Attributes same = {{"shape", Integers{256, 64}}};
  EXPECT_EQ(ttnn("reshape", {height(256, 64, 8)}, height(256, 64, 8), same), "view");
  const graph::Attributes other = {{"shape", Integers{64, 256}}};
  EXPECT_EQ(ttnn("reshape", {height(256, 64, 8)}, height(64, 256, 2), other), "no: move output");
  const graph::Attributes part = {{"starts", Integers{0, 0}}, {"ends", Integers{128, 64}}};
  EXPECT_EQ(ttnn("slice", {dram(256, 64)}, dram(128, 64), part), "slice and pad");
  EXPECT_EQ(ttnn("slice", {height(256, 64, 8)}, dram(128, 64), part), "no: slice and pad");
  EXPECT_EQ(ttnn("pad", {dram(256, 64)}, height(288, 64, 9), {{"pads", Integers{0, 0, 32, 0}}}),
            "no: slice and pad");
}

TEST(Ttnn, Concat) {
  const graph::Attributes rows = {{"axis", std::int64_t{0}}};
  const graph::Attributes columns = {{"axis", std::int64_t{1}}};
  EXPECT_EQ(ttnn("concat", {dram(256, 64), dram(256, 64)}, "", rows), "concat");
  EXPECT_EQ(ttnn("concat", {height(256, 64, 8), height(256, 64, 8)}, "", columns), "concat");
  EXPECT_EQ(ttnn("concat", {block(256, 128, 4, 4), block(256, 128, 4, 4)}, "", columns), "concat");
  EXPECT_EQ(ttnn("concat", {width(256, 64, 2), width(256, 64, 2)}, "", rows), "concat");
  EXPECT_EQ(ttnn("concat", {width(256, 64, 2), width(256, 64, 2)}, "", columns),
            "no: concat width");
  EXPECT_EQ(ttnn("concat", {height(256, 64, 8), height(256, 64, 8)}, "", rows),
            "no: concat height");
  EXPECT_EQ(ttnn("concat", {height(256, 64, 8), dram(256, 64)}, "", columns),
            "no: concat one kind");
  EXPECT_EQ(ttnn("concat", {height(256, 64, 8), height(256, 64, 4)}, "", columns),
            "no: concat one kind");
}

TEST(Ttnn, EmbeddingWindowsAndAttention) {
  EXPECT_EQ(ttnn("embedding", {row_major(100, 64), row_major(1, 32, "ui32")}), "embedding");
  EXPECT_EQ(ttnn("embedding", {dram(100, 64), row_major(1, 32, "ui32")}), "no: embedding table");
  EXPECT_EQ(ttnn("embedding", {row_major_shards(128, 64, 4), row_major(1, 32, "ui32")}),
            "no: embedding");

  const graph::Attributes three = {{"pads", Integers{1, 1, 1, 1}}};
  const std::string weights = four("8x8x3x3", 1);
  EXPECT_EQ(ttnn("conv", {four("4x8x16x16", 4), weights}, four("4x8x16x16", 4), three), "window");
  EXPECT_EQ(ttnn("conv", {four("4x8x16x16", 1), weights}, four("4x8x16x16", 1), three),
            "no: window halo");
  EXPECT_EQ(ttnn("conv", {four("4x8x16x16", 1), four("8x8x1x1", 1)}, four("4x8x16x16", 1)),
            "window");
  EXPECT_EQ(ttnn("conv", {four("4x8x16x16", 4), weights}, four("4x8x16x16", 1), three),
            "no: window same kind");
  EXPECT_EQ(ttnn("max_pool", {four("4x8x16x16", 1)}, "", {{"kernel", Integers{2, 2}}}),
            "no: window halo");

  const std::string q = four("4x8x16x16", 1);
  EXPECT_EQ(ttnn("attention", {q, q, q}, q), "attention");
  EXPECT_EQ(ttnn("attention", {four("4x8x16x16", 4), q, q}, q), "no: attention");
  const auto in = [](std::int64_t rows, const std::string& space) {
    return cat("tensor<1x", rows, "x16xbf16, native<{d0} / (1 -> mem*", rows * 16,
               "), {d1} / (1 -> mem*16), {d2} / (1 -> mem), space=", space, ">>");
  };
  EXPECT_EQ(ttnn("attention", {in(1, "dram"), in(64, "dram"), in(64, "dram")}), "attention decode");
  EXPECT_EQ(ttnn("attention", {in(1, "l1"), in(64, "dram"), in(64, "dram")}),
            "no: attention decode");
  EXPECT_EQ(ttnn("attention", {in(1, "dram"), in(64, "l1"), in(64, "dram")}),
            "no: attention decode");
}

TEST(Ttnn, BatchedWeightsAllowNoShardedOutput) {
  const auto batched = [](const std::string& shape, const std::string& folds) {
    return cat("tensor<", shape, "xbf16, native<", folds, ", atom=tile(32x32, bf16), space=l1>>");
  };
  const std::string a =
      batched("2x32x32", "mesh=[2], {d0} / (1 -> m0), {d1} / (1 -> mem*32), {d2} / (1 -> mem)");
  const std::string b = batched(
      "2x32x32", "mesh=[1], {d0} / (1 -> mem*1024), {d1} / (1 -> mem*32), {d2} / (1 -> mem)");
  EXPECT_EQ(ttnn("matmul", {a, b}, a), "no: matmul batched weights");
  const std::string one = batched("32x32", "mesh=[1], {d0} / (1 -> mem*32), {d1} / (1 -> mem)");
  EXPECT_EQ(ttnn("matmul", {a, one}, a), "matmul height");
}

// ----------------------------------------------------------------------------------------- Spyre

std::string spyre(std::string_view op, const std::vector<std::string>& ins,
                  const std::string& out = "", const graph::Attributes& attributes = {}) {
  return rule_of(MachineFamily::kSpyre, op, ins, out, attributes);
}
TEST(Spyre, EveryOperandIsInSticks) {
  EXPECT_EQ(spyre("relu", {dense("512x256")}, dense("512x256")), "elementwise");
  EXPECT_EQ(spyre("relu", {"tensor<5x3xf16, strided<[3, 1]>>"}), "no: sticks");
  EXPECT_EQ(spyre("relu", {"tensor<64x64xf16, strided<[1, 64]>>"}), "elementwise");
  // 32 x 32 in one stick's reach: two dims move inside each.
  EXPECT_EQ(spyre("relu", {"tensor<32x32xf16, strided<[32, 1]>>"}), "no: sticks");
}

TEST(Spyre, ElementwiseOperandsShareTheStickDim) {
  EXPECT_EQ(spyre("add", {dense("512x256"), dense("512x256")}, dense("512x256")), "elementwise");
  EXPECT_EQ(spyre("add", {dense("512x256"), dense("512x256", "[1, 0]")}), "no: elementwise sticks");
  EXPECT_EQ(spyre("add", {dense("512x256"), dense("256")}, dense("512x256")), "elementwise");
  EXPECT_EQ(spyre("add", {dense("512x256"), dense("512x1")}, dense("512x256")), "elementwise");
  EXPECT_EQ(spyre("add", {dense("512x256"), sparse("512x256")}), "no: elementwise sticks");
  EXPECT_EQ(spyre("add", {dense("512x256"), dense("512x256")}, dense("512x256", "[1, 0]")),
            "no: elementwise sticks");
  // The same stick dim, but rows in the outer device dim.
  EXPECT_EQ(spyre("relu", {dense("512x256")},
                  "tensor<512x256xf16, spyre<device_size=[512, 4, 64], dim_map=[0, 1, 1]>>"),
            "no: elementwise output");
}

TEST(Spyre, MatmulSticksRunAlongKAndJ) {
  EXPECT_EQ(spyre("matmul", {dense("512x256"), dense("256x128")}, dense("512x128")), "matmul");
  EXPECT_EQ(spyre("matmul", {dense("512x256", "[1, 0]"), dense("256x128")}), "no: matmul sticks");
  EXPECT_EQ(spyre("matmul", {dense("512x256"), dense("256x128", "[1, 0]")}), "no: matmul sticks");
  EXPECT_EQ(spyre("matmul", {dense("512x256"), dense("256x128")}, dense("512x128", "[1, 0]")),
            "no: matmul sticks");
  EXPECT_EQ(spyre("matmul", {dense("512x256"), dense("256x128")},
                  "tensor<512x128xf16, spyre<device_size=[512, 2, 64], dim_map=[0, 1, 1]>>"),
            "no: matmul output");
  EXPECT_EQ(spyre("gemm", {dense("256x512", "[1, 0]"), dense("256x128")}, dense("512x128"),
                  {{"trans_a", std::int64_t{1}}}),
            "matmul");
  EXPECT_EQ(spyre("matmul", {dense("4x512x256"), dense("4x256x128")}, dense("4x512x128")),
            "matmul");
}

TEST(Spyre, ReductionsDropADeviceDimOrTheSticks) {
  const graph::Attributes rows = {{"axes", Integers{0}}, {"keepdims", std::int64_t{0}}};
  const graph::Attributes columns = {{"axes", Integers{1}}, {"keepdims", std::int64_t{0}}};
  EXPECT_EQ(spyre("reduce_sum", {dense("512x256")}, sparse("512"), columns), "reduce stick dim");
  EXPECT_EQ(spyre("reduce_sum", {dense("512x256")}, dense("512"), columns), "no: reduce stick dim");
  EXPECT_EQ(spyre("reduce_sum", {dense("512x256")}, dense("256"), rows), "reduce other dim");
  EXPECT_EQ(spyre("reduce_sum", {dense("512x256")}, sparse("256"), rows), "no: reduce other dim");
}

TEST(Spyre, TransposesAreViewsAndRestickifyIsDense) {
  EXPECT_EQ(spyre("transpose", {dense("512x256")}, dense("256x512", "[1, 0]")), "transpose");
  EXPECT_EQ(spyre("transpose", {dense("512x256")}, dense("256x512")), "no: transpose");
  EXPECT_EQ(spyre("transpose", {sparse("512x256")}, dense("256x512")), "no: transpose");
  EXPECT_EQ(spyre("layout_transform", {dense("512x256")}, dense("512x256", "[1, 0]")),
            "restickify");
  EXPECT_EQ(spyre("layout_transform", {sparse("512x256")}, dense("512x256")), "no: restickify");
  EXPECT_EQ(spyre("layout_transform", {dense("512x256")}, sparse("512x256")), "no: restickify");
  EXPECT_EQ(spyre("layout_transform", {sparse("512x256")}, sparse("512x256")), "restickify");
}

TEST(Spyre, CoresDivideEvenlyInWholeSticks) {
  const auto on = [](const std::string& shape, const std::string& size, const std::string& cores) {
    return cat("tensor<", shape, "xf16, spyre<device_size=[", size, "], dim_map=[1, 0, 1], cores=[",
               cores, "]>>");
  };
  const std::string even = on("512x256", "4, 512, 64", "2, 4, 1");
  EXPECT_EQ(spyre("relu", {even}, even), "elementwise");
  const std::string ragged = on("512x256", "4, 512, 64", "3, 1, 1");  // 2, 2 and 0 sticks
  EXPECT_EQ(spyre("relu", {ragged}), "no: core division");
  const std::string rows = on("512x256", "4, 512, 64", "1, 3, 1");  // 171, 171 and 170 rows
  EXPECT_EQ(spyre("relu", {rows}), "no: core division");
  // Half a stick each.
  EXPECT_EQ(spyre("relu", {"tensor<64xf16, native<mesh=[2], {d0} / (32 -> m0, 1#64 -> mem)>>"}),
            "no: core division");
  const graph::Attributes columns = {{"axes", Integers{1}}};
  EXPECT_EQ(spyre("reduce_sum", {on("512x256", "4, 512, 64", "1, 4, 1")}, "", columns), "reduce");
  EXPECT_EQ(spyre("reduce_sum", {on("512x256", "4, 512, 64", "2, 1, 1")}, "", columns),
            "no: core division");
  EXPECT_EQ(spyre("matmul", {on("512x256", "4, 512, 64", "2, 1, 1"), dense("256x128")}), "matmul");
}

TEST(Spyre, TheSpanOfACoreIsLimited) {
  // [8192, 272, 32, 64] over the first dim: 256·272·32 sticks are 285,212,672 bytes.
  const auto of = [](const std::string& cores) {
    return cat("tensor<32x8192x17408xf16, spyre<device_size=[8192, 272, 32, 64], ",
               "dim_map=[1, 2, 0, 2], cores=[", cores, "]>>");
  };
  EXPECT_EQ(spyre("relu", {of("32, 1, 1, 1")}), "no: span");
  EXPECT_EQ(spyre("relu", {of("32, 2, 1, 1")}), "no: span");  // the same range, with holes
  EXPECT_EQ(spyre("relu", {of("64, 1, 1, 1")}), "elementwise");
}

// ----------------------------------------------------------------------------------------- Wafer

std::string wafer(std::string_view op, const std::vector<std::string>& ins,
                  const std::string& out = "", const graph::Attributes& attributes = {}) {
  return rule_of(MachineFamily::kWafer, op, ins, out, attributes);
}
std::string grid(const std::string& shape, const std::string& more = "") {
  return cat("tensor<", shape, "xf32, pyflame.Grid(4, 4", more.empty() ? "" : ", ", more, ")>");
}

TEST(Wafer, MatmulStreamsPanelsOrReducesAlongColumns) {
  EXPECT_EQ(wafer("matmul", {grid("64x32"), grid("32x16")}, grid("64x16")), "matmul panels");
  EXPECT_EQ(wafer("matmul",
                  {grid("64x32", "dim_to_pe=[0, -1], replicate=[1]"),
                   grid("32x16", "dim_to_pe=[-1, 1], replicate=[0]")},
                  grid("64x16")),
            "matmul panels");
  const std::string turned = grid("64x32", "dim_to_pe=[1, 0]");
  EXPECT_EQ(wafer("matmul", {turned, grid("32x16")}, grid("64x16")), "no: matmul panels");
  EXPECT_EQ(wafer("matmul", {grid("64x32"), grid("32x16", "dim_to_pe=[1, 0]")}, grid("64x16")),
            "no: matmul panels");
  EXPECT_EQ(wafer("matmul", {grid("64x32"), grid("32x16")}, grid("64x16", "dim_to_pe=[1, 0]")),
            "no: matmul panels");
  EXPECT_EQ(wafer("matmul", {grid("64x32", "dim_to_pe=[0, -1], replicate=[1]"), grid("32x16")},
                  grid("64x16", "dim_to_pe=[0, -1], partial=[1:sum]")),
            "no: matmul panels");

  const std::string vector = grid("1x32", "dim_to_pe=[-1, 0], replicate=[1]");
  const std::string sums = grid("1x16", "dim_to_pe=[-1, 1], partial=[0:sum]");
  EXPECT_EQ(wafer("matmul", {vector, grid("32x16")}, sums), "matmul vector");
  EXPECT_EQ(
      wafer("matmul", {vector, grid("32x16")}, grid("1x16", "dim_to_pe=[-1, 1], replicate=[0]")),
      "no: matmul vector");
  EXPECT_EQ(wafer("gemm", {grid("32x64", "dim_to_pe=[1, 0]"), grid("32x16")}, grid("64x16"),
                  {{"trans_a", std::int64_t{1}}}),
            "matmul panels");
}

TEST(Wafer, NormsKeepTheirDimWholeOrExchangeStatistics) {
  const std::string rows = grid("64x32", "dim_to_pe=[0, -1], replicate=[1]");
  EXPECT_EQ(wafer("softmax", {rows}, rows), "whole dim");
  EXPECT_EQ(wafer("softmax", {grid("64x32")}, grid("64x32")), "exchanged statistics");
  EXPECT_EQ(wafer("rms_norm", {grid("64x32")}, grid("64x32"), {{"axis", std::int64_t{0}}}),
            "no: whole dim");
  EXPECT_EQ(wafer("relu", {grid("64x32")}, grid("64x32")), "factors");
}

TEST(Restrictions, RefuseLayoutsOfOtherShapes) {
  const graph::TensorType type{*Shape::make({4}), DType::kF32};
  const std::vector<const graph::TensorType*> inputs = {&type};
  const graph::Attributes none;
  const graph::Call call(*graph::Op::find("relu"), inputs, none, 1);
  const Layout other = *Layout::row_major(*Shape::make({5}), DType::kF32);
  for (const std::string_view name : {"ttnn", "spyre", "wafer"}) {
    const MachineFamily family = *find_family(name);
    EXPECT_EQ(family_name(family), name);
    EXPECT_EQ(allowed_on(family, call, {type}, {{other}, {}}).error().code,
              ErrorCode::kShapeMismatch);
    EXPECT_EQ(allowed_on(family, call, {type}, {{}, {}}).error().code, ErrorCode::kShapeMismatch);
    EXPECT_TRUE(allowed_on(family, call, {type}, {{std::nullopt}, {}})->legal);
  }
  EXPECT_EQ(find_family("abacus"), std::nullopt);
}

}  // namespace
}  // namespace tessera::ops

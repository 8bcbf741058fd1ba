// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tessera/base/dtype.h"
#include "tessera/base/text.h"
#include "tools/testing/command_testing.h"

namespace tessera::tools {
namespace {

/// Layouts of every notation for tensors of one rank, with extents that hold 0, 1 and ordinary
/// sizes.
struct Family {
  std::vector<std::string> shapes;
  std::vector<std::string> layouts;
};

const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = {
      {{""},
       {"native<>", "strided<[]>", "pyflame.SinglePE()", "morello.row_major()",
        "dtensor<mesh=[2], [Replicate()]>", "gspmd{replicated}", "xla{}"}},
      {{"0x", "1x", "5x"},
       {"native<{d0} / (1 -> mem)>", "strided<[1]>", "strided<[0]>", "pyflame.RowPartition(3)",
        "spyre.default()", "morello.row_major()", "xla{0}", "onednn.a", "cute<(5):(1)>",
        "gspmd{devices=[2]<=[2]}", "dtensor<mesh=[2], [Shard(0)]>"}},
      {{"0x4x", "4x0x", "0x0x", "1x1x", "64x64x"},
       {"native<{d0} / (1 -> mem*64), {d1} / (1 -> mem)>",
        "strided<[64, 1]>",
        "strided<[1, 1]>",
        "pyflame.Grid(2, 3)",
        "pyflame.BlockCyclic(2, 2, 3, 5)",
        "pyflame.SinglePE()",
        "spyre.default()",
        "spyre.default(sparse=true)",
        ("#tt.metal_layout<(d0, d1) -> (d0, d1), undef, <2x2>, memref<32x32xf32, "
         "#tt.memory_space<l1>>>"),
        ("#tt.metal_layout<(d0, d1) -> (d0, d1), undef, <2x2>, memref<1x1x!tt.tile<32x32, f32>, "
         "#tt.memory_space<l1>>>"),
        ("#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<2x2x!ttcore.tile<32x32, f32>, "
         "#ttnn.buffer_type<dram>>, <interleaved>>"),
        "ttnn<stride=[0, 4, 1], shard_shape=[2, 4]>",
        "ttnn<stride=[64, 1], shard_shape=[32, 32], tile_shape=[32, 32]>",
        "morello.row_major()",
        "morello.col_major()",
        "morello[(1, Dynamic), (0, Dynamic), (1, Packed(4))]",
        "xla{1,0:T(8,128)(2,1)}",
        "onednn.ab",
        "onednn.AB16b16a",
        "cute<(64,64):(64,1)>",
        "gspmd{devices=[2,2]<=[4]}",
        "gspmd{devices=[3,1]<=[3]}",
        "dtensor<mesh=[2], [Shard(0)]>",
        "dtensor<mesh=[2,3], [Shard(0), Shard(0)]>",
        "dtensor<mesh=[2], [Partial()]>"}}};
  return kFamilies;
}

/// An answer is an exit status that means something, and one JSON value or nothing.
void expect_answer(const std::vector<std::string>& args, std::size_t& answers) {
  const Answer answer = run(args);
  ++answers;
  std::string shown;
  for (const std::string& arg : args) shown += " '" + arg + "'";
  EXPECT_TRUE(answer.status == 0 || answer.status == 1 || answer.status == 2)
      << answer.status << shown;
  EXPECT_TRUE(parse_json(answer.out).has_value()) << shown << "\n" << answer.out.substr(0, 400);
  if (answer.status == 2) {
    EXPECT_NE(answer.error_code(), "") << shown << "\n" << answer.out.substr(0, 400);
  }
}

/// Every verb that takes a tensor answers, or refuses with a code, for every notation, element type
/// and extents of 0 and 1. A crash ends this test program.
TEST(EveryVerb, AnswersForEveryNotationTypeAndShape) {
  std::size_t answers = 0;
  std::size_t accepted = 0;
  for (const Family& family : families()) {
    for (const std::string& shape : family.shapes) {
      for (const DType dtype : all_dtypes()) {
        const bool all_verbs =
            dtype_bits(dtype) == 32 || !dtype_bits(dtype) || dtype_bits(dtype) < 8;
        std::vector<std::string> read;
        for (const std::string& layout : family.layouts) {
          const std::string tensor = cat("tensor<", shape, dtype_name(dtype), ", ", layout, ">");
          expect_answer({"show", tensor, "--json"}, answers);
          if (!parse_tensor(tensor)) continue;
          ++accepted;
          if (!all_verbs) continue;
          read.push_back(tensor);
          expect_answer({"show", tensor, "--target", "wormhole", "--json"}, answers);
          if (shape != "64x64x") expect_answer({"locate", tensor, "--slots", "--json"}, answers);
          for (const char* notation : {"native", "dtensor", "pyflame", "spyre", "ttnn"}) {
            expect_answer({"convert", tensor, "--to", notation, "--json"}, answers);
          }
        }
        for (std::size_t i = 0; i < read.size(); ++i) {
          const std::string& other = read[(i + 1) % read.size()];
          expect_answer({"diff", read[i], other, "--json"}, answers);
          expect_answer({"relayout", read[i], other, "--dry-run", "--json"}, answers);
          expect_answer({"reshard", other, read[i], "--target", "wse2", "--json"}, answers);
        }
      }
    }
  }
  EXPECT_GT(accepted, 500U);
  EXPECT_GT(answers, 5000U);
  RecordProperty("answers", static_cast<int>(answers));
}

}  // namespace
}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "bench/everyday_moves.h"

#include <cstdint>

#include "tessera/base/text.h"

namespace tessera::bench {
namespace {

/// bf16 in tiles of 32x32.
std::string tiled(std::string_view layout) {
  return cat("tensor<2048x2048xbf16, native<", layout, ", atom=tile(32x32, bf16)>>");
}

/// Rows of tiles over `rows` places, columns of tiles over `cols`.
std::string sharded(std::int64_t rows, std::int64_t cols) {
  const std::int64_t high = 2048 / rows;
  const std::int64_t wide = 2048 / cols;
  return tiled(cat("mesh=[", rows, ", ", cols, "], {d0} / (", high, " -> m0, 32 -> mem*", wide * 32,
                   "!tile, 1 -> mem*32!tile), {d1} / (", wide,
                   " -> m1, 32 -> mem*1024!tile, 1 -> mem!tile)"));
}

std::string interleaved() {
  return tiled(
      "mesh=[], {d0} / (32 -> mem*65536!tile, 1 -> mem*32!tile), {d1} / (32 -> mem*1024!tile, 1 -> "
      "mem!tile)");
}

std::string row_major() { return "tensor<2048x2048xbf16, strided<[2048, 1]>>"; }

std::string pyflame(std::string_view layout) {
  return cat("tensor<2048x2048xbf16, pyflame.", layout, ">");
}

std::vector<EverydayMove> one_chip() {
  const std::string grid = pyflame("Grid(8, 8)");
  const std::string copies = pyflame("Grid(8, 8, dim_to_pe=[-1, -1], replicate=[0, 1])");
  const std::string rows_of_copies = pyflame("Grid(8, 8, dim_to_pe=[0, -1], replicate=[1])");
  const std::string shares = pyflame("Grid(8, 8, dim_to_pe=[0, -1], partial=[1:sum])");
  const std::string f32 = "tensor<2048x2048xf32, pyflame.Grid(8, 8)>";
  return {{"host to DRAM", interleaved(), "system", interleaved(), "dram"},
          {"DRAM to host", interleaved(), "dram", interleaved(), "system"},
          {"host to L1, block-sharded", interleaved(), "system", sharded(8, 8), "l1"},
          {"DRAM to L1, block-sharded", interleaved(), "dram", sharded(8, 8), "l1"},
          {"DRAM to L1, height-sharded", interleaved(), "dram", sharded(8, 1), "l1"},
          {"DRAM to L1, width-sharded", interleaved(), "dram", sharded(1, 8), "l1"},
          {"L1 block-sharded to DRAM", sharded(8, 8), "l1", interleaved(), "dram"},
          {"block to height", sharded(8, 8), "l1", sharded(8, 1), "l1"},
          {"height to width", sharded(8, 1), "l1", sharded(1, 8), "l1"},
          {"row-major DRAM to tiled DRAM", row_major(), "dram", interleaved(), "dram"},
          {"transpose of the grid", grid, "l1", pyflame("Grid(8, 8, dim_to_pe=[1, 0])"), "l1"},
          {"broadcast", pyflame("SinglePE()"), "l1", copies, "l1"},
          {"gather", grid, "l1", pyflame("SinglePE()"), "l1"},
          {"all-gather along rows", grid, "l1", rows_of_copies, "l1"},
          {"all-gather over the chip", grid, "l1", copies, "l1"},
          {"reduce-scatter along rows", shares, "l1", grid, "l1"},
          {"all-reduce along rows", shares, "l1", rows_of_copies, "l1"},
          {"reduce to one place", pyflame("Grid(8, 8, dim_to_pe=[-1, -1], partial=[0:sum, 1:sum])"),
           "l1", pyflame("SinglePE()"), "l1"},
          {"bf16 to f32 in place", grid, "l1", f32, "l1"},
          {"bf16 in DRAM to f32 in L1", interleaved(), "dram", f32, "l1"}};
}

/// In DRAM, the places of a tensor are chips; in L1, cores of all chips.
std::vector<EverydayMove> chips(std::int64_t count) {
  const auto over = [](std::string_view dtype, std::string_view mesh, std::string_view how) {
    return cat("tensor<2048x2048x", dtype, ", dtensor<mesh=[", mesh, "], [", how, "]>>");
  };
  const auto dram = [&](std::string_view how) { return over("bf16", cat(count), how); };
  const auto l1 = [&](std::string_view how) { return over("bf16", cat(count, ",8,8"), how); };
  const std::string one = over("bf16", "1", "Replicate()");
  const std::string cut = l1("Shard(0), Shard(0), Shard(1)");
  return {
      {"host to the DRAM of one chip", interleaved(), "system", interleaved(), "dram"},
      {"DRAM of one chip to the host", interleaved(), "dram", interleaved(), "system"},
      {"host to DRAM, cut over the chips", row_major(), "system", dram("Shard(0)"), "dram"},
      {"host to L1 of all chips", row_major(), "system", cut, "l1"},
      {"DRAM to L1 of the same chip", dram("Shard(0)"), "dram", cut, "l1"},
      {"L1 to DRAM of the same chip", cut, "l1", dram("Shard(0)"), "dram"},
      {"one chip to all, cut", one, "dram", dram("Shard(0)"), "dram"},
      {"broadcast to all chips", one, "dram", dram("Replicate()"), "dram"},
      {"gather on one chip", dram("Shard(0)"), "dram", one, "dram"},
      {"all-gather over the chips", dram("Shard(0)"), "dram", dram("Replicate()"), "dram"},
      {"all-reduce over the chips", dram("Partial(sum)"), "dram", dram("Replicate()"), "dram"},
      {"reduce-scatter over the chips", dram("Partial(sum)"), "dram", dram("Shard(0)"), "dram"},
      {"all-to-all over the chips", dram("Shard(0)"), "dram", dram("Shard(1)"), "dram"},
      {"all-to-all between the L1 of the chips", cut, "l1", l1("Shard(1), Shard(0), Shard(1)"),
       "l1"},
      {"all-gather between the L1 of the chips", cut, "l1", l1("Replicate(), Shard(0), Shard(1)"),
       "l1"},
      {"all-reduce between the L1 of the chips", l1("Partial(sum), Shard(0), Shard(1)"), "l1",
       l1("Replicate(), Shard(0), Shard(1)"), "l1"},
      {"all-gather along rows of each chip", cut, "l1", l1("Shard(0), Shard(0), Replicate()"),
       "l1"},
      {"all-reduce along rows of each chip", l1("Shard(0), Shard(0), Partial(sum)"), "l1",
       l1("Shard(0), Shard(0), Replicate()"), "l1"},
      {"bf16 to f32 in L1", cut, "l1",
       over("f32", cat(count, ",8,8"), "Shard(0), Shard(0), Shard(1)"), "l1"},
      {"f32 in L1 to bf16 in DRAM", over("f32", cat(count, ",8,8"), "Shard(0), Shard(0), Shard(1)"),
       "l1", dram("Shard(0)"), "dram"}};
}

std::vector<EverydayMove> wafer() {
  const auto vector = [](std::string_view layout) {
    return cat("tensor<2048xf32, pyflame.", layout, ">");
  };
  const auto flat = [](std::string_view layout) {
    return cat("tensor<256x2048xbf16, pyflame.", layout, ">");
  };
  const std::string grid = pyflame("Grid(64, 64)");
  const std::string shares = vector("Grid(64, 64, dim_to_pe=[0], partial=[1:sum])");
  const std::string f32 = "tensor<2048x2048xf32, pyflame.Grid(64, 64)>";
  return {
      {"host to SRAM", pyflame("SinglePE()"), "host", grid, "sram"},
      {"SRAM to host", grid, "sram", pyflame("SinglePE()"), "host"},
      {"another grid", grid, "sram", pyflame("Grid(32, 128)"), "sram"},
      {"to a larger grid", grid, "sram", pyflame("Grid(100, 100)"), "sram"},
      {"the same grid elsewhere", grid, "sram", pyflame("Grid(64, 64, origin=(64, 64))"), "sram"},
      {"block-cyclic to blocks", pyflame("BlockCyclic(64, 64, 8, 8)"), "sram", grid, "sram"},
      {"blocks to block-cyclic", grid, "sram", pyflame("BlockCyclic(64, 64, 8, 8)"), "sram"},
      {"transpose of the grid", grid, "sram", pyflame("Grid(64, 64, dim_to_pe=[1, 0])"), "sram"},
      {"rows to columns", pyflame("RowPartition(512)"), "sram", pyflame("ColPartition(512)"),
       "sram"},
      {"broadcast of a vector", vector("SinglePE()"), "sram",
       vector("Grid(64, 64, dim_to_pe=[-1], replicate=[0, 1])"), "sram"},
      {"scatter of a vector", vector("SinglePE()"), "sram", vector("RowPartition(64)"), "sram"},
      {"gather of a vector", vector("RowPartition(64)"), "sram", vector("SinglePE()"), "sram"},
      {"all-gather along rows", flat("Grid(64, 64)"), "sram",
       flat("Grid(64, 64, dim_to_pe=[0, -1], replicate=[1])"), "sram"},
      {"all-gather along columns", flat("Grid(64, 64)"), "sram",
       flat("Grid(64, 64, dim_to_pe=[-1, 1], replicate=[0])"), "sram"},
      {"reduce-scatter along rows", flat("Grid(64, 64, dim_to_pe=[0, -1], partial=[1:sum])"),
       "sram", flat("Grid(64, 64)"), "sram"},
      {"all-reduce along rows", shares, "sram",
       vector("Grid(64, 64, dim_to_pe=[0], replicate=[1])"), "sram"},
      {"all-reduce over the grid", vector("Grid(64, 64, dim_to_pe=[-1], partial=[0:sum, 1:sum])"),
       "sram", vector("Grid(64, 64, dim_to_pe=[-1], replicate=[0, 1])"), "sram"},
      {"reduce along rows", shares, "sram", vector("Grid(64, 64, dim_to_pe=[0])"), "sram"},
      {"bf16 to f32 in place", grid, "sram", f32, "sram"},
      {"f32 to bf16 on another grid", f32, "sram", pyflame("Grid(32, 128)"), "sram"}};
}

std::vector<EverydayMove> card() {
  const std::string sticks = "tensor<2048x2048xf16, spyre.default()>";
  const auto cores = [](std::string_view extents, std::string_view how) {
    return cat("tensor<", extents, ", dtensor<mesh=[32], [", how, "]>>");
  };
  const std::string rows = cores("2048x2048xf16", "Shard(0)");
  const std::string columns = cores("2048x2048xf16", "Shard(1)");
  const std::string small_copies = cores("512x512xf16", "Replicate()");
  const std::string small_shares = cores("512x512xf16", "Partial(sum)");
  const std::string small_rows = cores("512x512xf16", "Shard(0)");
  const std::string small = "tensor<512x512xf16, dtensor<mesh=[1], [Replicate()]>>";
  const std::string f32 = cores("2048x2048xf32", "Shard(0)");
  return {
      {"host to device memory", sticks, "host", sticks, "hbm"},
      {"device memory to host", sticks, "hbm", sticks, "host"},
      {"row-major host to sticks", "tensor<2048x2048xf16, strided<[2048, 1]>>", "host", sticks,
       "hbm"},
      {"host to LX, cut by rows", "tensor<2048x2048xf16, strided<[2048, 1]>>", "host", rows, "lx"},
      {"device memory to LX, cut by rows", sticks, "hbm", rows, "lx"},
      {"device memory to LX, cut by columns", sticks, "hbm", columns, "lx"},
      {"device memory to a copy in every LX", "tensor<512x512xf16, spyre.default()>", "hbm",
       small_copies, "lx"},
      {"LX to device memory", rows, "lx", sticks, "hbm"},
      {"sticks along the other dim", sticks, "hbm",
       "tensor<2048x2048xf16, spyre.default(dim_order=[1, 0])>", "hbm"},
      {"rows to columns between LX", rows, "lx", columns, "lx"},
      {"broadcast from one LX", small, "lx", small_copies, "lx"},
      {"scatter from one LX", small, "lx", small_rows, "lx"},
      {"gather in one LX", small_rows, "lx", small, "lx"},
      {"all-gather between LX", small_rows, "lx", small_copies, "lx"},
      {"reduce-scatter between LX", small_shares, "lx", small_rows, "lx"},
      {"all-reduce between LX", small_shares, "lx", small_copies, "lx"},
      {"reduce to one LX", small_shares, "lx", small, "lx"},
      {"f16 to f32 in LX", rows, "lx", f32, "lx"},
      {"f16 in device memory to f32 in LX", sticks, "hbm", f32, "lx"},
      {"f32 in LX to f16 in device memory", f32, "lx", sticks, "hbm"}};
}

}  // namespace

const std::vector<MachineFamily>& machine_families() {
  static const std::vector<MachineFamily> families = {{"one chip", {"wormhole", "blackhole"}},
                                                      {"chips", {"wormhole-n300", "wormhole-8"}},
                                                      {"wafers", {"wse2", "wse3"}},
                                                      {"cards", {"spyre"}}};
  return families;
}

std::vector<EverydayMove> everyday_moves(std::string_view machine) {
  if (machine == "wormhole" || machine == "blackhole") return one_chip();
  if (machine == "wormhole-n300") return chips(2);
  if (machine == "wormhole-8") return chips(8);
  if (machine == "wse2" || machine == "wse3") return wafer();
  if (machine == "spyre") return card();
  return {};
}

}  // namespace tessera::bench

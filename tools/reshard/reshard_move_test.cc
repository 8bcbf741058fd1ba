// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_move.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/exchange.h"
#include "tessera/reshard/part.h"
#include "tools/reshard/rank_maps.h"
#include "tools/reshard/run_ranks.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/shard_testing.h"

/// Reshards of files by one process, and by threads that act as processes.
namespace tessera::tools {
namespace {

std::string ttnn(const std::string& grid, const std::string& memref, const std::string& kind,
                 const std::string& range) {
  return cat("#ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <", grid, ">, memref<", memref,
             ", #ttnn.buffer_type<l1>>, <", kind, ">, core_ranges = <[#ttnn.core_range<", range,
             ">]>>");
}

std::string tensor(const std::string& type, const std::string& layout) {
  return cat("tensor<", type, ", ", layout, ">");
}

class ReshardMove : public TestFolder, public testing::Test {
 protected:
  std::vector<std::string> arguments(const ShardCase& shards,
                                     const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {
        "reshard", shards.a_text,        shards.b_text, "--in", path("x.{place}.npy"),
        "--out",   path("y.{place}.npy")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }

  /// Moves, and compares every output with the result of the loops.
  void moves(const std::string& a, const std::string& b,
             const std::vector<std::string>& more = {}) {
    const ShardCase shards(a, b);
    shards.write_inputs(folder_.string());
    const Answer answer = run(arguments(shards, more));
    EXPECT_EQ(answer.status, 0) << answer.err << answer.out;
    EXPECT_EQ(shards.check_outputs(folder_.string()), "") << a << "\n" << b;
    for (const std::string& name : names()) std::filesystem::remove(path(name));
  }

  Answer fails(const std::string& a, const std::string& b, const std::vector<std::string>& more) {
    std::vector<std::string> args = {"reshard", a, b, "--json"};
    args.insert(args.end(), more.begin(), more.end());
    const Answer answer = run(args);
    EXPECT_NE(answer.status, 0) << answer.out;
    return answer;
  }
};

TEST_F(ReshardMove, BetweenNotations) {
  const std::string rows = tensor("53x63xf32", "pyflame.RowPartition(4)");
  const std::string columns = tensor("53x63xf32", "pyflame.ColPartition(4)");
  const std::string grid = tensor("53x63xf32", "pyflame.Grid(3, 2)");
  const std::string cyclic = tensor("53x63xf32", "pyflame.BlockCyclic(2, 2, 5, 7)");
  // Blocks of 8x4 over 2x2 places, with contiguous columns, as in ScaLAPACK: (32, 32) on each.
  const std::string blocks =
      tensor("53x63xf32",
             "native<mesh=[2, 2], {d0} / (16 -> mem*8, 8 -> m0, 1 -> mem), {d1} / (8 -> mem*128, "
             "4 -> m1, 1 -> mem*32)>");
  const std::string whole = tensor("53x63xf32", "strided<[63, 1]>");
  moves(rows, columns);
  moves(grid, cyclic);
  moves(cyclic, rows);
  moves(whole, grid);
  moves(grid, whole);
  moves(rows, blocks);
  moves(blocks, cyclic);
  const std::string devices = tensor("64x64xf32", "gspmd{devices=[4,2]<=[8]}");
  moves(devices, tensor("64x64xf32", "gspmd{devices=[1,8]<=[4,2]T(1,0)}"));
  moves(devices, tensor("64x64xf32", "dtensor<mesh=[8], [Shard(1)]>"));
  moves(tensor("5x6xf32", "dtensor<mesh=[2, 2], [Shard(0), Shard(0)]>"),
        tensor("5x6xf32", "dtensor<mesh=[2, 2], [Shard(1), Replicate()]>"));
}

TEST_F(ReshardMove, FilesOfListedDevices) {
  // Elements 0 to 3 are on devices 2, 0 and 3, the others on 1, 5 and 4; a file has the number of
  // its device.
  const std::string listed =
      tensor("8xui8", "gspmd{devices=[2,3]2,0,3,1,5,4 last_tile_dim_replicate}");
  const std::string whole = tensor("8xui8", "strided<[1]>");
  std::ofstream(path("whole.bin"), std::ios::binary) << "abcdefgh";
  const Answer out =
      run({"reshard", whole, listed, "--in", path("whole.bin"), "--out", path("y.{place}.bin")});
  ASSERT_EQ(out.status, 0) << out.err;
  for (int device = 0; device < 6; ++device) {
    std::ostringstream text;
    text << std::ifstream(path(cat("y.", device, ".bin")), std::ios::binary).rdbuf();
    EXPECT_EQ(text.str(), device == 0 || device == 2 || device == 3 ? "abcd" : "efgh") << device;
  }
  // Back, from devices 0 and 1 (the smallest numbers) or any other copy.
  const Answer back =
      run({"reshard", listed, whole, "--in", path("y.{place}.bin"), "--out", path("back.bin")});
  ASSERT_EQ(back.status, 0) << back.err;
  std::ostringstream text;
  text << std::ifstream(path("back.bin"), std::ios::binary).rdbuf();
  EXPECT_EQ(text.str(), "abcdefgh");
  // Device 0 has elements 0 to 3 in both; the others come from devices that have them.
  const Answer cost =
      run({"reshard", listed, tensor("8xui8", "gspmd{devices=[2]<=[2]}"), "--json"});
  EXPECT_EQ(cost.json()["bytes"], 0);
  EXPECT_EQ(
      fails(listed, whole, {"--in", path("y.{rank}.bin"), "--out", path("z.bin")}).error_code(),
      "not_supported");
}

TEST_F(ReshardMove, TiledShardsOfTtnn) {
  const std::string height = tensor(
      "128x64xf32", ttnn("4x1", "1x2x!ttcore.tile<32x32, f32>", "height_sharded", "(0,0), (0,3)"));
  const std::string block = tensor(
      "128x64xf32", ttnn("2x2", "2x1x!ttcore.tile<32x32, f32>", "block_sharded", "(0,0), (1,1)"));
  moves(height, block);
  moves(block, tensor("128x64xf32", "pyflame.Grid(4, 2)"));
  // Meshes of other ranks: device numbers, and no mesh at all.
  moves(tensor("128x64xf32", "gspmd{devices=[4,1]<=[4]}"), block);
  moves(height, tensor("128x64xf32", "strided<[64, 1]>"));
  moves(tensor("128x64xf32", "pyflame.Grid(4, 2)"), height);
}

TEST_F(ReshardMove, CopiesPartialSumsAndTypes) {
  const std::string partial =
      tensor("16x12xf32", "pyflame.Grid(4, 3, partial=[1:sum], dim_to_pe=[0, -1])");
  moves(partial, tensor("16x12xf32", "pyflame.RowPartition(4)"));
  moves(partial, tensor("16x12xf32", "pyflame.Grid(2, 2)"));
  moves(tensor("16x12xf32", "pyflame.RowPartition(4)"),
        tensor("16x12xf32", "pyflame.Grid(2, 3, replicate=[1], dim_to_pe=[0, -1])"));
  for (const std::string type : {"f64", "bf16", "ui8", "si32"}) {
    moves(tensor("31x17x" + type, "pyflame.Grid(3, 2)"),
          tensor("31x17x" + type, "pyflame.BlockCyclic(2, 2, 4, 4)"));
  }
}

TEST_F(ReshardMove, OtherOptions) {
  const std::string rows = tensor("40x24xf32", "pyflame.RowPartition(4)");
  const std::string columns = tensor("40x24xf32", "pyflame.ColPartition(4)");
  moves(rows, columns, {"--threads", "3", "--checksums"});
  moves(rows, columns, {"--target", "wse2", "--staging", "65536"});
  moves(rows, columns, {"--ranks-of-places", "cyclic", "--json"});
  // Files are named by the places of the tensor's own mesh, which do not change with the physical
  // position.
  moves(tensor("40x24xf32", "pyflame.Grid(2, 2)"),
        tensor("40x24xf32", "pyflame.Grid(2, 2, dim_to_pe=[1, 0])"), {"--relabel"});
}

TEST(RankMaps, BothSidesAreSpreadOverAllRanks) {
  const Tensor rows = *parse_tensor(tensor("40x24xf32", "pyflame.RowPartition(4)"));
  const Tensor columns = *parse_tensor(tensor("40x24xf32", "pyflame.ColPartition(4)"));
  const auto ranks_of = [](const Tensor& a, const Tensor& b, const std::string& text, int ranks) {
    const reshard::PhysicalMesh physical =
        *reshard::PhysicalMesh::in_a_row(a.placement, b.placement);
    const reshard::Reshard reshard = *reshard::Reshard::make(a.placement, b.placement, physical);
    const RankMaps maps = *rank_maps_of(text, reshard, ranks);
    std::string all;
    for (const auto& [tensor, map, part] :
         {std::tuple(&a, &maps.from, &reshard::ReshardPart::map_a),
          std::tuple(&b, &maps.to, &reshard::ReshardPart::map_b)}) {
      for (std::int64_t place = 0; place < tensor->placement.places(); ++place) {
        all += cat(map->rank_of((reshard.parts().front().*part).physical(place)));
      }
      all += ' ';
    }
    return all;
  };
  EXPECT_EQ(ranks_of(rows, columns, "", 4), "0123 0123 ");
  EXPECT_EQ(ranks_of(rows, columns, "blocks", 3), "0012 0012 ");
  EXPECT_EQ(ranks_of(rows, columns, "cyclic", 3), "0120 0120 ");
  EXPECT_EQ(ranks_of(rows, columns, "1, 0,2,2", 3), "1022 1022 ");
  const Tensor one = *parse_tensor(tensor("40x24xf32", "strided<[24, 1]>"));
  EXPECT_EQ(ranks_of(one, columns, "", 2), "0 0011 ");
  // Rows and columns exchanged: the same places, and a place has one rank.
  const Tensor grid = *parse_tensor(tensor("40x24xf32", "pyflame.Grid(2, 2)"));
  const Tensor turned = *parse_tensor(
      tensor("40x24xf32",
             "native<mesh=[2, 2], {d0} / (20 -> m0, 1 -> mem*12), {d1} / (12 -> m1, 1 -> mem), "
             "device=folded([2, 2], {d0} / (1 -> m1), {d1} / (1 -> m0), origin=[0, 0])>"));
  EXPECT_EQ(ranks_of(grid, turned, "", 2), "0011 0101 ");
}

TEST_F(ReshardMove, OneFileForAllPlacesOfARank) {
  const ShardCase shards(tensor("40x24xf32", "pyflame.RowPartition(4)"),
                         tensor("40x24xf32", "pyflame.ColPartition(4)"));
  write("x.0.npy", write_npy_header({'f', 4, false}, false, {4, 10, 24}) + shards.all_inputs());
  const Answer answer = run({"reshard", shards.a_text, shards.b_text, "--in", path("x.{rank}.npy"),
                             "--out", path("y.{rank}.npy")});
  ASSERT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(read("y.0.npy"),
            write_npy_header({'f', 4, false}, false, {4, 40, 6}) + shards.all_outputs());
  write("x.bin", shards.all_inputs());
  const Answer raw = run({"reshard", shards.a_text, shards.b_text, "--in", path("x.{rank}"),
                          "--out", path("y.{rank}.bin"), "--raw"});
  EXPECT_NE(raw.err.find("x.0'"), std::string::npos) << raw.err;
  std::filesystem::rename(path("x.bin"), path("x.0"));
  EXPECT_EQ(run({"reshard", shards.a_text, shards.b_text, "--in", path("x.{rank}"), "--out",
                 path("y.{rank}.bin"), "--raw"})
                .status,
            0);
  EXPECT_EQ(read("y.0.bin"), shards.all_outputs());
}

TEST_F(ReshardMove, PlacesThatShareAByte) {
  // 3 elements of 4 bits on each of two places are 3 bytes, the first element in the low half.
  write("x.0.npy", write_npy_header({'u', 1, false}, false, {3}) + "\x21\x43\x65");
  const Answer answer = run({"reshard", tensor("6xi4", "pyflame.RowPartition(2)"),
                             tensor("6xi4", "pyflame.RowPartition(3)"), "--in",
                             path("x.{rank}.npy"), "--out", path("y.{place}.npy")});
  ASSERT_EQ(answer.status, 0) << answer.err;
  const std::string header = write_npy_header({'u', 1, false}, false, {1});
  EXPECT_EQ(read("y.0.npy"), header + "\x21");
  EXPECT_EQ(read("y.1.npy"), header + "\x43");
  EXPECT_EQ(read("y.2.npy"), header + "\x65");
}

TEST_F(ReshardMove, ReportsFilesAndBytes) {
  const ShardCase shards(tensor("40x24xf32", "pyflame.RowPartition(4)"),
                         tensor("40x24xf32", "pyflame.ColPartition(4)"));
  shards.write_inputs(folder_.string());
  const Json json = run(arguments(shards, {"--json"})).json();
  EXPECT_EQ(json["ranks"], 1);
  EXPECT_EQ(json["bytes"], 0);  // there is no other rank
  EXPECT_EQ(json["local_bytes"], 40 * 24 * 4);
  EXPECT_EQ(json["packets"], 0);
  EXPECT_EQ(json["files_read"], 4);
  EXPECT_EQ(json["files_written"], 4);
  EXPECT_EQ(json["file_bytes"], 40 * 24 * 4 + 4 * 128);
  EXPECT_TRUE(json["seconds"].contains("planning"));
  EXPECT_GE(json["seconds"]["moving"].get<double>(), 0);
  const Answer text = run(arguments(shards));
  EXPECT_NE(text.out.find(" 4 files"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("(40, 6)"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("'<f4'"), std::string::npos) << text.out;
}

TEST_F(ReshardMove, BitsWithoutANumPyTypeHaveASidecar) {
  const ShardCase shards(tensor("8x8xbf16", "pyflame.RowPartition(2)"),
                         tensor("8x8xbf16", "pyflame.ColPartition(2)"));
  shards.write_inputs(folder_.string());
  ASSERT_EQ(run(arguments(shards)).status, 0);
  EXPECT_EQ(parsed(read("y.1.npy.json"))["dtype"], "bf16");
  // The written files can be read again, and a file of another tensor is refused.
  const std::vector<std::string> names = {"--in", path("y.{place}.npy"), "--out",
                                          path("z.{place}.npy")};
  EXPECT_EQ(fails(shards.a_text, shards.b_text, names).error_code(), "contradiction");
  std::vector<std::string> back = {"reshard", shards.b_text, shards.a_text};
  back.insert(back.end(), names.begin(), names.end());
  EXPECT_EQ(run(back).status, 0);
  EXPECT_EQ(read("z.1.npy").substr(128), read("x.1.npy").substr(128));
}

TEST_F(ReshardMove, AnErrorLeavesAllFilesUnchanged) {
  const ShardCase shards(tensor("40x24xf32", "pyflame.RowPartition(4)"),
                         tensor("40x24xf32", "pyflame.ColPartition(4)"));
  shards.write_inputs(folder_.string());
  std::filesystem::remove(path("x.2.npy"));
  write("y.1.npy", "old");
  const std::vector<std::string> before = names();
  const std::vector<std::string> files = {"--in", path("x.{place}.npy"), "--out",
                                          path("y.{place}.npy")};
  const Answer answer = fails(shards.a_text, shards.b_text, files);
  EXPECT_EQ(answer.error_code(), "io");
  EXPECT_NE(answer.out.find("x.2.npy"), std::string::npos) << answer.out;
  EXPECT_EQ(names(), before);
  EXPECT_EQ(read("y.1.npy"), "old");
}

TEST_F(ReshardMove, RefusesInvalidOptions) {
  const std::string a = tensor("40x24xf32", "pyflame.RowPartition(4)");
  const std::string b = tensor("40x24xf32", "pyflame.ColPartition(4)");
  const auto code = [&](std::vector<std::string> more, bool files = true) {
    if (files) {
      more.insert(more.end(), {"--in", path("x.{place}.npy"), "--out", path("y.{place}.npy")});
    }
    return fails(a, b, more).error_code();
  };
  EXPECT_EQ(code({"--in", "x.{place}.npy"}, false), "usage");
  EXPECT_EQ(code({"--in", "x.npy", "--out", "y.{place}.npy"}, false), "usage");
  EXPECT_EQ(code({"--in", "x.{place}.npy", "--out", "x.{place}.npy"}, false), "io");
  for (const std::string flag : {"--pairs", "--heat", "--no-heat"}) {
    EXPECT_EQ(code({flag}), "usage") << flag;
  }
  EXPECT_EQ(code({"--trace", "t.json"}), "usage");
  EXPECT_EQ(code({"--timeout", "3"}), "usage");
  EXPECT_EQ(code({"--no-shared-memory"}), "usage");
  for (const std::string flag : {"--checksums", "--raw", "--progress"}) {
    EXPECT_EQ(code({flag}, false), "usage") << flag;
  }
  EXPECT_EQ(code({"--threads", "0"}), "usage");
  EXPECT_EQ(code({"--threads", "100000"}), "out_of_range");
  EXPECT_EQ(code({"--staging", "0"}), "usage");
  EXPECT_EQ(code({"--ranks-of-places", "block"}), "unknown_name");
  EXPECT_EQ(code({"--ranks-of-places", "0,0,0"}), "usage");
  EXPECT_EQ(code({"--ranks-of-places", "0,,0"}), "bad_number");
  EXPECT_EQ(code({"--ranks-of-places", "0,  ,0"}), "bad_number");
  EXPECT_EQ(code({"--ranks-of-places", "99999999999"}), "bad_number");
  // 4x1 and 1x4 places are on a mesh of 4x4.
  EXPECT_EQ(code({"--ranks-of-places", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1"}), "out_of_range");
  const std::string line =
      dump(Json{{"a", a}, {"b", b}, {"in", "x.{place}"}, {"out", "y.{place}"}, {"mpi", true}});
  EXPECT_NE(run({"reshard", "--batch"}, line + "\n").out.find("\"usage\""), std::string::npos);
}

/// Several ranks of the command as threads: each with its own arguments and streams.
class ReshardRanks : public ReshardMove {
 protected:
  std::vector<Answer> on_ranks(const std::vector<std::vector<std::string>>& args) {
    const int ranks = static_cast<int>(args.size());
    std::vector<std::unique_ptr<exchange::Exchange>> exchanges =
        exchange::in_process_exchange(ranks);
    std::vector<Answer> answers(args.size());
    std::vector<std::thread> threads;
    for (std::size_t r = 0; r < args.size(); ++r) {
      threads.emplace_back([&, r] {
        std::ostringstream out;
        std::ostringstream err;
        const std::vector<std::string> rest(args[r].begin() + 1, args[r].end());
        answers[r].status =
            run_on_ranks(**find_verb("reshard"), rest, *exchanges[r], out, err, {}).exit;
        answers[r].out = out.str();
        answers[r].err = err.str();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
  }
};

TEST_F(ReshardRanks, ShareTheWork) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(4)"),
                         tensor("53x63xf32", "pyflame.BlockCyclic(2, 2, 5, 7)"));
  shards.write_inputs(folder_.string());
  const std::vector<std::string> args = arguments(shards, {"--mpi", "--json"});
  const std::vector<Answer> answers = on_ranks({args, args, args});
  EXPECT_EQ(shards.check_outputs(folder_.string()), "");
  for (const Answer& answer : answers) EXPECT_EQ(answer.status, 0) << answer.err << answer.out;
  const Json json = answers[0].json();
  EXPECT_EQ(json["ranks"], 3);
  EXPECT_EQ(json["bytes"].get<int>() + json["local_bytes"].get<int>(), 53 * 63 * 4);
  EXPECT_GT(json["bytes"].get<int>(), 0);
  EXPECT_GT(json["staged_bytes"].get<int>(), 0);
  EXPECT_EQ(answers[1].out + answers[2].out + answers[1].err + answers[2].err, "");
}

TEST_F(ReshardRanks, HaveAnyPlaces) {
  const std::string rows = tensor("53x63xf32", "pyflame.RowPartition(4)");
  const ShardCase shards(rows, tensor("53x63xf32", "pyflame.Grid(2, 3)"));
  shards.write_inputs(folder_.string());
  for (const std::string map : {"blocks", "cyclic", "1,1,0,0,0,1,1,0,0,1,0,1"}) {
    for (const std::size_t ranks : {2, 5}) {
      for (const std::string more : {"--no-shared-memory", "--relabel"}) {
        const std::vector<std::string> args =
            arguments(shards, {"--mpi", "--ranks-of-places", map, more});
        const std::vector<Answer> answers = on_ranks(std::vector(ranks, args));
        EXPECT_EQ(answers[0].status, 0) << answers[0].err;
        EXPECT_EQ(shards.check_outputs(folder_.string()), "") << map << " " << ranks << more;
        for (int i = 0; i < 6; ++i) std::filesystem::remove(path(cat("y.", i, ".npy")));
      }
    }
  }
}

TEST_F(ReshardRanks, RelabellingMovesLess) {
  const ShardCase shards(tensor("40x24xf32", "pyflame.Grid(2, 2)"),
                         tensor("40x24xf32", "pyflame.Grid(2, 2, dim_to_pe=[1, 0])"));
  shards.write_inputs(folder_.string());
  const std::vector<std::string> as_said = arguments(shards, {"--mpi", "--json"});
  // B's tiles are A's with the two places off the diagonal exchanged.
  EXPECT_EQ(on_ranks(std::vector(4, as_said))[0].json()["bytes"], 40 * 24 * 4 / 2);
  const std::vector<std::string> better = arguments(shards, {"--mpi", "--json", "--relabel"});
  const Json json = on_ranks(std::vector(4, better))[0].json();
  EXPECT_EQ(shards.check_outputs(folder_.string()), "");
  EXPECT_EQ(json["bytes"], 0);
  EXPECT_EQ(json["relabel"]["changed"], true);
}

TEST_F(ReshardRanks, AFileThatCannotBeWrittenStopsAll) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(4)"),
                         tensor("53x63xf32", "pyflame.ColPartition(4)"));
  shards.write_inputs(folder_.string());
  std::filesystem::create_directory(path("y.3.npy"));
  const std::vector<std::string> before = names();
  const std::vector<std::string> args = arguments(shards, {"--mpi", "--json"});
  const std::vector<Answer> answers = on_ranks({args, args});
  for (const Answer& answer : answers) EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answers[0].error_code(), "io");
  EXPECT_NE(answers[0].out.find("rank 1: "), std::string::npos) << answers[0].out;
  EXPECT_EQ(names(), before);
}

TEST_F(ReshardRanks, OneErrorForAll) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(4)"),
                         tensor("53x63xf32", "pyflame.ColPartition(4)"));
  shards.write_inputs(folder_.string());
  std::vector<std::string> before = names();
  const std::vector<std::string> good = arguments(shards, {"--mpi"});
  const auto expect_one = [&](const std::vector<std::vector<std::string>>& args, int status,
                              const std::vector<std::string>& parts) {
    const std::vector<Answer> answers = on_ranks(args);
    for (const Answer& answer : answers) EXPECT_EQ(answer.status, status);
    for (const std::string& part : parts) {
      EXPECT_NE(answers[0].err.find(part), std::string::npos) << answers[0].err;
    }
    EXPECT_EQ(answers[1].err + answers[2].err + answers[1].out + answers[2].out, "");
    EXPECT_EQ(names(), before);
  };
  std::vector<std::string> other = good;
  other[2] = tensor("53x63xf32", "pyflame.Grid(2, 2)");
  expect_one({good, other, good}, 2, {"error[plans_differ]", "rank 1", "Grid(2, 2)"});
  other = arguments(shards, {"--mpi", "--checksums"});
  expect_one({good, good, other}, 2, {"error[plans_differ]", "rank 2", "--checksums"});
  other = good;
  other[1] = "tensor<53x63xf99, pyflame.RowPartition(4)>";
  expect_one({good, good, other}, 2, {"error[bad_dtype]: rank 2: in A"});
  // The same error on all ranks is not attributed to one rank, and shows its position in the text.
  expect_one({other, other, other}, 2, {"error[bad_dtype]: in A", "^^^"});
  other[1] = "-";
  expect_one({other, other, other}, 2, {"error[usage]: ", "--mpi"});
  std::filesystem::rename(path("x.3.npy"), path("x.gone"));
  before = names();
  expect_one({good, good, good}, 2, {"error[io]: rank 2: ", "x.3.npy"});
}

}  // namespace
}  // namespace tessera::tools

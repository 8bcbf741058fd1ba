// SPDX-License-Identifier: Apache-2.0
#include "tools/files/shard_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "tessera/base/text.h"
#include "tools/files/shard_array.h"
#include "tools/files/shard_names.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/message_facts.h"

namespace tessera::tools {
namespace {

ErrorCode code_of(const std::string& pattern, std::int64_t places) {
  const Result<ShardNames> names = ShardNames::parse(pattern, "--in", places);
  EXPECT_FALSE(names.ok()) << pattern;
  return names ? ErrorCode::kIo : names.error().code;
}

TEST(ShardNames, NumbersReplaceThePlaceholders) {
  const auto name = [](const std::string& pattern, std::int64_t number) {
    return ShardNames::parse(pattern, "--in", 8)->of(number);
  };
  EXPECT_EQ(name("x.{place}.npy", 3), "x.3.npy");
  EXPECT_EQ(name("{place}", 12), "12");
  EXPECT_EQ(name("x-{place:5}-of-8.npy", 12), "x-00012-of-8.npy");
  EXPECT_EQ(name("x.{place:1}.npy", 123), "x.123.npy");
  EXPECT_EQ(name("a}b/{rank}.bin", 0), "a}b/0.bin");
  EXPECT_EQ(ShardNames::parse("x.npy", "--in", 1)->of(0), "x.npy");
  EXPECT_EQ(ShardNames::parse("x.{place}.npy", "--in", 8)->key(), ShardKey::kPlace);
  EXPECT_EQ(ShardNames::parse("x.{rank}.npy", "--in", 8)->key(), ShardKey::kRank);
  EXPECT_EQ(ShardNames::parse("x.npy", "--in", 1)->key(), ShardKey::kWhole);
}

TEST(ShardNames, RefusesPatternsThatGiveOneNameTwice) {
  EXPECT_EQ(code_of("", 1), ErrorCode::kUsage);
  EXPECT_EQ(code_of("x.npy", 2), ErrorCode::kUsage);
  EXPECT_EQ(code_of("x.npy", 0), ErrorCode::kUsage);
  EXPECT_EQ(code_of("x.{place}.{place}.npy", 2), ErrorCode::kUsage);
  EXPECT_EQ(code_of("x.{place}.{rank}.npy", 2), ErrorCode::kUsage);
  EXPECT_EQ(code_of("x.{place.npy", 2), ErrorCode::kSyntax);
  EXPECT_EQ(code_of("x.{row}.npy", 2), ErrorCode::kUnknownName);
  EXPECT_EQ(code_of("x.{}.npy", 2), ErrorCode::kUnknownName);
  EXPECT_EQ(code_of("x.{place:0}.npy", 2), ErrorCode::kBadNumber);
  EXPECT_EQ(code_of("x.{place:19}.npy", 2), ErrorCode::kBadNumber);
  EXPECT_EQ(code_of("x.{place:99999999999999999999}.npy", 2), ErrorCode::kBadNumber);
  EXPECT_EQ(code_of("x.{place:-1}.npy", 2), ErrorCode::kBadNumber);
  EXPECT_EQ(facts_in(ShardNames::parse("x.{plcae}.npy", "--out", 2).error().help), "'place'");
}

std::string shape_of(const std::string& text) {
  const Tensor tensor = *parse_tensor(text);
  const FileArray array = shard_array(tensor.placement);
  return cat(python_tuple(array.shape), array.order == FileArray::Order::kColumnMajor ? " F" : "",
             array.order == FileArray::Order::kMemory ? " memory" : "");
}

TEST(ShardArray, TheShapeIsThatOfTheShard) {
  // 53 rows over 3 places are 18 on each, 63 columns over 2 are 32.
  EXPECT_EQ(shape_of("tensor<53x63xf32, pyflame.Grid(3, 2)>"), "(18, 32)");
  EXPECT_EQ(shape_of("tensor<53x63xf32, pyflame.RowPartition(3)>"), "(18, 63)");
  EXPECT_EQ(shape_of("tensor<4x6xf32, strided<[6, 1]>>"), "(4, 6)");
  EXPECT_EQ(shape_of("tensor<4x6xf32, strided<[1, 4]>>"), "(4, 6) F");
  // Gaps between rows: the memory is not a box.
  EXPECT_EQ(shape_of("tensor<4x6xf32, strided<[8, 1]>>"), "(30,) memory");
  // Blocks of 8 rows distributed over 2 places: each has 2 of the 4, one after the other.
  EXPECT_EQ(shape_of("tensor<32x6xf32, native<mesh=[2], {d0} / (16 -> mem*48, 8 -> m0, 1 -> "
                     "mem*6), {d1} / (1 -> mem)>>"),
            "(16, 6)");
  // The same with contiguous columns, as in ScaLAPACK.
  EXPECT_EQ(shape_of("tensor<32x6xf32, native<mesh=[2], {d0} / (16 -> mem*8, 8 -> m0, 1 -> mem), "
                     "{d1} / (1 -> mem*16)>>"),
            "(16, 6) F");
  EXPECT_EQ(shape_of("tensor<64x64xf32, gspmd{devices=[4,2]<=[8]}>"), "(16, 32)");
  EXPECT_EQ(shape_of("tensor<5x4xf32, dtensor<mesh=[2], [Shard(0)]>>"), "(3, 4)");
  // Tiles of 32x32: the memory is not in a plain order of the 64x64 shard.
  EXPECT_EQ(shape_of("tensor<128x128xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <2x2>, "
                     "memref<2x2x!ttcore.tile<32x32, f32>, #ttnn.buffer_type<l1>>, "
                     "<block_sharded>, core_ranges = <[#ttnn.core_range<(0,0), (1,1)>]>>>"),
            "(4096,) memory");
}

TEST(ShardArray, ManyPlacesInOneFile) {
  const Tensor rows = *parse_tensor("tensor<53x63xf32, pyflame.RowPartition(3)>");
  EXPECT_EQ(python_tuple(stacked_array(rows.placement, 2).shape), "(2, 18, 63)");
  const Tensor columns = *parse_tensor("tensor<4x6xf32, strided<[1, 4]>>");
  const FileArray stacked = stacked_array(columns.placement, 1);
  EXPECT_EQ(python_tuple(stacked.shape), "(1, 24)");
  EXPECT_EQ(stacked.order, FileArray::Order::kMemory);
}

NpyHeader header_of(const std::vector<std::int64_t>& shape, bool fortran,
                    NpyType type = {'f', 4, false}) {
  const std::string text = write_npy_header(type, fortran, shape);
  return *read_npy_header(std::as_bytes(std::span(text)));
}

bool is_accepted(const std::string& tensor, const NpyHeader& header) {
  const Tensor read = *parse_tensor(tensor);
  const FileArray array = shard_array(read.placement);
  return check_shard_header(array, read.placement.atom().storage, header, "x.npy").ok();
}

TEST(ShardArray, AcceptsEveryShapeOfTheSameMemory) {
  const std::string rows = "tensor<53x63xf32, pyflame.Grid(3, 2)>";  // (18, 32)
  EXPECT_TRUE(is_accepted(rows, header_of({18, 32}, false)));
  EXPECT_TRUE(is_accepted(rows, header_of({576}, false)));
  EXPECT_TRUE(is_accepted(rows, header_of({576}, true)));
  EXPECT_TRUE(is_accepted(rows, header_of({1, 576, 1}, true)));
  EXPECT_TRUE(is_accepted(rows, header_of({18, 1, 32}, false)));
  EXPECT_FALSE(is_accepted(rows, header_of({18, 32}, true)));
  EXPECT_FALSE(is_accepted(rows, header_of({18, 31}, false)));
  EXPECT_FALSE(is_accepted(rows, header_of({}, false)));
  EXPECT_FALSE(is_accepted(rows, header_of({18, 32}, false, {'f', 8, false})));
  EXPECT_FALSE(is_accepted(rows, header_of({18, 32}, false, {'i', 4, false})));
  EXPECT_FALSE(is_accepted(rows, header_of({18, 32}, false, {'f', 4, true})));
  const std::string columns = "tensor<4x6xf32, strided<[1, 4]>>";
  EXPECT_TRUE(is_accepted(columns, header_of({4, 6}, true)));
  EXPECT_TRUE(is_accepted(columns, header_of({24}, false)));
  // In C order the rows would be contiguous, and would be read as columns.
  EXPECT_FALSE(is_accepted(columns, header_of({4, 6}, false)));
  EXPECT_FALSE(is_accepted(columns, header_of({6, 4}, true)));
}

/// The side of rank 0: these places of a tensor.
exchange::RankSide side_of(const Tensor& tensor, std::vector<std::int64_t> places) {
  const auto count = static_cast<std::int64_t>(places.size());
  exchange::RankSide side;
  side.places = std::move(places);
  side.memory = relayout::Memory::of(tensor.placement);
  side.memory.mesh = *Shape::make({count});
  side.memory.bytes = *tensor.placement.atom().bytes(tensor.placement.slots() * count);
  return side;
}

class ShardFilesTest : public TestFolder, public testing::Test {
 protected:
  /// The result of reading the places of a tensor.
  Result<ShardSource> read_places(const std::string& text, const std::string& pattern,
                                  std::vector<std::int64_t> places) {
    const Tensor tensor = *parse_tensor(text);
    const ShardNames names = *ShardNames::parse(path(pattern), "--in", tensor.placement.places());
    const exchange::RankSide side = side_of(tensor, std::move(places));
    return ShardSource::read({tensor, names, side, /*rank=*/1, /*raw=*/false});
  }
  std::string message_of(const std::string& text, const std::string& pattern,
                         std::vector<std::int64_t> places) {
    const Result<ShardSource> source = read_places(text, pattern, std::move(places));
    return source ? "" : cat(code_name(source.error().code), ": ", source.error().message);
  }
  static std::string npy(const std::vector<std::int64_t>& shape, const std::string& data) {
    return write_npy_header({'u', 1, false}, false, shape) + data;
  }
  static std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

const std::string kFour = "tensor<8xui8, pyflame.RowPartition(4)>";  // 2 bytes on each place

TEST_F(ShardFilesTest, ReadsThePlacesOfARank) {
  write("x.1.npy", npy({2}, "ab"));
  write("x.3.npy", npy({2}, "cd"));
  const Result<ShardSource> both = read_places(kFour, "x.{place}.npy", {1, 3});
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(text_of(both->bytes()), "abcd");
  EXPECT_EQ(both->files(), 2);
  const Result<ShardSource> one = read_places(kFour, "x.{place}.npy", {3});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(text_of(one->bytes()), "cd");
  EXPECT_TRUE(one->check().ok());
  write("r.1.npy", npy({2, 2}, "efgh"));
  EXPECT_EQ(text_of(read_places(kFour, "r.{rank}.npy", {1, 3})->bytes()), "efgh");
  write("x.1.bin", "ij");
  EXPECT_EQ(text_of(read_places(kFour, "x.{place}.bin", {1})->bytes()), "ij");
  // A rank without places reads nothing, and needs no file.
  EXPECT_EQ(read_places(kFour, "nowhere.{rank}.npy", {})->files(), 0);
}

TEST_F(ShardFilesTest, ReportsInvalidFiles) {
  const std::string names = "x.{place}.npy";
  const auto with = [&](const std::string& bytes) {
    write("x.2.npy", bytes);
    return message_of(kFour, names, {2});
  };
  EXPECT_NE(message_of(kFour, names, {0}).find("x.0.npy'"), std::string::npos);
  EXPECT_TRUE(with("").starts_with("syntax: "));
  EXPECT_TRUE(with(std::string("\x93NUMPY\x01\0\xff\xff{", 11)).starts_with("syntax: "));
  const std::string file = cat("'", path("x.2.npy"), "' ");
  EXPECT_EQ(facts_in(with(npy({2}, "a"))), file + "130 129");  // bytes expected and found
  EXPECT_EQ(facts_in(with(npy({2}, "abc"))), file + "130 131");
  EXPECT_TRUE(with(npy({3}, "abc")).starts_with("shape_mismatch: "));
  // Extents whose product overflows, and one that wraps around to the correct product.
  EXPECT_TRUE(with(npy({4611686018427387904, 4}, "ab")).starts_with("overflow: "));
  EXPECT_TRUE(with(npy({4611686018427387905, 2}, "ab")).starts_with("overflow: "));
  EXPECT_TRUE(with(npy({0, 4611686018427387904}, "")).starts_with("shape_mismatch: "));
  EXPECT_TRUE(
      with(write_npy_header({'f', 4, false}, false, {2}) + "abcdefgh").starts_with("bad_dtype: "));
  std::filesystem::remove(path("x.2.npy"));
  std::filesystem::create_directory(path("x.2.npy"));
  EXPECT_TRUE(message_of(kFour, names, {2}).starts_with("io: "));
  write("x.1.raw", "a");
  EXPECT_EQ(facts_in(message_of(kFour, "x.{place}.raw", {1})), cat("'", path("x.1.raw"), "' 2 1"));
}

TEST_F(ShardFilesTest, PlacesThatShareABytePartOnlyInOneFile) {
  // 3 elements of 4 bits end in the middle of a byte.
  const std::string odd = "tensor<6xi4, pyflame.RowPartition(2)>";
  EXPECT_TRUE(message_of(odd, "x.{place}.npy", {0, 1}).starts_with("not_supported: "));
  write("x.1.npy", npy({4}, "abcd"));
  const std::string message = message_of(odd, "x.{rank}.npy", {0, 1});
  EXPECT_TRUE(message.starts_with("shape_mismatch: ")) << message;
  EXPECT_EQ(facts_in(message), cat("'", path("x.1.npy"), "' 4 3"));
  write("x.1.npy", npy({3}, "abc"));
  EXPECT_EQ(message_of(odd, "x.{rank}.npy", {0, 1}), "");
  write("x.1.npy", npy({2}, "ab"));
  EXPECT_EQ(message_of(odd, "x.{place}.npy", {1}), "");
}

class ShardOutputTest : public ShardFilesTest {
 protected:
  ShardOutputTest()
      : tensor_(*parse_tensor(kFour)),
        names_(*ShardNames::parse(path("y.{place}.npy"), "--out", 4)) {}
  ShardFiles files_of(const exchange::RankSide& side) { return {tensor_, names_, side, 0, false}; }
  Tensor tensor_;
  ShardNames names_;
};

TEST_F(ShardOutputTest, NoFileHasANameBeforeTheCommit) {
  write("y.2.npy", "old");
  const exchange::RankSide side = side_of(tensor_, {0, 2});
  {
    Result<ShardOutput> dropped = ShardOutput::create(files_of(side));
    ASSERT_TRUE(dropped.ok()) << dropped.error().message;
    ASSERT_TRUE(dropped->finish().ok());
  }
  EXPECT_EQ(names(), std::vector<std::string>{"y.2.npy"});
  EXPECT_EQ(read("y.2.npy"), "old");
  Result<ShardOutput> output = ShardOutput::create(files_of(side));
  ASSERT_TRUE(output.ok());
  ASSERT_EQ(output->bytes().size(), 4U);
  std::memcpy(output->bytes().data(), "abcd", 4);
  EXPECT_TRUE(output->finish().ok());
  EXPECT_EQ(read("y.2.npy"), "old");
  EXPECT_TRUE(output->commit().ok());
  EXPECT_EQ(names(), (std::vector<std::string>{"y.0.npy", "y.2.npy"}));
  EXPECT_EQ(read("y.0.npy"), npy({2}, "ab"));
  EXPECT_EQ(read("y.2.npy"), npy({2}, "cd"));
  EXPECT_EQ(output->file_bytes(), static_cast<std::int64_t>(2 * npy({2}, "ab").size()));
}

TEST_F(ShardOutputTest, ManyFilesAtOnce) {
  tensor_ = *parse_tensor("tensor<80xui8, pyflame.RowPartition(80)>");
  std::vector<std::int64_t> places(80);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i);
  const exchange::RankSide side = side_of(tensor_, places);
  Result<ShardOutput> output = ShardOutput::create(files_of(side));
  ASSERT_TRUE(output.ok()) << output.error().message;
  for (std::size_t i = 0; i < 80; ++i) output->bytes()[i] = static_cast<std::byte>(i);
  ASSERT_TRUE(output->finish().ok());
  ASSERT_TRUE(output->commit().ok());
  for (const int place : {0, 16, 17, 79}) {
    EXPECT_EQ(read(cat("y.", place, ".npy")), npy({1}, std::string(1, static_cast<char>(place))));
  }
}

TEST_F(ShardOutputTest, AFileThatIsReadIsNotWritten) {
  const exchange::RankSide side = side_of(tensor_, {0, 2});
  const ShardNames in = *ShardNames::parse(path("x.{place}.npy"), "--in", 4);
  EXPECT_TRUE(check_apart(in, 4, files_of(side)).ok());
  write("x.3.npy", "another rank reads this");
  std::filesystem::create_hard_link(path("x.3.npy"), path("y.2.npy"));
  const Status same = check_apart(in, 4, files_of(side));
  ASSERT_FALSE(same.ok());
  EXPECT_EQ(facts_in(same.error().message), cat("--in --out '", path("y.2.npy"), "'"));
  EXPECT_TRUE(check_apart(in, 3, files_of(side)).ok());  // no rank reads place 3 then
}

}  // namespace
}  // namespace tessera::tools

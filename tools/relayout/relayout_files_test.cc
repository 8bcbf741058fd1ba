// SPDX-License-Identifier: Apache-2.0
#include "tools/relayout/relayout_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tessera/base/text.h"
#include "tools/files/npy.h"
#include "tools/relayout/relayout_slices.h"
#include "tools/terminal/progress.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/message_facts.h"
#include "tools/testing/shell_testing.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

const std::string kGrid = "tensor<4x6xf32, pyflame.Grid(2, 2)>";

class RelayoutFiles : public testing::Test, protected TestFolder {
 protected:
  /// The bytes of numbers of type T.
  template <typename T>
  static std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
  }
  /// 0, 1, 2, ..
  template <typename T>
  static std::vector<T> count_to(std::size_t n) {
    std::vector<T> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<T>(i);
    return values;
  }
  template <typename T>
  void write_npy(const std::string& name, const NpyType& type, const Numbers& shape,
                 const std::vector<T>& values, bool fortran = false) const {
    write(name, write_npy_header(type, fortran, shape) + bytes_of(values));
  }
  void write_rows() const { write_npy("x.npy", {'f', 4}, {4, 6}, count_to<float>(24)); }

  Answer move(const std::string& a, const std::string& b, const std::string& in,
              const std::string& out, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> args = {"relayout", a, b, "--in", path(in), "--out", path(out)};
    args.insert(args.end(), more.begin(), more.end());
    return run(args);
  }
  /// The facts in the message of an error that left no files behind.
  std::string facts_of(const std::string& a, const std::string& b, const std::string& in,
                       const std::string& out, const std::string& code,
                       const std::vector<std::string>& more = {}) const {
    const Names before = names();
    std::vector<std::string> flags = more;
    flags.emplace_back("--json");
    const Answer answer = move(a, b, in, out, flags);
    EXPECT_EQ(answer.status, 2) << answer.out;
    EXPECT_EQ(answer.error_code(), code) << answer.out;
    EXPECT_EQ(names(), before);
    if (answer.error_code().empty()) return answer.out;
    EXPECT_FALSE(answer.json()["error"]["help"].get<std::string>().empty());
    auto message = answer.json()["error"]["message"].get<std::string>();
    for (std::size_t at = message.find(path("")); at != std::string::npos;
         at = message.find(path(""))) {
      message.erase(at, path("").size());
    }
    return facts_in(message);
  }

  template <typename T>
  void expect_npy(const std::string& name, const NpyType& type, const Numbers& shape, bool fortran,
                  const std::vector<T>& values) const {
    EXPECT_EQ(read(name), write_npy_header(type, fortran, shape) + bytes_of(values)) << name;
  }
};

// 4x6 in 2x2 tiles of 2x3, tile after tile: row-major inside.
const std::vector<float> kTiles = {0,  1,  2,  6,  7,  8,  3,  4,  5,  9,  10, 11,
                                   12, 13, 14, 18, 19, 20, 15, 16, 17, 21, 22, 23};
const std::vector<float> kColumns = {0, 6, 12, 18, 1, 7,  13, 19, 2, 8,  14, 20,
                                     3, 9, 15, 21, 4, 10, 16, 22, 5, 11, 17, 23};

TEST_F(RelayoutFiles, ADryRunPrintsTheProgramAndWritesNothing) {
  write_rows();
  const std::vector<std::string> before = names();
  const Answer answer = move(kRowMajor, kGrid, "x.npy", "y.npy", {"--dry-run", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out;
  EXPECT_EQ(answer.json()["bytes"], 96);
  EXPECT_EQ(names(), before);
  // A file in Fortran order has another program, and its header is checked.
  write_npy("f.npy", {'f', 4}, {4, 6}, kColumns, /*fortran=*/true);
  const Answer other = move(kRowMajor, kGrid, "f.npy", "y.npy", {"--dry-run", "--json"});
  ASSERT_EQ(other.status, 0) << other.out;
  EXPECT_NE(other.json()["nests"], answer.json()["nests"]);
  EXPECT_EQ(facts_of(kColumnMajor, kGrid, "missing.npy", "y.npy", "io", {"--dry-run"}),
            "'missing.npy'");
}

TEST_F(RelayoutFiles, AMeshIsTheFirstDims) {
  write_rows();
  for (const std::string threads : {"1", "3"}) {
    const Answer answer = move(kRowMajor, kGrid, "x.npy", "y.npy", {"--threads", threads});
    ASSERT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(answer.out, cat("wrote ", path("y.npy"),
                              ": array (2, 2, 6) of '<f4', 224 bytes, 24 elements moved\n"));
    expect_npy("y.npy", {'f', 4}, {2, 2, 6}, false, kTiles);
  }
  // And back, also when the slots are given as a tile.
  write_npy("t.npy", {'f', 4}, {2, 2, 2, 3}, kTiles);
  for (const std::string in : {"y.npy", "t.npy"}) {
    const Answer back = move(kGrid, kRowMajor, in, "z.npy", {"--verify", "--json"});
    ASSERT_EQ(back.status, 0) << back.out;
    EXPECT_EQ(back.json()["verified"], "program and result");
    EXPECT_EQ(read("z.npy"), read("x.npy"));
  }
  EXPECT_EQ(names(), (Names{"t.npy", "x.npy", "y.npy", "z.npy"}));
}

TEST_F(RelayoutFiles, PlainOrdersAreTheOrdersOfTheFile) {
  write_rows();
  ASSERT_EQ(move(kRowMajor, kColumnMajor, "x.npy", "f.npy").status, 0);
  expect_npy("f.npy", {'f', 4}, {4, 6}, true, kColumns);
  // The same tensor in either order reads the same, whichever of the two layouts is given.
  for (const std::string in : {"x.npy", "f.npy"}) {
    for (const std::string& a : {kRowMajor, kColumnMajor}) {
      ASSERT_EQ(move(a, kGrid, in, "y.npy", {"--verify"}).status, 0) << in << a;
      expect_npy("y.npy", {'f', 4}, {2, 2, 6}, false, kTiles);
    }
  }
}

TEST_F(RelayoutFiles, OtherLayoutsAreTheirSlots) {
  write_rows();
  const std::string gapped = "tensor<4x6xf32, strided<[8, 1]>>";
  ASSERT_EQ(move(kRowMajor, gapped, "x.npy", "y.npy").status, 0);
  std::vector<float> expected(30, 0);
  for (std::size_t i = 0; i < 24; ++i) expected[i / 6 * 8 + i % 6] = static_cast<float>(i);
  expect_npy("y.npy", {'f', 4}, {30}, false, expected);
  write_npy("y.npy", {'f', 4}, {2, 3, 5}, expected);
  ASSERT_EQ(move(gapped, kRowMajor, "y.npy", "z.npy").status, 0);
  EXPECT_EQ(read("z.npy"), read("x.npy"));
}

TEST_F(RelayoutFiles, RanksAndSizesAtTheEdge) {
  write_npy<double>("s.npy", {'f', 8}, {}, {2.5});
  ASSERT_EQ(move("tensor<f64, strided<[]>>", "tensor<f64, strided<[]>>", "s.npy", "t.npy").status,
            0);
  EXPECT_EQ(read("t.npy"), read("s.npy"));
  write_npy<float>("e.npy", {'f', 4}, {0, 6}, {});
  const std::string empty = "tensor<0x6xf32, strided<[6, 1]>>";
  ASSERT_EQ(move(empty, "tensor<0x6xf32, strided<[1, 1]>>", "e.npy", "t.npy").status, 0);
  EXPECT_EQ(read("t.npy"), read("e.npy"));
  write("e.bin", "");
  ASSERT_EQ(move(empty, empty, "e.bin", "f.bin").status, 0);
  EXPECT_EQ(read("f.bin"), "");
}

TEST_F(RelayoutFiles, RawBinary) {
  write("x.bin", bytes_of(count_to<float>(24)));
  ASSERT_EQ(move(kRowMajor, kGrid, "x.bin", "y.raw").status, 0);
  EXPECT_EQ(read("y.raw"), bytes_of(kTiles));
  write("x", read("x.bin"));
  ASSERT_EQ(move(kRowMajor, kGrid, "x", "y", {"--raw"}).status, 0);
  EXPECT_EQ(read("y"), bytes_of(kTiles));
  ASSERT_EQ(move(kRowMajor, kGrid, "x", "y.npy", {"--raw"}).status, 0);
  expect_npy("y.npy", {'f', 4}, {2, 2, 6}, false, kTiles);
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x", "z.npy", "syntax"), "'x' 0");
  write("x.bin", std::string(95, 'x'));
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x.bin", "z.npy", "io"), "'x.bin' 96 95");
  write("x.bin", std::string(97, 'x'));
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x.bin", "z.npy", "io"), "'x.bin' 96 97");
}

TEST_F(RelayoutFiles, RawTypesHaveASidecar) {
  const std::string rows = "tensor<4x6xbf16, strided<[6, 1]>>";
  const std::string columns = "tensor<4x6xbf16, strided<[1, 4]>>";
  for (const NpyType type : {NpyType{'u', 2}, NpyType{'V', 2}}) {
    write_npy("x.npy", type, {4, 6}, count_to<std::uint16_t>(24));
    ASSERT_EQ(move(rows, columns, "x.npy", "y.npy").status, 0);
    expect_npy("y.npy", {'u', 2}, {4, 6}, true,
               std::vector<std::uint16_t>(kColumns.begin(), kColumns.end()));
    EXPECT_EQ(
        parsed(read("y.npy.json")),
        parsed(cat("{\"dtype\": \"bf16\", \"shape\": [4, 6], \"tensor\": \"", columns, "\"}")));
  }
  // The sidecar takes precedence over the command line.
  EXPECT_EQ(move(columns, rows, "y.npy", "z.npy").status, 0);
  EXPECT_EQ(facts_of(rows, columns, "y.npy", "w.npy", "contradiction"),
            cat("'y.npy.json' '", columns, "'"));
  EXPECT_EQ(facts_of("tensor<4x6xui16, strided<[1, 4]>>", "tensor<4x6xui16, strided<[6, 1]>>",
                     "y.npy", "w.npy", "contradiction"),
            "'y.npy.json'");
  // An outdated sidecar is removed, a file that is not a sidecar is kept.
  write_npy("u.npy", {'u', 2}, {4, 6}, count_to<std::uint16_t>(24));
  const std::string plain = "tensor<4x6xui16, strided<[6, 1]>>";
  ASSERT_EQ(move(plain, plain, "u.npy", "y.npy").status, 0);
  EXPECT_FALSE(fs::exists(path("y.npy.json")));
  write("y.npy.json", "{\"mine\": 1}");
  ASSERT_EQ(move(plain, plain, "u.npy", "y.npy").status, 0);
  EXPECT_EQ(read("y.npy.json"), "{\"mine\": 1}");
  EXPECT_EQ(facts_of(rows, columns, "x.npy", "y.npy", "bad_json"), "'y.npy.json'");
}

TEST_F(RelayoutFiles, ElementsOfLessThanAByteAreBytes) {
  // 3 elements of 4 bits per place: 6 elements are 3 bytes of which places share one.
  const std::string rows = "tensor<2x4xi4, strided<[4, 1]>>";
  write_npy<std::uint8_t>("x.npy", {'u', 1}, {4}, {0x10, 0x32, 0x54, 0x76});
  ASSERT_EQ(move(rows, "tensor<2x4xi4, strided<[1, 2]>>", "x.npy", "y.npy").status, 0);
  expect_npy<std::uint8_t>("y.npy", {'u', 1}, {4}, false, {0x40, 0x51, 0x62, 0x73});
  ASSERT_EQ(move(rows, "tensor<2x4xi4, pyflame.Grid(2, 1)>", "x.npy", "g.npy").status, 0);
  expect_npy<std::uint8_t>("g.npy", {'u', 1}, {2, 1, 2}, false, {0x10, 0x32, 0x54, 0x76});
  EXPECT_EQ(parsed(read("g.npy.json"))["dtype"], "i4");
}

TEST_F(RelayoutFiles, WrongInputsAreReportedAndNothingIsWritten) {
  write_rows();
  const std::string whole = read("x.npy");
  const auto with = [&](const std::string& name, const std::string& bytes,
                        const std::string& code) {
    write(name, bytes);
    return facts_of(kRowMajor, kGrid, name, "y.npy", code);
  };
  const std::string data = bytes_of(count_to<float>(24));
  EXPECT_EQ(with("a.npy", write_npy_header({'f', 8}, false, {4, 6}) + data + data, "bad_dtype"),
            "'a.npy' '<f8' '<f4'");
  EXPECT_EQ(with("a.npy", write_npy_header({'f', 4, true}, false, {4, 6}) + data, "bad_dtype"),
            "'a.npy' '>f4' '<f4'");
  EXPECT_EQ(with("a.npy", write_npy_header({'f', 4}, false, {6, 4}) + data, "shape_mismatch"),
            "'a.npy' 6 4 4 6");
  EXPECT_EQ(with("a.npy", write_npy_header({'f', 4}, true, {24}) + data, "shape_mismatch"),
            "'a.npy' 24 4 6");
  EXPECT_EQ(with("a.npy", whole.substr(0, whole.size() - 1), "io"), "'a.npy' 224 223");
  EXPECT_EQ(with("a.npy", whole + "x", "io"), "'a.npy' 224 225");
  EXPECT_EQ(with("a.npy", whole.substr(0, 50), "syntax"), "'a.npy' 8 118");
  EXPECT_EQ(with("a.npy", "", "syntax"), "'a.npy' 0");
  write_npy("a.npy", {'f', 4}, {2, 12}, kTiles);
  EXPECT_EQ(facts_of(kGrid, kRowMajor, "a.npy", "y.npy", "shape_mismatch"), "'a.npy' 2 12 2 2 6");
  write_npy("a.npy", {'f', 4}, {2, 2, 6}, kTiles, /*fortran=*/true);
  EXPECT_EQ(facts_of(kGrid, kRowMajor, "a.npy", "y.npy", "shape_mismatch"), "'a.npy' 2 2 6 2 2 6");
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "none.npy", "y.npy", "io"), "'none.npy'");
  EXPECT_EQ(
      facts_of(kRowMajor, "tensor<6x4xf32, strided<[4, 1]>>", "x.npy", "y.npy", "shape_mismatch"),
      "4 6 6 4");
}

TEST_F(RelayoutFiles, WrongOutputsAreReported) {
  write_rows();
  fs::create_directory(path("d"));
  fs::create_symlink("x.npy", path("link.npy"));
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x.npy", "x.npy", "io"), "--in --out 'x.npy'");
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x.npy", "link.npy", "io"), "--in --out 'link.npy'");
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x.npy", "d", "io"), "'d'");
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x.npy", "no/y.npy", "io"), "224 'no/y.npy'");
  EXPECT_EQ(facts_of(kRowMajor, kGrid, "x.npy", "y.npy", "out_of_range", {"--threads", "9999"}),
            "--threads 9999");
  // More slots than any disk has bytes.
  const std::string huge = "tensor<4x6xf32, strided<[100000000000000000, 1]>>";
  EXPECT_EQ(facts_of(kRowMajor, huge, "x.npy", "y.npy", "io"), "1200000000000000152 'y.npy'");
}

TEST_F(RelayoutFiles, PaddingIsZeroOrWhatTheLayoutPromises) {
  write_npy("x.npy", {'f', 4}, {3}, std::vector<float>{1, 2, 3});
  write("y.bin", "old bytes that are longer than the new ones");
  const std::string a = "tensor<3xf32, strided<[1]>>";
  ASSERT_EQ(
      move(a, "tensor<3xf32, native<{d0} / (2 -> mem*2, 1 -> mem)>>", "x.npy", "y.bin").status, 0);
  EXPECT_EQ(read("y.bin"), bytes_of(std::vector<float>{1, 2, 3, 0}));
  ASSERT_EQ(move(a, "tensor<3xf32, native<{d0} / (2 -> mem*2, 1 -> mem), pad=7>>", "x.npy", "y.bin")
                .status,
            0);
  EXPECT_EQ(read("y.bin"), bytes_of(std::vector<float>{1, 2, 3, 7}));
}

TEST_F(RelayoutFiles, ConvertsAndSaturates) {
  write_npy("x.npy", {'f', 4}, {3}, std::vector<float>{1, 300, -5});
  const std::string a = "tensor<3xf32, strided<[1]>>";
  ASSERT_EQ(move(a, "tensor<3xf64, strided<[1]>>", "x.npy", "y.npy").status, 0);
  expect_npy("y.npy", {'f', 8}, {3}, false, std::vector<double>{1, 300, -5});
  const std::string bytes = "tensor<3xui8, strided<[1]>>";
  facts_of(a, bytes, "x.npy", "z.npy", "out_of_range");
  const Answer answer = move(a, bytes, "x.npy", "z.npy", {"--saturate", "--verify", "--json"});
  ASSERT_EQ(answer.status, 0) << answer.out;
  EXPECT_EQ(answer.json()["verified"], "program");
  EXPECT_EQ(answer.json()["clipped"], 2);
  expect_npy("z.npy", {'u', 1}, {3}, false, std::vector<std::uint8_t>{1, 255, 0});
}

TEST_F(RelayoutFiles, ANumberThatDoesNotFitIsNamed) {
  write_npy("x.npy", {'f', 4}, {2, 3}, std::vector<float>{1, 2.5F, 300, -5, 0.25F, 7});
  const std::string a = "tensor<2x3xf32, strided<[3, 1]>>";
  const std::string bytes = "tensor<2x3xi8, strided<[1, 2]>>";
  const auto reasons = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> all = flags;
    all.emplace_back("--json");
    const Answer answer = move(a, bytes, "x.npy", "y.npy", all);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.error_code(), "out_of_range");
    return answer.json()["error"]["reasons"];
  };
  EXPECT_EQ(reasons({}), parsed(R"([{"reason": "number_does_not_fit", "facts": {
      "index": [0, 1], "place": [], "slot": 1, "value": "2.5", "dtype": "i8"}}])"));
  EXPECT_EQ(reasons({"--round"}), parsed(R"([{"reason": "number_does_not_fit", "facts": {
      "index": [0, 2], "place": [], "slot": 2, "value": "300", "dtype": "i8"}}])"));
  EXPECT_EQ(move(a, bytes, "x.npy", "y.npy", {"--round", "--saturate"}).status, 2);

  write_npy("x.npy", {'f', 4}, {2, 3}, std::vector<float>{1, 2.5F, 127.25F, -5, 0.25F, 7});
  ASSERT_EQ(move(a, bytes, "x.npy", "y.npy", {"--round"}).status, 0);
  expect_npy("y.npy", {'i', 1}, {2, 3}, true, std::vector<std::int8_t>{1, -5, 2, 0, 127, 7});
  const Answer saturated = move(a, bytes, "x.npy", "y.npy", {"--saturate", "--json"});
  EXPECT_EQ(saturated.json()["clipped"], 0);
}

// A tile of ones: 64 groups with the exponent of 1 (127), then 1.0 = 64/64 for every element.
TEST_F(RelayoutFiles, BlockFloatsAreTilesOfBytes) {
  const std::string rows = "tensor<32x32xf32, strided<[32, 1]>>";
  const std::string tile =
      "tensor<32x32xf32, native<{d0} / (1 -> mem*32), {d1} / (1 -> mem), atom=tile(32x32, "
      "bfp_bf8)>>";
  write_npy("x.npy", {'f', 4}, {32, 32}, std::vector<float>(1024, 1));
  ASSERT_EQ(move(rows, tile, "x.npy", "y.npy").status, 0);
  std::vector<std::uint8_t> expected(64, 127);
  expected.resize(1088, 64);
  expect_npy("y.npy", {'u', 1}, {1088}, false, expected);
  EXPECT_EQ(parsed(read("y.npy.json"))["dtype"], "bfp_bf8");
  ASSERT_EQ(move(tile, rows, "y.npy", "z.npy").status, 0);
  EXPECT_EQ(read("z.npy"), read("x.npy"));
}

/// Runs a line of shell in the folder, with $T the command and $A, $B two layouts of 16 MiB.
Answer shell(const fs::path& folder, const std::string& line) {
  return run_in_shell(cat("cd '", folder.string(),
                          "'; A='tensor<2048x2048xf32, strided<[2048, 1]>>'; "
                          "B='tensor<2048x2048xf32, strided<[1, 2048]>>'; ",
                          line));
}

TEST_F(RelayoutFiles, AFullDiskIsReportedAndLeavesNothing) {
  write("x.bin", std::string(std::size_t{1} << 24, 'x'));
  const Answer answer = shell(
      folder_, "(ulimit -f 1000; \"$T\" relayout \"$A\" \"$B\" --in x.bin --out y.bin); echo $?");
  EXPECT_TRUE(answer.out.starts_with("error[io]: ")) << answer.out;
  EXPECT_TRUE(facts_in(answer.out).starts_with("16777216 'y.bin'")) << answer.out;
  EXPECT_TRUE(answer.out.ends_with("\n2\n")) << answer.out;
  EXPECT_EQ(names(), Names{"x.bin"});
}

TEST_F(RelayoutFiles, AKilledRunLeavesNoHalfFile) {
  if (!has_nameless_files()) GTEST_SKIP() << "unfinished files have names here";
  write("x.bin", std::string(std::size_t{1} << 24, 'x'));
  for (const std::string wait : {"0.01", "0.03", "0.06"}) {
    shell(folder_, cat("\"$T\" relayout \"$A\" \"$B\" --in x.bin --out y.bin & P=$!; sleep ", wait,
                       "; kill -9 $P 2>/dev/null; wait $P"));
    // The run was killed or had already finished.
    if (fs::exists(path("y.bin"))) {
      EXPECT_EQ(read("y.bin"), read("x.bin"));
      fs::remove(path("y.bin"));
    }
    EXPECT_EQ(names(), Names{"x.bin"});
  }
}

TEST(Slices, DoWhatTheProgramDoes) {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"tensor<37x53xui8, strided<[53, 1]>>", "tensor<37x53xui8, strided<[1, 37]>>"},
      {"tensor<37x53xui8, strided<[53, 1]>>", "tensor<37x53xui8, pyflame.Grid(3, 4)>"},
      {"tensor<97xui8, native<{d0} / (7 -> mem*8, 1 -> mem), pad=3>>",
       "tensor<97xui8, native<mesh=[3], {d0} / (5 -> mem, 1 -> mem*20), replicate(m0#3), "
       "pad=9>>"},
      {"tensor<ui8, strided<[]>>", "tensor<ui8, strided<[]>>"},
      {"tensor<0x3xui8, strided<[3, 1]>>", "tensor<0x3xui8, strided<[3, 1]>>"},
  };
  for (const auto& [a, b] : pairs) {
    const Result<Tensor> from = parse_tensor(a);
    const Result<Tensor> to = parse_tensor(b);
    ASSERT_TRUE(from && to) << a << (from ? to.error().message : from.error().message);
    const relayout::Program program = *relayout::make_program(from->placement, to->placement);
    std::vector<std::byte> source(static_cast<std::size_t>(program.from.bytes));
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + 1);
    std::vector<std::byte> expected(static_cast<std::size_t>(program.to.bytes));
    ThreadPool pool(1);
    ASSERT_TRUE(relayout::Plan::make(program)->run(source, expected, pool));
    for (const std::int64_t count : {1, 2, 5, 64}) {
      std::vector<std::byte> found(expected.size());
      std::int64_t elements = 0;
      for (const relayout::Program& slice : slices_of(program, count)) {
        ASSERT_TRUE(relayout::Plan::make(slice)->run(source, found, pool));
        elements += slice.elements();
      }
      EXPECT_EQ(found, expected) << b << " in " << count;
      EXPECT_EQ(elements, program.elements()) << b << " in " << count;
    }
  }
}

TEST(Progress, Line) {
  EXPECT_EQ(progress_line(500, 1000, 2.9, 40), "[#####-----] 50 %  500 B of 1.0 kB  2 s");
  EXPECT_EQ(progress_line(0, 0, 1, 80).find(" 100 %"), 42U);
  for (int width = 20; width < 120; ++width) {
    EXPECT_LT(progress_line(INT64_MAX, INT64_MAX, 1e6, width).size(),
              static_cast<std::size_t>(width))
        << width;
  }
}

}  // namespace
}  // namespace tessera::tools

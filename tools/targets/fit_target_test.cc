// SPDX-License-Identifier: Apache-2.0
#include "tools/targets/fit_target.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tessera/base/text.h"
#include "tessera/fabric/calibration/calibrate.h"
#include "tessera/target/machine.h"
#include "tessera/testing/fabric/noc_machines.h"
#include "tools/targets/measurement_table.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"

namespace tessera::tools {
namespace {

const std::string kHeader = "mechanism,pattern,same_axis,transactions,bytes,cycles\n";

/// Reads with 205 or 295 cycles, 25 per transaction, 28 bytes per cycle; 12 or 22 hops.
std::string table() {
  std::string text = kHeader;
  for (const bool same_axis : {false, true}) {
    for (int n = 1; n <= 256; n *= 4) {
      for (int bytes = 64; bytes <= 65536; bytes *= 2) {
        const double cycles =
            (same_axis ? 205 : 295) + std::max((n - 1) * 25.0, n * static_cast<double>(bytes) / 28);
        text += cat("unicast,one_from_one,", same_axis ? 1 : 0, ",", n, ",", bytes, ",",
                    static_cast<std::int64_t>(std::llround(cycles)), "\n");
      }
    }
  }
  return text;
}

class TargetsFit : public testing::Test, public TestFolder {
 protected:
  TargetsFit() {
    write("noc.json", test::kWormholeNoc);
    write("table.csv", table());
  }
  std::vector<std::string> fit(std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"targets", "--fit", path("table.csv"), path("noc.json")};
    args.insert(args.end(), more.begin(), more.end());
    return args;
  }
};

/// One row determines nothing: its error is reported, but there is no new machine to write.
TEST_F(TargetsFit, OneRowFitsNothing) {
  write("table.csv", kHeader + "unicast,one_from_one,1,1,64,293\n");
  const Answer answer = run(fit({"--json"}));
  ASSERT_EQ(answer.status, 0) << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["rows"], 1);
  ASSERT_EQ(json["warnings"].size(), 1U);
  EXPECT_EQ(json["warnings"][0]["code"], "nothing_fitted");
  for (const Json& mechanism : json["mechanisms"]) EXPECT_TRUE(mechanism["fitted"].empty());
  const std::string out = path("one.json");
  EXPECT_EQ(run(fit({"--json", "--out", out})).error_code(), "not_supported");
  EXPECT_FALSE(std::filesystem::exists(out));
  write("table.csv", table());
  EXPECT_TRUE(run(fit({"--json"})).json()["warnings"].empty());
}

TEST_F(TargetsFit, Figures) {
  const Answer answer = run(fit({"--json"}));
  ASSERT_EQ(answer.status, 0) << answer.err;
  const Json json = answer.json();
  EXPECT_EQ(json["target"], "wormhole_noc");
  EXPECT_EQ(json["rows"], 110);
  EXPECT_EQ(json["fitted_rows"], 110);
  EXPECT_LT(json["median"].get<double>(), 0.002);
  EXPECT_TRUE(json["out"].is_null());
  ASSERT_EQ(json["mechanisms"].size(), 1U);
  const Json& read = json["mechanisms"][0];
  EXPECT_EQ(read["name"], "read");
  EXPECT_EQ(read["network"], "noc1");
  EXPECT_NEAR(read["overhead_cycles"].get<double>(), 205 - 12 * 9, 1);  // 10 hops take 90 cycles
  EXPECT_NEAR(read["issue_cycles"].get<double>(), 25, 0.1);
  EXPECT_NEAR(read["bytes_per_cycle"].get<double>(), 28, 0.1);
  EXPECT_TRUE(read["receiver_cycles"].is_null());
  EXPECT_TRUE(read["before"]["issue_cycles"].is_null());
  EXPECT_EQ(read["kept"], Json::array({"receiver_cycles"}));
  EXPECT_EQ(read["fitted"].size(), 3U);
  ASSERT_EQ(json["networks"].size(), 1U);
  EXPECT_EQ(json["networks"][0]["name"], "noc1");
  EXPECT_NEAR(json["networks"][0]["hop_cycles"].get<double>(), 9, 0.1);
  EXPECT_EQ(json["networks"][0]["before"]["hop_cycles"].get<double>(), 9);
  ASSERT_EQ(json["errors"].size(), 1U);
  const Json& errors = json["errors"][0];
  EXPECT_EQ(errors["mechanism"], "unicast");
  EXPECT_EQ(errors["pattern"], "one_from_one");
  EXPECT_EQ(errors["memory"], "l1");
  EXPECT_EQ(errors["rows"], 110);
  for (const char* key : {"median", "p90", "worst"}) {
    EXPECT_GE(errors[key].get<double>(), 0) << key;
    EXPECT_LT(errors[key].get<double>(), 0.01) << key;
  }
}

TEST_F(TargetsFit, Text) {
  const Answer answer = run(fit());
  ASSERT_EQ(answer.status, 0) << answer.err;
  for (const char* part : {"wormhole_noc", "110", "read over noc1", "issue_cycles 25",
                           "receiver_cycles", "unicast one_from_one l1"}) {
    EXPECT_NE(answer.out.find(part), std::string::npos) << part << "\n" << answer.out;
  }
  for (const int width : {20, 40, 80}) {
    for (const std::string& line : run(fit(), "", {false, false, width}).lines()) {
      EXPECT_LE(columns_of(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST_F(TargetsFit, WritesTheFittedTarget) {
  const Answer answer = run(fit({"--out", path("fitted.json"), "--json"}));
  ASSERT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.json()["out"], path("fitted.json"));
  const Result<Machine> machine = parse_machine(read("fitted.json"));
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  const target::Mechanism& mechanism = machine->mesh[0].mechanisms[0];
  EXPECT_EQ(mechanism.issue_cycles, answer.json()["mechanisms"][0]["issue_cycles"].get<double>());
  EXPECT_EQ(machine->evidence("/mesh/0/mechanisms/0/issue_cycles"), target::Evidence::kFitted);
  EXPECT_EQ(machine->evidence("/mesh/0/mechanisms/0/receiver_cycles"), std::nullopt);
  // Everything else is as it was.
  Machine rest = *machine;
  rest.notes.clear();
  rest.mesh[0].mechanisms[0] = {"read", "noc1", {}, {}, {}, {}};
  rest.mesh[0].networks[1].hop_cycles = 9;
  EXPECT_EQ(rest, test::noc_machine(test::kWormholeNoc));
  // The fitted file is a target whose fit changes nothing.
  const Answer again = run({"targets", "--fit", path("table.csv"), path("fitted.json"), "--json"});
  EXPECT_EQ(again.json()["mechanisms"][0]["overhead_cycles"],
            answer.json()["mechanisms"][0]["overhead_cycles"]);
  EXPECT_EQ(names(), (std::vector<std::string>{"fitted.json", "noc.json", "table.csv"}));
}

TEST_F(TargetsFit, ErrorsHaveFileLineAndColumn) {
  write("bad.csv", kHeader + "unicast,one_from_one,1,4,64,359\nunicast,one_from_one,1,4,64,-1\n");
  const Answer bad = run({"targets", "--fit", path("bad.csv"), path("noc.json"), "--json"});
  EXPECT_EQ(bad.status, 2);
  EXPECT_EQ(bad.error_code(), "bad_number");
  EXPECT_NE(bad.json()["error"]["message"].get<std::string>().find("bad.csv':3:29: "),
            std::string::npos)
      << bad.out;
  // What the machine cannot carry out also has a place.
  write("wide.csv",
        "mechanism,pattern,subordinates,transactions,bytes,cycles\n"
        "unicast,all_to_all,7,4,64,359\n");
  const Answer wide = run({"targets", "--fit", path("wide.csv"), path("noc.json"), "--json"});
  EXPECT_EQ(wide.error_code(), "out_of_range");
  EXPECT_NE(wide.json()["error"]["message"].get<std::string>().find("wide.csv':2:1: "),
            std::string::npos)
      << wide.out;
}

TEST_F(TargetsFit, BadUsage) {
  EXPECT_EQ(run({"targets", "--fit", path("table.csv"), "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"targets", "--out", path("x.json"), "--json"}).error_code(), "usage");
  EXPECT_EQ(run({"targets", "--fit", path("missing.csv"), path("noc.json"), "--json"}).error_code(),
            "io");
  EXPECT_EQ(run({"targets", "--fit", path("table.csv"), "wormhol", "--json"}).error_code(),
            "unknown_target");
  EXPECT_EQ(run(fit({"--out", path("no/such/folder.json"), "--json"})).error_code(), "io");
  // A machine without mechanisms of a network on chip.
  write("mesh.json", R"({"name": "box", "mesh": [4, 4], "memory": [{"name": "l1", "bytes": 9}]})");
  EXPECT_EQ(run({"targets", "--fit", path("table.csv"), path("mesh.json"), "--json"}).error_code(),
            "not_supported");
  EXPECT_EQ(names(), (std::vector<std::string>{"mesh.json", "noc.json", "table.csv"}));
}

TEST_F(TargetsFit, TheTableMayNameTheTarget) {
  write("wormhole.csv", table());
  const Answer answer = run({"targets", "--fit", path("wormhole.csv"), "--json"});
  EXPECT_EQ(answer.status, 0) << answer.out;
  EXPECT_EQ(answer.json()["target"], "wormhole");
}

/// Measurements that are not part of the project: TESSERA_DATA, or data/ of a folder `shared` in or
/// beside this one.
std::string measured(const std::string& file) {
  std::vector<std::filesystem::path> folders = {"shared/data", "../shared/data"};
  if (const char* given = std::getenv("TESSERA_DATA")) folders.insert(folders.begin(), given);
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    if (std::filesystem::exists(folder / "noc" / file, error)) return folder / "noc" / file;
  }
  return "";
}

TEST_F(TargetsFit, MeasuredTables) {
  for (const char* name : {"wormhole", "blackhole"}) {
    const std::string file = measured(cat(name, ".csv"));
    if (file.empty()) GTEST_SKIP() << "no measured tables (noc/" << name << ".csv)";
    const Json json = run({"targets", "--fit", file, name, "--json"}).json();
    ASSERT_TRUE(json.contains("median")) << dump(json);
    EXPECT_LT(json["median"].get<double>(), 0.02) << name;
    EXPECT_LT(json["p90"].get<double>(), 0.08) << name;
    EXPECT_LT(json["worst"].get<double>(), 0.25) << name;
    for (const Json& errors : json["errors"]) {
      EXPECT_LT(errors["median"].get<double>(), 0.05) << dump(errors);
    }
    for (const Json& network : json["networks"]) {  // 9 are published
      EXPECT_NEAR(network["hop_cycles"].get<double>(), 9, 1) << dump(network);
    }
  }
}

/// One half of the rows predicts the other half as well as itself.
TEST_F(TargetsFit, MeasuredTablesPredictRowsThatWereNotFitted) {
  const std::string file = measured("wormhole.csv");
  if (file.empty()) GTEST_SKIP() << "no measured tables (noc/wormhole.csv)";
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  std::istringstream lines(text.str());
  std::string header;
  std::getline(lines, header);
  std::string halves[2] = {header + "\n", header + "\n"};
  std::size_t row = 0;
  for (std::string line; std::getline(lines, line); ++row) halves[row % 2] += line + "\n";
  write("odd.csv", halves[0]);
  write("even.csv", halves[1]);
  ASSERT_EQ(
      run({"targets", "--fit", path("odd.csv"), "wormhole", "--out", path("odd.json")}).status, 0);
  const Result<Machine> fitted = parse_machine(read("odd.json"));
  ASSERT_TRUE(fitted.ok());
  const auto rows = read_measurements(halves[1], *fitted);
  ASSERT_TRUE(rows.ok());
  const auto cycles = fabric::predict(*fitted, *rows);
  ASSERT_TRUE(cycles.ok());
  std::vector<double> errors;
  for (std::size_t i = 0; i < rows->size(); ++i) {
    errors.push_back(std::abs((*cycles)[i] / (*rows)[i].cycles - 1));
  }
  EXPECT_LT(fabric::summarise(errors).median, 0.02);
}

}  // namespace
}  // namespace tessera::tools

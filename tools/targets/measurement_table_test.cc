// SPDX-License-Identifier: Apache-2.0
#include "tools/targets/measurement_table.h"

#include <gtest/gtest.h>

#include "tessera/base/text.h"
#include "tessera/fabric/calibration/calibrate.h"
#include "tessera/testing/fabric/noc_machines.h"

namespace tessera::tools {
namespace {

using fabric::FarMemory;
using fabric::Measurement;
using fabric::Method;
using fabric::Side;

const std::string kHeader =
    "mechanism,pattern,memory,transactions,subordinates,same_axis,stateful,loopback,bytes,cycles\n";

Result<std::vector<Measurement>> read(const std::string& text) {
  return read_measurements(text, test::noc_machine(test::kWormholeNoc));
}

TEST(MeasurementTable, EveryColumn) {
  const auto rows = read(kHeader +
                         "unicast,one_from_one,l1,4,0,1,1,0,64,359\n"
                         "\n"
                         "multicast_linked , column_to_column,l1,1,8,0,0,1,8192,1207660.5\r\n"
                         "unicast,all_from_all,dram_interleaved,256,56,0,0,0,16,1e6");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 3U);
  const Measurement& first = (*rows)[0];
  EXPECT_EQ(first.method, Method::kUnicast);
  EXPECT_EQ(first.pattern, (fabric::Pattern{Side::kOne, Side::kOne, true}));
  EXPECT_EQ(first.far, (FarMemory{0, FarMemory::Spread::kPlaces}));
  EXPECT_EQ(first.transactions, 4);
  EXPECT_TRUE(first.same_axis);
  EXPECT_TRUE(first.stateful);
  EXPECT_FALSE(first.loopback);
  EXPECT_EQ(first.bytes, 64);
  EXPECT_EQ(first.cycles, 359);
  const Measurement& second = (*rows)[1];
  EXPECT_EQ(second.method, Method::kMulticastLinked);
  EXPECT_EQ(second.pattern, (fabric::Pattern{Side::kColumn, Side::kColumn, false}));
  EXPECT_EQ(second.subordinates, 8);
  EXPECT_TRUE(second.loopback);
  EXPECT_EQ(second.cycles, 1207660.5);
  EXPECT_EQ((*rows)[2].far, (FarMemory{1, FarMemory::Spread::kInterleaved}));
  EXPECT_EQ((*rows)[2].cycles, 1e6);
}

TEST(MeasurementTable, ColumnsInAnyOrderAndDefaults) {
  const auto rows =
      read("cycles,bytes,pattern,transactions,mechanism\n70,64,one_to_all,9,unicast\n");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_EQ(rows->size(), 1U);
  const Measurement& row = rows->front();
  EXPECT_EQ(row.cycles, 70);
  EXPECT_EQ(row.transactions, 9);
  EXPECT_EQ(row.far, (FarMemory{0, FarMemory::Spread::kPlaces}));
  EXPECT_EQ(row.subordinates, 0);
  EXPECT_FALSE(row.same_axis || row.stateful || row.loopback);
}

TEST(MeasurementTable, EveryPatternAndMemoryHasAName) {
  EXPECT_EQ(fabric::all_patterns().size(), 14U);
  for (const fabric::Pattern& pattern : fabric::all_patterns()) {
    for (const char* memory : {"l1", "dram", "dram_sharded", "dram_interleaved"}) {
      const auto rows = read(cat(kHeader, "unicast,", fabric::pattern_name(pattern), ",", memory,
                                 ",1,0,0,0,0,64,100\n"));
      ASSERT_TRUE(rows.ok()) << rows.error().message;
      EXPECT_EQ(rows->front().pattern, pattern);
    }
  }
}

/// What the table has at the span of an error.
std::string found_at(const std::string& text, const Error& error) {
  if (!error.span) return "(no span)";
  const auto from = static_cast<std::size_t>(error.span->from);
  return text.substr(from, static_cast<std::size_t>(error.span->to) - from);
}

TEST(MeasurementTable, ErrorsPointToTheCell) {
  const std::string row = "unicast,one_to_one,l1,4,0,1,0,0,64,359";
  struct Bad {
    std::string from, to;
    ErrorCode code;
    std::string at;
  };
  const std::vector<Bad> cases = {
      {"unicast", "broadcast", ErrorCode::kUnknownName, "broadcast"},
      {"one_to_one", "one_to_two", ErrorCode::kUnknownName, "one_to_two"},
      {"one_to_one", "row_to_column", ErrorCode::kUnknownName, "row_to_column"},
      {"l1", "l3", ErrorCode::kUnknownName, "l3"},
      {"l1", "", ErrorCode::kUnknownName, ""},
      {",4,", ",0,", ErrorCode::kBadNumber, "0"},
      {",4,", ",-4,", ErrorCode::kBadNumber, "-4"},
      {",4,", ",4.5,", ErrorCode::kBadNumber, "4.5"},
      {",4,", ",99999999999999999999,", ErrorCode::kBadNumber, "99999999999999999999"},
      {",1,0,0,", ",2,0,0,", ErrorCode::kBadNumber, "2"},
      {",64,", ",,", ErrorCode::kBadNumber, ""},
      {"359", "0", ErrorCode::kBadNumber, "0"},
      {"359", "-3", ErrorCode::kBadNumber, "-3"},
      {"359", "nan", ErrorCode::kBadNumber, "nan"},
      {"359", "inf", ErrorCode::kBadNumber, "inf"},
      {"359", "1e400", ErrorCode::kBadNumber, "1e400"},
      {"359", "2e15", ErrorCode::kBadNumber, "2e15"},
      {"359", "3 cycles", ErrorCode::kBadNumber, "3 cycles"},
      {",359", "", ErrorCode::kSyntax, "unicast,one_to_one,l1,4,0,1,0,0,64"},
      {"359", "359,1", ErrorCode::kSyntax, row + ",1"},
      {"unicast,one_to_one", "multicast,one_from_all", ErrorCode::kContradiction,
       "multicast,one_from_all,l1,4,0,1,0,0,64,359"},
  };
  for (const Bad& bad : cases) {
    std::string changed = row;
    changed.replace(changed.find(bad.from), bad.from.size(), bad.to);
    const std::string text = cat(kHeader, row, "\n", changed, "\n");
    const auto rows = read(text);
    ASSERT_FALSE(rows.ok()) << changed;
    EXPECT_EQ(rows.error().code, bad.code) << changed << "\n" << rows.error().message;
    EXPECT_EQ(found_at(text, rows.error()), bad.at) << changed;
    EXPECT_GE(rows.error().span.value_or(Span{}).from, std::ssize(kHeader) + std::ssize(row));
    EXPECT_FALSE(rows.error().help.empty());
  }
}

TEST(MeasurementTable, UnknownNamesListTheKnownOnes) {
  const auto rows = read(kHeader + "unicast,all_to_some,l1,4,0,1,0,0,64,359\n");
  ASSERT_FALSE(rows.ok());
  for (const fabric::Pattern& pattern : fabric::all_patterns()) {
    EXPECT_NE(rows.error().help.find(fabric::pattern_name(pattern)), std::string::npos);
  }
  const auto memory = read(kHeader + "unicast,one_to_one,hbm,4,0,1,0,0,64,359\n");
  EXPECT_NE(memory.error().help.find("dram_interleaved"), std::string::npos);
}

TEST(MeasurementTable, Headers) {
  const auto code = [](const std::string& text) {
    const auto rows = read(text);
    return rows ? "" : std::string(code_name(rows.error().code));
  };
  EXPECT_EQ(code(""), "syntax");
  EXPECT_EQ(code("\n\n"), "syntax");
  EXPECT_EQ(code(kHeader), "syntax");  // no rows
  EXPECT_EQ(code("unicast,one_to_one,4,64,359\n"), "unknown_name");
  EXPECT_EQ(code("mechanism,pattern,transactions,bytes\n"), "syntax");
  EXPECT_EQ(code("mechanism,pattern,transactions,bytes,cycles,colour\n"), "unknown_name");
  EXPECT_EQ(code("mechanism,pattern,transactions,bytes,cycles,bytes\n"), "contradiction");
  EXPECT_EQ(code("mechanism,\"pattern\n"), "syntax");
  EXPECT_EQ(code("\xEF\xBB\xBF" + kHeader + "unicast,one_to_one,l1,4,0,1,0,0,64,359"), "");
  EXPECT_EQ(code(std::string(kMostTableBytes + 1, ' ')), "text_too_long");
}

TEST(MeasurementTable, MachinesWithoutSuchMemories) {
  Machine machine = test::noc_machine(test::kWormholeNoc);
  machine.memory[1].at.clear();  // nobody knows where the banks are
  const auto rows =
      read_measurements(kHeader + "unicast,one_to_one,dram,4,0,1,0,0,64,359\n", machine);
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, ErrorCode::kUnknownName);
}

}  // namespace
}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tessera/base/text.h"
#include "tessera/target/machine.h"
#include "tessera/testing/refused_machine.h"

namespace tessera::target {
namespace {

using test::expect_refused;

constexpr std::string_view kMemory = R"("memory": [{"name": "sram", "bytes": 65536}])";

/// A machine with the given fields added to a complete one.
std::string with(std::string_view fields) {
  return cat(R"({"name": "m", "mesh": [4, 4], )", kMemory, ", ", fields, "}");
}

TEST(ParseMachine, TheSmallestFile) {
  const auto machine =
      parse_machine(R"({"name": "mine", "mesh": [4, 4], "memory": [{"name": "sram"}]})");
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  Machine expected;
  expected.name = "mine";
  expected.mesh.emplace_back();
  expected.mesh[0].name = "mesh";
  expected.mesh[0].extents = {4, 4};
  MemorySpace sram;
  sram.name = "sram";
  expected.memory = {sram};
  expected.data_space = "sram";
  EXPECT_EQ(*machine, expected);
  EXPECT_EQ(machine->places(), 16);
  EXPECT_EQ(machine->default_space().data_bytes(), std::nullopt);
}

TEST(ParseMachine, EveryExampleOfTheManual) {
  std::ifstream file("docs/targets.md");
  std::ostringstream stream;
  stream << file.rdbuf();
  const std::string manual = stream.str();
  constexpr std::string_view kFence = "```json\n";
  int examples = 0;
  for (std::size_t at = manual.find(kFence); at != std::string::npos;
       at = manual.find(kFence, at + 1)) {
    const std::size_t from = at + kFence.size();
    const std::string text = manual.substr(from, manual.find("```", from) - from);
    const auto machine = parse_machine(text);
    EXPECT_TRUE(machine.ok()) << text << (machine ? "" : render(machine.error(), text));
    ++examples;
  }
  EXPECT_GE(examples, 2);
}

TEST(ParseMachine, LevelsMakeOneMesh) {
  const auto machine = parse_machine(cat(
      R"({"name": "box", "mesh": [{"name": "devices", "extents": [2]},
          {"name": "cores", "extents": [8, 8], "axes": ["row", "col"]}], )",
      kMemory, R"(, "dead": [[1, 3, 5], {"from": [0, 7, 0], "to": [1, 7, 7]}, [1, 7, 2]]})"));
  ASSERT_TRUE(machine.ok()) << machine.error().message;
  EXPECT_EQ(machine->shape().extents(), (std::vector<std::int64_t>{2, 8, 8}));
  EXPECT_TRUE(machine->is_dead({1, 3, 5}));
  EXPECT_TRUE(machine->is_dead({0, 7, 7}));
  EXPECT_FALSE(machine->is_dead({0, 3, 5}));
  // 1·64 + 3·8 + 5, and row 7 of both devices; [1, 7, 2] is in that row already.
  std::vector<std::int64_t> expected = {56, 57, 58, 59, 60, 61, 62, 63, 93};
  for (std::int64_t i = 120; i < 128; ++i) expected.push_back(i);
  EXPECT_EQ(machine->dead_places(), expected);
}

TEST(ParseMachine, NullSaysNotPublished) {
  const auto machine = parse_machine(with(R"("clock_hz": null, "rules": {"fabric": null})"));
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->clock_hz, std::nullopt);
  EXPECT_EQ(machine->rules, Rules{});
}

TEST(ParseMachine, TextsThatAreNoJson) {
  expect_refused({
      {"«»", ErrorCode::kSyntax, "", ""},
      {"  «nul»", ErrorCode::kSyntax, "'nul'", ""},
      {R"({"name" «"m"»})", ErrorCode::kSyntax, "':' '\"m\"'", ""},
      {R"({"name": "m",«}»)", ErrorCode::kSyntax, "',' '}' '}'", ""},
      {R"({"mesh": [4 «5»]})", ErrorCode::kSyntax, "',' ']' '5'", ""},
      {R"({"mesh": [4, «N»aN]})", ErrorCode::kSyntax, "',' ']' 'N'", ""},
      {R"({"mesh": [4,«,» 5]})", ErrorCode::kSyntax, "',' ']' ','", ""},
      {R"({"mesh": [4,«»)", ErrorCode::kSyntax, "',' ']'", ""},
      {"{} «{»}", ErrorCode::kSyntax, "'{'", ""},
      {R"({"mesh": [«1e999»]})", ErrorCode::kBadNumber, "'1e999'", "9223372036854775807"},
      {R"({"mesh": [«-0.01e-400»]})", ErrorCode::kBadNumber, "'-0.01e-400'", "0"},
      {R"({"name": "a", "mesh": [1], «"name"»: "b"})", ErrorCode::kContradiction, "'name'", ""},
  });
  EXPECT_EQ(parse_machine("\xEF\xBB\xBF[]").error().span, (Span{3, 5}));
  EXPECT_EQ(parse_machine("{\"a\": \"\xC3(\"}").error().code, ErrorCode::kSyntax);
}

TEST(ParseMachine, FieldsOfTheWrongKind) {
  expect_refused({
      {"«[1]»", ErrorCode::kBadTarget, "", ""},
      {R"(«{»"mesh": [1]})", ErrorCode::kBadTarget, "'name'", "\"name\""},
      {R"({"name": «7», "mesh": [1], "memory": []})", ErrorCode::kBadTarget, "/name 7", ""},
      {R"({"name": "m", "mesh": «7», "memory": []})", ErrorCode::kBadTarget, "/mesh 7", ""},
      {R"({"name": "m", "mesh": [4, «"x"»], "memory": []})", ErrorCode::kBadTarget, "/mesh/1 'x'",
       ""},
      {R"({"name": "m", "mesh": [4, «true»], "memory": []})", ErrorCode::kBadTarget, "/mesh/1", ""},
      {R"({"name": "m", "mesh": [4, «1.5»], "memory": []})", ErrorCode::kBadNumber,
       "/mesh/1 64-bit", "9223372036854775807"},
      {R"({"name": "m", "mesh": [«9223372036854775808»], "memory": []})", ErrorCode::kBadNumber,
       "/mesh/0 64-bit", "9223372036854775807"},
      {R"({"name": "m", "mesh": [1], "memory": [{"name": "a"}, «{»"bytes": 1}]})",
       ErrorCode::kBadTarget, "/memory/1 'name'", "\"name\""},
      {with(R"("rules": {"tile": «[32]»})"), ErrorCode::kBadTarget, "/rules/tile", "[32 32]"},
      {with(R"("dead": [«7»])"), ErrorCode::kBadTarget, "/dead/0 7",
       "[3 4] {\"from\" [0 0] \"to\" [0 9]}"},
  });
}

TEST(ParseMachine, NamesThatDoNotExist) {
  expect_refused({
      {with(R"(«"clokc_hz"»: 1)"), ErrorCode::kUnknownName, "'clokc_hz'", "'clock_hz'"},
      {R"({"name": "m", "mesh": [1], "memory": [{"name": "a", «"byts"»: 1}]})",
       ErrorCode::kUnknownName, "/memory/0 'byts'", "'bytes'"},
      {R"({"name": "m", "mesh": [1], "memory": [{"name": "a", "per": «"core"»}]})",
       ErrorCode::kUnknownName, "/memory/0/per 'core'", ""},
      {with(R"("data_space": «"ram"»)"), ErrorCode::kUnknownName, "/data_space 'ram'", "'sram'"},
      {R"({"name": "m", "memory": [], "mesh": [{"name": "a", "extents": [1],
          "links": {"network": «"rnig"»}}]})",
       ErrorCode::kUnknownName, "/mesh/0/links/network all_to_all 'rnig'", "'ring'"},
  });
}

TEST(ParseMachine, MeshesThatCannotBe) {
  expect_refused({
      {R"({"name": «"m/n"», "mesh": [1], "memory": []})", ErrorCode::kBadTarget, "/name 'm/n'",
       "1 64 '_' '-'"},
      {R"({"name": "m", "mesh": «[]», "memory": []})", ErrorCode::kBadTarget, "/mesh", "[1]"},
      {R"({"name": "m", "mesh": [4, «0»], "memory": []})", ErrorCode::kBadNumber, "/mesh/1 1 0",
       ""},
      {R"({"name": "m", "mesh": [{"name": "a", "extents": [4, «-1»]}], "memory": []})",
       ErrorCode::kBadNumber, "/mesh/0/extents/1 1 -1", ""},
      {R"({"name": "m", "mesh": «[9223372036854775807, 2]», "memory": []})", ErrorCode::kOverflow,
       "/mesh 64-bit", ""},
      {R"({"name": "m", "mesh": [{"name": "a", "extents": [4], "axes": «["r", "c"]»}],
          "memory": []})",
       ErrorCode::kContradiction, "/mesh/0/axes 1 2", ""},
      {with(R"("clock_hz": «0»)"), ErrorCode::kBadNumber, "/clock_hz 1 0", ""},
      {with(R"("dead": [[0, 0], «[1, 4]»])"), ErrorCode::kOutOfRange, "/dead/1 [1 4] 4x4", "0"},
      {with(R"("dead": «[{"from": [0, 0], "to": [3, 2]}, {"from": [0, 2], "to": [3, 3]}]»)"),
       ErrorCode::kBadTarget, "/dead 16", ""},
      {with(R"("dead": [«{"from": [1, 1], "to": [1, 0]}»])"), ErrorCode::kBadTarget,
       "/dead/0 [1 1] [1 0]", ""},
  });
}

TEST(ParseMachine, MemoriesThatCannotBe) {
  const auto memory = [](std::string_view fields) {
    return cat(R"({"name": "m", "mesh": [4, 4], "memory": [{"name": "a", )", fields, "}]}");
  };
  expect_refused({
      {R"({"name": "m", "mesh": [1], "memory": «[]»})", ErrorCode::kBadTarget, "/memory",
       "[{\"name\" \"sram\" \"bytes\" 65536}]"},
      {memory(R"("bytes": «-5»)"), ErrorCode::kBadNumber, "/memory/0/bytes 1 -5", ""},
      {memory(R"("bytes": «9223372036854775807»)"), ErrorCode::kOverflow,
       "/memory/0/bytes 9223372036854775807 16 64-bit", ""},
      {memory(R"("bytes": 10, "reserved": «[{"name": "code", "bytes": 10}]»)"),
       ErrorCode::kContradiction, "/memory/0/reserved 10", ""},
      {memory(R"("bytes": 9, "reserved": «[{"name": "b", "bytes": 9223372036854775807},
                                           {"name": "c", "bytes": 9223372036854775807}]»)"),
       ErrorCode::kContradiction, "/memory/0/reserved 9", ""},
      {memory(R"("bytes": 10, "usable_bytes": «11»)"), ErrorCode::kContradiction,
       "/memory/0/usable_bytes 10 11", ""},
      {memory(R"("reserved": «[{"name": "code", "bytes": 10}]»)"), ErrorCode::kContradiction,
       "/memory/0/reserved", "usable_bytes"},
      {R"({"name": "m", "mesh": [1], "memory": [«{"name": "a", "per": "bank"}»]})",
       ErrorCode::kBadTarget, "/memory/0", "\"banks\" 12"},
      {memory(R"("banks": «3»)"), ErrorCode::kContradiction, "/memory/0/banks", "\"per\" \"bank\""},
      {memory(R"("align_bytes": «0»)"), ErrorCode::kBadNumber, "/memory/0/align_bytes 1 0", ""},
      {R"({"name": "m", "mesh": [1], "memory": [{"name": "a"}, {"name": «"a"»}]})",
       ErrorCode::kContradiction, "/memory/1/name 'a'", ""},
  });
}

TEST(ParseMachine, RulesAndTextsThatCannotBe) {
  expect_refused({
      {with(R"("rules": {"colours": 24, "reserved_colours": [21, «24»]})"), ErrorCode::kBadTarget,
       "/rules/reserved_colours/1 24 24", "0"},
      {with(R"("rules": {"colours": «4097»})"), ErrorCode::kTooLarge, "/rules/colours 4096 4097",
       ""},
      {with(R"("rules": {"fabric": {"offset_x": 1, "width": «4», "height": 4}})"),
       ErrorCode::kContradiction, "/rules/fabric/width 1 4 4", ""},
      {with(R"("rules": {"tile": [32, «0»]})"), ErrorCode::kBadNumber, "/rules/tile/1 1 0", ""},
      {with(R"("title": «"two\nlines"»)"), ErrorCode::kBadTarget, "/title 'two\\x0alines'",
       "UTF-8"},
      {with(R"("notes": [{"about": «"bytes"», "text": "x"}])"), ErrorCode::kBadTarget,
       "/notes/0/about 'bytes'", "\"/memory/0/bytes\""},
  });
}

TEST(ParseMachine, HostileSizes) {
  const auto code = [](const std::string& text) {
    const auto machine = parse_machine(text);
    return machine.ok() ? std::string("ok") : std::string(code_name(machine.error().code));
  };
  EXPECT_EQ(code(std::string(1 << 20, '[')), "too_large");
  std::string nested = "1";
  for (int i = 0; i < 100; ++i) nested = cat("{\"a\": ", nested, "}");
  EXPECT_EQ(code(nested), "too_large");
  EXPECT_EQ(code(std::string(kMaxMachineBytes + 1, ' ')), "text_too_long");
  EXPECT_EQ(code(std::string(kMaxMachineBytes, ' ')), "syntax");

  // A million dead places listed one by one are rejected; as a range they are accepted, unless
  // they are all.
  std::string listed;
  for (int i = 0; i < 1'000'000; ++i) listed += i == 0 ? "[0]" : ",[0]";
  const std::string line = cat(R"({"name": "m", "mesh": [1000000], )", kMemory, R"(, "dead": [)");
  EXPECT_EQ(code(cat(line, listed, "]}")), "too_large");
  const std::string range = cat(line, R"({"from": [0], "to": [999998]}]})");
  EXPECT_EQ(code(range), "ok");
  EXPECT_EQ(parse_machine(range)->dead_places().size(), 999'999U);
  EXPECT_EQ(code(cat(line, R"({"from": [0], "to": [999999]}]})")), "bad_target");
  EXPECT_EQ(code(cat(R"({"name": "m", "mesh": [4611686018427387904], "memory": [{"name": "a"}], )",
                     R"("dead": [{"from": [0], "to": [4611686018427387903]}]})")),
            "too_large");

  std::string keys = R"({"name": "m")";
  for (int i = 0; i < 1000; ++i) keys += cat(", \"k", i, "\": 0");
  EXPECT_EQ(code(keys + "}"), "too_large");
  std::string levels;
  for (int i = 0; i < 9; ++i) {
    levels += cat(i == 0 ? "" : ", ", R"({"name": "l)", i, R"(", "extents": [1]})");
  }
  EXPECT_EQ(code(cat(R"({"name": "m", "mesh": [)", levels, "], ", kMemory, "}")), "too_large");
  EXPECT_EQ(code(cat(R"({"name": "m", "mesh": [1,1,1,1,1,1,1,1,1], )", kMemory, "}")), "too_large");
}

}  // namespace
}  // namespace tessera::target

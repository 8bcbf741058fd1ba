// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "tools/check/check_files.h"
#include "tools/check/check_testing.h"

namespace tessera::tools {
namespace {

TEST_F(Check, RightFilesPassInOneLine) {
  const Answer answer = run({"check", write("a.mlir", kRight)});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.lines().size(), 1U) << answer.out;
  EXPECT_EQ(facts_in(answer.out),
            "1 1 0 0 0 0");  // files, tensors, errors, warnings, silenced, unknown
  EXPECT_EQ(answer.err, "");
}

TEST_F(Check, TextHasPlaceCaretAndFix) {
  const std::string file = write("a.mlir", "\n\n" + kWrong);
  const Answer answer = run({"check", file});
  EXPECT_EQ(answer.status, 1);
  const std::vector<std::string> lines = answer.lines();
  ASSERT_GE(lines.size(), 4U);
  const Json found = json_lines(run({"check", file, "--json"})).at(0);
  const std::string start =
      file + ":3:" + std::to_string(found["column"].get<int>()) + ": error[contradiction]: ";
  EXPECT_EQ(lines[0].substr(0, start.size()), start);
  EXPECT_TRUE(has(lines[0], "18x32")) << lines[0];
  // The carets are exactly below the wrong text.
  const std::string wrong = wrong_text(found, kWrong);
  EXPECT_TRUE(has(wrong, "17x32")) << wrong;
  EXPECT_EQ(lines[2].find('^'), lines[1].find(wrong)) << answer.out;
  EXPECT_EQ(std::count(lines[2].begin(), lines[2].end(), '^'), std::ssize(wrong)) << answer.out;
  EXPECT_LT(lines[1].size(), 120U);  // a window of the long line
  EXPECT_TRUE(has(answer.out, "\nfix: " + found["fix"].get<std::string>() + "\n")) << answer.out;
  EXPECT_FALSE(has(answer.out, "note: "));
  EXPECT_EQ(facts_in(lines.back()), "1 1 1 0 0 0");
}

TEST_F(Check, AnAliasIsWrongWhereItIsDefinedForATensorElsewhere) {
  const std::string file = write("a.mlir", kAlias);
  const Answer answer = run({"check", file});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.out.rfind(file + ":1:", 0), 0U) << answer.out;
  EXPECT_TRUE(has(answer.out, "\nnote: " + file + ":3:24: ")) << answer.out;
}

TEST_F(Check, WarningsAloneExitWithZero) {
  const Answer answer = run({"check", write("a.mlir", kWaste)});
  EXPECT_EQ(answer.status, 0);
  EXPECT_TRUE(has(answer.out, ": warning[waste]: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "96")) << answer.out;
  EXPECT_EQ(facts_in(answer.lines().back()), "1 1 0 1 0 0") << answer.out;
}

TEST_F(Check, CommentsSilence) {
  const Answer answer =
      run({"check", write("a.mlir", "// tessera: allow(contradiction)\n" + kWrong)});
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(facts_in(answer.lines().back()), "1 1 0 0 1 0") << answer.out;
}

TEST_F(Check, JsonIsOneObjectPerLine) {
  const std::string first = write("a.mlir", kWrong);
  const std::string second = write("b.mlir", kAlias + kWaste + kUnfixable);
  const Answer answer = run({"check", first, second, "--json"});
  EXPECT_EQ(answer.status, 1);
  const std::vector<Json> lines = json_lines(answer);
  ASSERT_EQ(lines.size(), 4U) << answer.out;
  std::vector<std::string> keys;
  for (const auto& [key, value] : lines[0].members()) keys.push_back(key);
  ASSERT_GE(keys.size(), 7U);
  keys.resize(7);
  EXPECT_EQ(keys, (std::vector<std::string>{"file", "line", "column", "severity", "code", "message",
                                            "fix"}));
  EXPECT_EQ(lines[0]["file"], first);
  EXPECT_EQ(lines[0]["line"], 1);
  EXPECT_TRUE(has(wrong_text(lines[0], kWrong), "17x32"));
  EXPECT_EQ(mended(lines[0], kWrong), kRight);
  EXPECT_EQ(lines[0]["severity"], "error");
  EXPECT_EQ(lines[0]["code"], "contradiction");
  EXPECT_EQ(lines[1]["file"], second);
  EXPECT_EQ(mended(lines[1], kAlias), by_alias(kRightMemref));
  EXPECT_EQ(lines[1]["tensor"]["line"], 3);
  EXPECT_EQ(lines[2]["severity"], "warning");
  EXPECT_EQ(lines[2]["code"], "waste");
  EXPECT_EQ(lines[2]["fix"], nullptr);
  EXPECT_EQ(lines[3]["severity"], "error");
  EXPECT_EQ(lines[3]["fix"], nullptr);
  for (const Json& line : lines) EXPECT_FALSE(line.contains("fixed"));
  const Answer clean = run({"check", write("c.mlir", kRight), "--json"});
  EXPECT_EQ(clean.status, 0);
  EXPECT_EQ(clean.out, "");
}

/// What the standard requires of each object that we write (the numbers are its sections).
void expect_sarif(const Json& log) {
  ASSERT_TRUE(log.is_object());
  EXPECT_EQ(log["version"], "2.1.0");  // 3.13.2
  EXPECT_TRUE(log["$schema"].get<std::string>().ends_with("sarif-schema-2.1.0.json"));
  ASSERT_EQ(log["runs"].size(), 1U);
  const Json& only = log["runs"][0];
  const Json& driver = only["tool"]["driver"];  // 3.14.6, 3.18.2
  EXPECT_EQ(driver["name"], "tessera");         // 3.19.8
  EXPECT_EQ(only["columnKind"], "utf16CodeUnits");
  ASSERT_EQ(only["invocations"].size(), 1U);
  EXPECT_TRUE(only["invocations"][0]["executionSuccessful"].is_boolean());  // 3.20.14
  std::vector<std::string> ids;
  for (const Json& rule : driver["rules"]) {
    ids.push_back(rule["id"].get<std::string>());  // 3.49.3, unique
    EXPECT_TRUE(rule["shortDescription"]["text"].is_string());
  }
  const auto expect_region = [](const Json& region) {
    for (const char* key : {"startLine", "startColumn", "endLine", "endColumn"}) {
      ASSERT_TRUE(region[key].is_integer()) << key;
      EXPECT_GE(region[key].get<int>(), 1);  // 3.30.5 ..
    }
  };
  const auto expect_place = [&](const Json& location) {
    const Json& place = location["physicalLocation"];
    EXPECT_TRUE(place["artifactLocation"]["uri"].is_string());  // 3.29.3
    expect_region(place["region"]);
  };
  for (const Json& result : only["results"]) {
    EXPECT_TRUE(result["message"]["text"].is_string());  // 3.27.11
    const auto level = result["level"].get<std::string>();
    EXPECT_TRUE(level == "error" || level == "warning");
    ASSERT_LT(result["ruleIndex"].get<std::size_t>(), ids.size());
    EXPECT_EQ(result["ruleId"], ids[result["ruleIndex"].get<std::size_t>()]);
    ASSERT_EQ(result["locations"].size(), 1U);
    expect_place(result["locations"][0]);
    if (result.contains("relatedLocations")) expect_place(result["relatedLocations"][0]);
    if (!result.contains("fixes")) continue;
    for (const Json& change : result["fixes"][0]["artifactChanges"]) {  // 3.55.3
      EXPECT_TRUE(change["artifactLocation"]["uri"].is_string());       // 3.56.2
      ASSERT_EQ(change["replacements"].size(), 1U);                     // 3.56.3
      expect_region(change["replacements"][0]["deletedRegion"]);        // 3.57.3
      EXPECT_TRUE(change["replacements"][0]["insertedContent"]["text"].is_string());
    }
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

TEST_F(Check, SarifHasRulesResultsPlacesAndFixes) {
  const std::string file = write("a b.mlir", kAlias + kWaste + kUnfixable);
  const Answer answer = run({"check", file, "--sarif"});
  EXPECT_EQ(answer.status, 1);
  const Json log = answer.json();
  expect_sarif(log);
  const Json& only = log["runs"][0];
  ASSERT_EQ(only["results"].size(), 3U);
  ASSERT_EQ(only["tool"]["driver"]["rules"].size(), 3U);
  EXPECT_EQ(only["invocations"][0]["executionSuccessful"], true);
  const Json& result = only["results"][0];
  EXPECT_EQ(result["ruleId"], "contradiction");
  const Json& place = result["locations"][0]["physicalLocation"];
  EXPECT_EQ(place["artifactLocation"]["uri"], "file://" + folder_ + "/a%20b.mlir");
  // The text is ASCII, so that columns are the same in both forms.
  const Json found = json_lines(run({"check", file, "--json"})).at(0);
  const Json region = {{"startLine", found["line"]},
                       {"startColumn", found["column"]},
                       {"endLine", found["end_line"]},
                       {"endColumn", found["end_column"]}};
  EXPECT_EQ(place["region"], region);
  ASSERT_TRUE(result.contains("relatedLocations") && result.contains("fixes")) << answer.out;
  EXPECT_EQ(result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 3);
  const Json& replacement = result["fixes"][0]["artifactChanges"][0]["replacements"][0];
  EXPECT_EQ(replacement["deletedRegion"]["startColumn"], found["fix_region"]["column"]);
  EXPECT_EQ(replacement["deletedRegion"]["endColumn"], found["fix_region"]["end_column"]);
  EXPECT_EQ(replacement["insertedContent"]["text"], found["fix"]);
  EXPECT_EQ(only["results"][1]["level"], "warning");
  EXPECT_FALSE(only["results"][2].contains("fixes"));
}

TEST_F(Check, SarifOfNothingIsALogWithoutResults) {
  const Answer answer = run({"check", write("a.mlir", kRight), "--sarif"});
  EXPECT_EQ(answer.status, 0);
  expect_sarif(answer.json());
  EXPECT_EQ(answer.json()["runs"][0]["results"], Json::array());
}

TEST_F(Check, ColumnsAreBytesInTextAndUtf16InSarif) {
  // The number is preceded by U+00E9 (2 bytes, 1 unit), U+20AC (3, 1) and U+1F600 (4, 2), and a
  // whole block of U+1F600 for the index of units.
  std::string faces;
  for (int i = 0; i < 300; ++i) faces += "\xF0\x9F\x98\x80";
  const std::string comment = "/* \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80" + faces + " */ ";
  const std::string before = "%0 = \"op\"() {s = \"" + comment + "\"} : () -> ";
  const std::string text = before + "tensor<53x63xf32, " + layout(kWrongMemref) + ">\n";
  const std::string file = write("a.mlir", faces + "\n" + text);
  const Answer lines = run({"check", file, "--json"});
  ASSERT_EQ(lines.lines().size(), 1U) << lines.out;
  const Json found = lines.json();
  EXPECT_EQ(found["line"], 2);
  EXPECT_TRUE(has(wrong_text(found, text), "17x32")) << found;
  const std::int64_t fewer = 1 + 2 + 2 + 300 * 2;
  const Json log = run({"check", file, "--sarif"}).json();
  const Json& region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
  EXPECT_EQ(region["startColumn"], found["column"].get<std::int64_t>() - fewer);
  EXPECT_EQ(region["endColumn"], found["end_column"].get<std::int64_t>() - fewer);
}

TEST_F(Check, AMissingFileIsNamedAndTheOthersAreChecked) {
  const std::string file = write("b.mlir", kWrong);
  const Answer answer = run({"check", path("a.mlir"), file});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(answer.err.starts_with("error[io]: ")) << answer.err;
  EXPECT_TRUE(has(answer.err, "'" + path("a.mlir") + "'")) << answer.err;
  EXPECT_TRUE(has(answer.out, file + ":1:"));
  EXPECT_TRUE(facts_in(answer.lines().back()).ends_with(" 1")) << answer.out;  // failed files

  const Answer json = run({"check", path("a.mlir"), file, "--json"});
  EXPECT_EQ(json.status, 2);
  EXPECT_EQ(json.err, "");
  ASSERT_EQ(json.lines().size(), 2U);
  EXPECT_EQ(json_lines(json)[0]["error"]["code"], "io");
  EXPECT_EQ(json_lines(json)[0]["file"], path("a.mlir"));
  EXPECT_EQ(json_lines(json)[1]["code"], "contradiction");

  const Answer sarif = run({"check", path("a.mlir"), file, "--sarif"});
  EXPECT_EQ(sarif.status, 2);
  const Json log = sarif.json();
  expect_sarif(log);
  const Json& invocation = log["runs"][0]["invocations"][0];
  EXPECT_EQ(invocation["executionSuccessful"], false);
  EXPECT_EQ(invocation["toolExecutionNotifications"].size(), 1U);
}

TEST_F(Check, AFileBeyondTheLimitFails) {
  const std::string file = write("a.mlir", "");
  fs::resize_file(file, (std::uintmax_t{64} << 20) + 1);  // sparse: takes no disk space
  const Answer answer = run({"check", file, write("b.mlir", kWrong)});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.err, "error[text_too_long]: '" + file + "': ")) << answer.err;
  EXPECT_TRUE(has(answer.out, "b.mlir:1:"));
}

TEST_F(Check, TheSizeOfAFileBeyondTheLimitIsItsOwn) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  std::istringstream nothing;
  const std::string file = write("a.mlir", "");
  for (const std::size_t size : {kMost + 1, kMost + 2, 3 * kMost}) {
    fs::resize_file(file, size);  // sparse: takes no disk space
    const Result<std::string> text = read_mlir_file({file}, nothing);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::kTextTooLong);
    EXPECT_TRUE(has(text.error().message, std::to_string(size))) << text.error().message;
  }
  fs::resize_file(file, kMost);
  ASSERT_TRUE(read_mlir_file({file}, nothing).ok());
  // A stream has no size; that it is longer than the limit is all that is known.
  std::istringstream stream(std::string(kMost + 1, ' '));
  const Result<std::string> piped = read_mlir_file({"<stdin>", true}, stream);
  ASSERT_FALSE(piped.ok());
  EXPECT_EQ(piped.error().code, ErrorCode::kTextTooLong);
}

TEST_F(Check, BadUsage) {
  const std::string file = write("a.mlir", kWrong);
  const std::vector<std::vector<std::string>> bad = {
      {"check"},                                    // FILE is missing
      {"check", file, "--json", "--sarif"},         // two formats
      {"check", file, "--fix", "-"},                // standard input cannot be rewritten
      {"check", file, "--target", "nothing"},       // no such machine
      {"check", file, "--target", path("t.json")},  // no such file
      {"check", file, "--fxi"},                     // no such flag
      {"check", file, "--batch"},                   // has no batch
  };
  for (const auto& args : bad) {
    const Answer answer = run(args);
    EXPECT_EQ(answer.status, 2) << testing::PrintToString(args);
    EXPECT_TRUE(has(answer.err + answer.out, "error")) << testing::PrintToString(args);
  }
  EXPECT_EQ(content(file), kWrong);
}

TEST_F(Check, FoldersAreWalkedInOrderWithoutLoops) {
  write("d/b.mlir", kWrong);
  write("d/a/z.mlir", kWrong);
  write("d/c.txt", kWrong);
  write("d/x.mlir/inner.mlir", kWrong);  // a folder may have such a name
  fs::create_directory_symlink(path("d"), path("d/a/loop"));
  fs::create_symlink(path("d/b.mlir"), path("d/again.mlir"));  // one file, two names
  fs::create_symlink(path("nowhere"), path("d/dangling.mlir"));
  ASSERT_EQ(mkfifo(path("d/pipe.mlir").c_str(), 0600), 0);
  const Answer answer = run({"check", path("d"), "--json"});
  EXPECT_EQ(answer.status, 1);
  std::vector<std::string> files;
  for (const Json& line : json_lines(answer)) files.push_back(line["file"].get<std::string>());
  EXPECT_EQ(files, (std::vector<std::string>{path("d/a/z.mlir"), path("d/again.mlir"),
                                             path("d/x.mlir/inner.mlir")}));
  EXPECT_EQ(run({"check", path("d") + "/", "--json"}).out, answer.out);
  // A file that is both named and found in a folder is checked once.
  EXPECT_EQ(json_lines(run({"check", path("d/b.mlir"), path("d"), "--json"})).size(), 3U);
  fs::create_directory(path("empty"));
  const Answer empty = run({"check", path("empty")});
  EXPECT_EQ(empty.status, 0);
  EXPECT_TRUE(facts_in(empty.out).starts_with("0 0 ")) << empty.out;
}

TEST_F(Check, StandardInputIsAFile) {
  const Answer answer = run({"check", "-"}, kWrong);
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.out.rfind("<stdin>:1:", 0), 0U);
  EXPECT_EQ(json_lines(run({"check", "-", "--json"}, kWrong)).at(0)["file"], "<stdin>");
  EXPECT_EQ(run({"check", "-", "-"}, kRight).status, 0);
}

TEST_F(Check, GarbageIsNoTensorAndCannotDriveTheTerminal) {
  std::string garbage;
  for (int i = 0; i < 1 << 16; ++i) garbage += static_cast<char>((i * 2654435761U) >> 13);
  EXPECT_NE(run({"check", write("a.mlir", garbage)}).status, 2);
  EXPECT_EQ(run({"check", write("b.mlir", "")}).status, 0);
  const std::string hostile = "/*\x1b[31m\xC2\x9B*/ " + kWrong + "// \x07\x1b[2J\n" + kWrong;
  const std::string file = write("e\x1b[1m\n.mlir", hostile);
  const Answer answer = run({"check", file, path("no\x1b\n.mlir")});
  EXPECT_EQ(answer.status, 2);
  EXPECT_TRUE(has(answer.out, "/e?[1m?.mlir:1:")) << answer.out;
  for (const std::string& text : {answer.out, answer.err}) {
    EXPECT_FALSE(has(text, "\x1b"));
    EXPECT_FALSE(has(text, "\x07"));
    EXPECT_FALSE(has(text, "\xC2\x9B"));
  }
  EXPECT_EQ(json_lines(run({"check", file, "--json"})).size(), 2U);
  expect_sarif(run({"check", file, "--sarif"}).json());
}

TEST_F(Check, ColourOnlyWhereItIsWelcome) {
  const std::string file = write("a.mlir", kWrong);
  EXPECT_TRUE(has(run({"check", file}, "", {true, true, 80}).out, "\x1b[31merror["));
  EXPECT_FALSE(has(run({"check", file}).out, "\x1b["));
  EXPECT_FALSE(has(run({"check", file, "--json"}, "", {true, true, 80}).out, "\x1b["));
}

TEST_F(Check, TargetAddsTheRulesOfAMachine) {
  // 20x20 cores, each holding 1x1: a legal layout, but no Wormhole has more than 8x8.
  const std::string text =
      "func.func private @f(tensor<20x20xf32, #tt.metal_layout<(d0, d1) -> (d0, d1), undef, "
      "<20x20>, memref<1x1xf32, #tt.memory_space<l1>>>>)\n";
  const std::string file = write("a.mlir", text);
  EXPECT_EQ(run({"check", file}).status, 0);
  const Answer answer = run({"check", file, "--target", "wormhole", "--json"});
  EXPECT_EQ(answer.status, 1) << answer.out;
  EXPECT_TRUE(has(answer.out, "wormhole")) << answer.out;
}

TEST_F(Check, AThousandFiles) {
  for (int i = 0; i < 1000; ++i) {
    write("d/" + std::to_string(i) + ".mlir", i % 100 == 0 ? kWrong : kRight);
  }
  const Answer answer = run({"check", path("d")});
  EXPECT_EQ(answer.status, 1);
  EXPECT_EQ(answer.lines().back(),
            "1000 files, 1000 tensors: 10 errors, 0 warnings, 0 silenced, 0 unknown layouts");
}

TEST_F(Check, HelpManualAndCompletionsListIt) {
  const std::string usage = "tessera check FILE.. [--fix] [--target T] [--json] [--sarif]";
  EXPECT_TRUE(has(run({"help", "check"}).out, usage));
  EXPECT_TRUE(has(run({"man"}).out, ".SS check\n"));
  EXPECT_TRUE(has(run({"completion", "zsh"}).out, "'*:file:_files'"));
  EXPECT_TRUE(has(run({"completion", "fish"}).out, "__fish_seen_subcommand_from check' -F\n"));
  EXPECT_TRUE(has(run({"completion", "bash"}).out, "check) [ \"${current:0:1}\" != - ] || words="));
}

}  // namespace
}  // namespace tessera::tools

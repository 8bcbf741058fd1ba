// SPDX-License-Identifier: Apache-2.0
#include "tools/check/check_testing.h"

namespace tessera::tools {
namespace {

TEST_F(Check, FixRewritesKeepingABackupAndPermissions) {
  const std::string file = write("a.mlir", kAlias);
  ASSERT_EQ(chmod(file.c_str(), 0640), 0);
  const Answer answer = run({"check", "--fix", file});
  EXPECT_EQ(answer.status, 0) << answer.out << answer.err;
  EXPECT_EQ(content(file), by_alias(kRightMemref));
  EXPECT_EQ(content(file + ".orig"), kAlias);
  for (const std::string& each : {file, file + ".orig"}) {
    EXPECT_EQ(fs::status(each).permissions(), fs::perms(0640)) << each;
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"a.mlir", "a.mlir.orig"}));  // no leftovers
  EXPECT_TRUE(has(answer.out, ": fixed[contradiction]: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, file + ".orig\n")) << answer.out;
  EXPECT_TRUE(facts_in(answer.lines().back()).starts_with("1 1 1 0 ")) << answer.out;  // 1 fixed

  struct stat before = {};
  ASSERT_EQ(stat(file.c_str(), &before), 0);
  const Answer second = run({"check", "--fix", file});
  EXPECT_EQ(second.status, 0);
  struct stat after = {};
  ASSERT_EQ(stat(file.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);  // a file without fixes is not touched
  EXPECT_EQ(names().size(), 2U);
}

TEST_F(Check, FixReportsWhatIsLeft) {
  const std::string file = write("a.mlir", kWrong + kUnfixable);
  const Answer text = run({"check", "--fix", file});
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(content(file), kRight + kUnfixable);
  EXPECT_TRUE(has(text.out, ":1:")) << text.out;
  EXPECT_TRUE(has(text.out, file + ":2:")) << text.out;

  write("a.mlir", kWrong + kUnfixable);
  const Answer json = run({"check", "--fix", file, "--json"});
  EXPECT_EQ(json.status, 1);
  const std::vector<Json> lines = json_lines(json);
  ASSERT_EQ(lines.size(), 2U) << json.out;
  EXPECT_EQ(lines[0]["fixed"], true);
  EXPECT_EQ(mended(lines[0], kWrong), kRight);
  EXPECT_EQ(lines[1]["fixed"], false);
  EXPECT_EQ(lines[1]["line"], 2);
}

TEST_F(Check, ABackupIsNeverWrittenOver) {
  const std::string file = write("a.mlir", kWrong);
  write("a.mlir.orig", "precious");
  EXPECT_EQ(run({"check", "--fix", file}).status, 0);
  EXPECT_EQ(content(file + ".orig"), "precious");
  EXPECT_EQ(content(file + ".orig.1"), kWrong);
  // The same text again needs no further backup.
  write("a.mlir", kWrong);
  EXPECT_EQ(run({"check", "--fix", file}).status, 0);
  EXPECT_EQ(content(file), kRight);
  EXPECT_EQ(names(), (std::vector<std::string>{"a.mlir", "a.mlir.orig", "a.mlir.orig.1"}));
}

TEST_F(Check, FixOfALinkRewritesTheFileBehindIt) {
  const std::string file = write("real/a.mlir", kWrong);
  fs::create_symlink(file, path("link.mlir"));
  EXPECT_EQ(run({"check", "--fix", path("link.mlir")}).status, 0);
  EXPECT_TRUE(fs::is_symlink(path("link.mlir")));
  EXPECT_EQ(content(file), kRight);
  EXPECT_EQ(content(file + ".orig"), kWrong);
}

TEST_F(Check, AReadOnlyFileIsNotRewritten) {
  const std::string file = write("a.mlir", kWrong);
  ASSERT_EQ(chmod(file.c_str(), 0444), 0);
  const Answer answer = run({"check", "--fix", file, write("b.mlir", kWrong)});
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(content(file), kWrong);
  EXPECT_EQ(content(path("b.mlir")), kRight);  // the others are fixed
  EXPECT_TRUE(has(answer.err, "error[io]: ") && has(answer.err, "'" + file + "'")) << answer.err;
  EXPECT_TRUE(has(answer.out, file + ":1:")) << answer.out;  // and still reported
  EXPECT_EQ(names(), (std::vector<std::string>{"a.mlir", "b.mlir", "b.mlir.orig"}));
}

}  // namespace
}  // namespace tessera::tools

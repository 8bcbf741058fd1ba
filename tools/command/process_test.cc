// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include "tools/testing/command_testing.h"
#include "tools/testing/shell_testing.h"

// The real command in a shell: behaviour that only a process has.
namespace tessera::tools {
namespace {

std::string quoted(const std::string& text) { return "'" + text + "'"; }

TEST(Process, PrintsTheSameAsTheFunction) {
  const Answer answer = run_in_shell("\"$T\" locate " + quoted(kTiled) + " --index 40,33 --json");
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, run({"locate", kTiled, "--index", "40,33", "--json"}).out);
}

TEST(Process, ExitStatus) {
  const std::string a = quoted(kRowMajor);
  const std::string b = quoted(kColumnMajor);
  EXPECT_EQ(run_in_shell("\"$T\" diff " + a + " " + a).status, 0);
  EXPECT_EQ(run_in_shell("\"$T\" diff " + a + " " + b).status, 1);
  EXPECT_EQ(run_in_shell("\"$T\" diff " + a).status, 2);
  EXPECT_EQ(run_in_shell("echo nonsense | \"$T\" show --batch").status, 0);
}

TEST(Process, AFullDiskIsAnError) {
  const Answer answer = run_in_shell("\"$T\" show " + quoted(kTiled) + " > /dev/full");
  EXPECT_EQ(answer.status, 2);
  EXPECT_NE(answer.out.find("error[io]: "), std::string::npos);
  EXPECT_EQ(run_in_shell("echo '{}' | \"$T\" show --batch > /dev/full").status, 2);
}

TEST(Process, AClosedOutputIsAnError) {
  const Answer answer = run_in_shell("\"$T\" --version >&-");
  EXPECT_EQ(answer.status, 2);
  EXPECT_NE(answer.out.find("error[io]"), std::string::npos);
}

TEST(Process, AReaderThatLeavesIsNoError) {
  const std::string large = quoted("tensor<1000x1000xf32, strided<[1000, 1]>>");
  EXPECT_EQ(run_in_shell("\"$T\" locate " + large + " --all | head -n 1").out,
            "[0, 0]  place []  slot 0\n");
  // The same when the parent ignores the signal, as many do.
  EXPECT_EQ(run_in_shell("trap '' PIPE; \"$T\" locate " + large + " --slots | head -n 1").out,
            "place []  slot 0  [0, 0]\n");
}

TEST(Process, AnswersEachRequestAtOnce) {
  // The second request is only written after the first answer has come.
  const std::string ask = "echo '{\"tensor\": \"" + kRowMajor + "\", \"index\": [0, 0]}'";
  const Answer answer = run_in_shell(
      "d=$(mktemp -d); mkfifo $d/in $d/out; \"$T\" locate --batch < $d/in > $d/out & "
      "exec 3> $d/in 4< $d/out; " +
      ask + " >&3; read -r first <&4; " + ask +
      " >&3; read -r second <&4; exec 3>&-; wait; rm -r $d; "
      "[ \"$first\" = \"$second\" ] && echo \"$first\"");
  EXPECT_EQ(answer.out, "{\"index\":[0,0],\"places\":[[]],\"slot\":0,\"byte\":0}\n");
}

TEST(Process, NoColourInAPipeAndWidthFromColumns) {
  const Answer answer = run_in_shell("COLUMNS=40 LC_ALL=C \"$T\" show " + quoted(kTiled));
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, run({"show", kTiled}, "", {false, false, 40}).out);
}

TEST(Process, BashAcceptsTheCompletion) {
  if (run_in_shell("command -v bash").status != 0) GTEST_SKIP() << "no bash";
  const Answer answer = run_in_shell(
      "F=$(mktemp); \"$T\" completion bash > $F && bash -c 'source '$F'; "
      "COMP_WORDS=(tessera lo); COMP_CWORD=1; _tessera; echo "
      "\"${COMPREPLY[@]}\"; COMP_WORDS=(tessera locate --sl); COMP_CWORD=2; _tessera; echo "
      "\"${COMPREPLY[@]}\"'; rm $F");
  EXPECT_EQ(answer.out, "locate\n--slot --slots\n");
  // Where files are expected there are no words, and bash completes file names.
  const Answer files = run_in_shell(
      "F=$(mktemp); \"$T\" completion bash > $F && bash -c 'source '$F'; "
      "COMP_WORDS=(tessera check \"\"); COMP_CWORD=2; _tessera; echo "
      "\"${#COMPREPLY[@]}\"; COMP_WORDS=(tessera check --s); COMP_CWORD=2; _tessera; echo "
      "\"${COMPREPLY[@]}\"'; rm $F");
  EXPECT_EQ(files.out, "0\n--sarif\n");
}

/// A shell in a temporary folder with one file to fix and one valid file.
Answer in_folder(const std::string& line) {
  const std::string layout =
      "#tt.metal_layout<(d0, d1) -> (d0, d1), undef, <3x2>, memref<17x32xf32, "
      "#tt.memory_space<l1>>>";
  const std::string file = "func.func private @f(tensor<53x63xf32, " + layout + ">)";
  return run_in_shell("R=$PWD; D=$(mktemp -d); chmod 777 $D; cd $D; echo " + quoted(file) +
                      " > a.mlir; sed s/17x32/18x32/ a.mlir > right; chmod 666 *; (" + line +
                      "); S=$?; rm -rf $D; exit $S");
}

TEST(Process, NothingIsHalfWrittenWhenTheDiskIsFull) {
  // The limit on the size of files is 0 bytes: a write fails, or, where the signal is not ignored,
  // kills.
  const Answer limited = in_folder(
      "cp a.mlir before; (trap '' XFSZ; ulimit -f 0; \"$T\" check --fix a.mlir); echo $?; "
      "cmp a.mlir before && ls -A");
  EXPECT_NE(limited.out.find("error[io]: "), std::string::npos) << limited.out;
  EXPECT_NE(limited.out.find("\n2\na.mlir\nbefore\nright\n"), std::string::npos) << limited.out;
  const Answer killed = in_folder(
      "cp a.mlir before; (ulimit -c 0; ulimit -f 0; \"$T\" check --fix a.mlir) >/dev/null 2>&1; "
      "cmp a.mlir before && ls *.orig 2>/dev/null; \"$T\" check --fix a.mlir > /dev/null && "
      "cmp a.mlir right && cmp a.mlir.orig before && echo whole");
  EXPECT_TRUE(killed.out.ends_with("whole\n")) << killed.out;  // some shells report the signal
}

TEST(Process, AFolderThatCannotBeWrittenIsAnError) {
  // The superuser can write everywhere, so it must become another user.
  const std::string other = getuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  if (run_in_shell(other + "\"$T\" --version").status != 0)
    GTEST_SKIP() << "cannot run as another user";
  const Answer answer = in_folder("chmod 555 .; " + other +
                                  "\"$T\" check --fix a.mlir; S=$?; chmod 777 .; ls -A; exit $S");
  EXPECT_EQ(answer.status, 2);
  EXPECT_NE(answer.out.find("a.mlir.orig'"), std::string::npos) << answer.out;
  EXPECT_NE(answer.out.find("\na.mlir\nright\n"), std::string::npos) << answer.out;
}

TEST(Process, ChecksAPipe) {
  if (run_in_shell("command -v bash").status != 0) GTEST_SKIP() << "no bash";
  const Answer answer = in_folder("export T; bash -c '\"$T\" check <(cat a.mlir)'");
  EXPECT_EQ(answer.status, 1);
  EXPECT_NE(answer.out.find("error[contradiction]"), std::string::npos) << answer.out;
}

TEST(Process, TheGitHookChecksWhatIsStaged) {
  if (run_in_shell("command -v git").status != 0) GTEST_SKIP() << "no git";
  const std::string hook =
      "export TESSERA=\"$T\" GIT_CONFIG_NOSYSTEM=1 HOME=$D; git init -q . && "
      "cp $R/examples/pre-commit .git/hooks/pre-commit && git add a.mlir && cp right a.mlir; "
      "commit() { git -c user.name=a -c user.email=a@b commit -q -m x; }; ";
  const Answer refused = in_folder(hook + "commit");
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.out.find("./a.mlir:1:"), std::string::npos) << refused.out;
  EXPECT_EQ(in_folder(hook + "git add a.mlir; commit").status, 0);
  EXPECT_EQ(in_folder(hook + "git rm -q --cached -f a.mlir; git add right; commit").status, 0);
}

TEST(Process, TheDemonstrationRuns) {
  const Answer answer = run_in_shell("TESSERA=\"$T\" examples/demo.sh");
  EXPECT_EQ(answer.status, 0) << answer.out;
}

}  // namespace
}  // namespace tessera::tools

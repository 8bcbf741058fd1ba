// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tools/testing/command_testing.h"
#include "tools/testing/folder_testing.h"
#include "tools/testing/shard_testing.h"

/// The real command under the real mpirun: correct results, and every kind of failure.
namespace tessera::tools {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Nothing here takes longer than seconds; a busy machine may need more.
constexpr std::string_view kLongest = "180";  // seconds that mpirun may take in total
constexpr std::chrono::seconds kPatient{120};

std::string tensor(const std::string& type, const std::string& layout) {
  return cat("tensor<", type, ", ", layout, ">");
}

std::string file_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++found;
  }
  return found;
}

/// The state of a process as the kernel reports it: T when it is stopped; nothing when it has
/// ended.
std::string state_of(pid_t process) {
  const std::string facts = file_text(cat("/proc/", process, "/stat"));
  const std::size_t name_end = facts.rfind(") ");
  return name_end == std::string::npos ? "" : facts.substr(name_end + 2, 1);
}

/// Whether a process ends within some seconds; a process that has not been waited for yet counts as
/// ended.
bool ends(pid_t process) {
  const auto end = Clock::now() + std::chrono::seconds(5);
  while (Clock::now() < end) {
    const std::string state = state_of(process);
    if (state.empty() || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// mpirun with a command line, in a separate process group. Standard error is kept apart from
/// standard output, because MPI and the libraries below it write warnings there.
class Job {
 public:
  Job(const std::vector<std::string>& args, fs::path output,
      const std::string& starter = TESSERA_MPIRUN)
      : output_(std::move(output)) {
    std::vector<std::string> line = {"timeout", "-k", "5", std::string(kLongest), starter};
    line.insert(line.end(), args.begin(), args.end());
    std::vector<char*> words;
    for (std::string& word : line) words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    setpgid(0, 0);
    dup2(open(output_.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644), STDOUT_FILENO);
    dup2(open(errors().c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644), STDERR_FILENO);
    close(STDIN_FILENO);
    // Any number of ranks, on any machine, for any user; waiting ranks yield the processor.
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
    execvp(words[0], words.data());
    _exit(127);
  }
  ~Job() {
    if (pid_ > 0 && !status_) {
      kill(-pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  Answer wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return {*status_, file_text(output_), file_text(errors())};
  }

  /// The process of a rank, once it is stopped.
  std::optional<pid_t> find_stopped(int rank) const {
    const auto end = Clock::now() + kPatient;
    while (Clock::now() < end) {
      const std::optional<pid_t> found = process_of(rank);
      if (found && state_of(*found) == "T") return found;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return std::nullopt;
  }

 private:
  fs::path errors() const { return fs::path(output_).concat(".err"); }
  /// Children of any of its threads.
  static std::vector<pid_t> children_of(pid_t parent) {
    std::vector<pid_t> list;
    std::error_code error;
    fs::directory_iterator task(cat("/proc/", parent, "/task"), error);
    for (; !error && task != fs::directory_iterator(); task.increment(error)) {
      std::istringstream numbers(file_text(task->path() / "children"));
      for (pid_t child = 0; numbers >> child;) list.push_back(child);
    }
    return list;
  }
  std::optional<pid_t> process_of(int rank) const {
    const std::string variable = cat("OMPI_COMM_WORLD_RANK=", rank);
    for (const pid_t mpirun : children_of(pid_)) {
      for (const pid_t child : children_of(mpirun)) {
        const std::string environment = file_text(cat("/proc/", child, "/environ"));
        const std::string whole = std::string(1, '\0') + environment;
        if (whole.find(std::string(1, '\0') + variable + std::string(1, '\0')) !=
            std::string::npos) {
          return child;
        }
      }
    }
    return std::nullopt;
  }

  fs::path output_;
  pid_t pid_ = -1;
  std::optional<int> status_;
};

class ReshardMpi : public TestFolder, public testing::Test {
 protected:
  /// The whole line of a rank: the command, the two tensors and the files.
  std::vector<std::string> command(const std::string& a, const std::string& b,
                                   const std::vector<std::string>& more = {}) const {
    std::vector<std::string> line = {
        TESSERA_COMMAND,      "reshard", a, b, "--mpi", "--in", path("x.{place}.npy"), "--out",
        path("y.{place}.npy")};
    line.insert(line.end(), more.begin(), more.end());
    return line;
  }
  Answer mpirun(int ranks, const std::vector<std::string>& line) {
    std::vector<std::string> args = {"-n", std::to_string(ranks)};
    args.insert(args.end(), line.begin(), line.end());
    return Job(args, log()).wait();
  }
  fs::path log() const { return folder_ / "log"; }

  void moves(int ranks, const std::string& a, const std::string& b,
             const std::vector<std::string>& more = {}) {
    const ShardCase shards(a, b);
    shards.write_inputs(folder_.string());
    const Answer answer = mpirun(ranks, command(a, b, more));
    EXPECT_EQ(answer.status, 0) << answer.err;
    EXPECT_EQ(shards.check_outputs(folder_.string()), "") << answer.err;
    for (const std::string& name : names()) fs::remove(path(name));
  }

  /// The job failed, and there are no new files.
  void leaves_nothing(const Answer& answer, std::vector<std::string> before) {
    EXPECT_NE(answer.status, 0);
    EXPECT_NE(answer.status, 124) << "it hung";
    EXPECT_EQ(count(answer.out, "error["), 0U) << answer.out;
    before.insert(before.end(), {"log", "log.err"});
    std::sort(before.begin(), before.end());
    EXPECT_EQ(names(), before);
  }

  /// One error that contains all of these parts among the output of MPI, and no new files.
  void fails(const Answer& answer, const std::vector<std::string>& before,
             const std::vector<std::string>& parts) {
    leaves_nothing(answer, before);
    EXPECT_EQ(count(answer.err, "error["), parts.empty() ? 0U : 1U) << answer.err;
    for (const std::string& part : parts) {
      EXPECT_NE(answer.err.find(part), std::string::npos) << part << "\n" << answer.err;
    }
  }

  /// A job of two ranks with separate command lines.
  Answer two(const std::vector<std::string>& first, const std::vector<std::string>& second) {
    std::vector<std::string> args = {"-n", "1"};
    args.insert(args.end(), first.begin(), first.end());
    args.insert(args.end(), {":", "-n", "1"});
    args.insert(args.end(), second.begin(), second.end());
    return Job(args, log()).wait();
  }

  /// A job of two ranks whose rank 1 stops in the middle of its work: disk space for its output is
  /// reserved, but nothing is written to it.
  struct Stopped {
    std::unique_ptr<Job> job;
    pid_t process = -1;
  };
  Stopped stop_in_the_middle(const std::vector<std::string>& more) {
    const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(2)"),
                           tensor("53x63xf32", "pyflame.ColPartition(2)"));
    shards.write_inputs(folder_.string());
    const std::vector<std::string> line = command(shards.a_text, shards.b_text, more);
    std::vector<std::string> args = {"-n", "1"};
    args.insert(args.end(), line.begin(), line.end());
    args.insert(args.end(), {":", "-n", "1", "env", cat("LD_PRELOAD=", TESSERA_STOP_AT_OUTPUT),
                             cat("TESSERA_STOP_IN=", folder_.string())});
    args.insert(args.end(), line.begin(), line.end());
    Stopped stopped{std::make_unique<Job>(args, log()), -1};
    stopped.process = stopped.job->find_stopped(1).value_or(-1);
    return stopped;
  }
};

TEST_F(ReshardMpi, TwoAndFourRanksMoveWhatOneWould) {
  const std::string rows = tensor("53x63xf32", "pyflame.RowPartition(4)");
  const std::string cyclic = tensor("53x63xf32", "pyflame.BlockCyclic(2, 2, 5, 7)");
  moves(2, rows, cyclic);
  moves(4, cyclic, rows, {"--checksums"});
  moves(4, rows, cyclic, {"--no-shared-memory", "--ranks-of-places", "cyclic"});
  moves(2, tensor("16x12xf32", "pyflame.Grid(4, 3, partial=[1:sum], dim_to_pe=[0, -1])"),
        tensor("16x12xf32", "pyflame.Grid(2, 2)"),
        {"--ranks-of-places", "0,1,0,1,0,1,1,0,1,1,1,0"});
  moves(4, tensor("64x64xbf16", "gspmd{devices=[4,2]<=[8]}"),
        tensor("64x64xbf16", "dtensor<mesh=[8], [Shard(1)]>"), {"--relabel"});
}

TEST_F(ReshardMpi, OneProcessNeedsNoMpirun) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(4)"),
                         tensor("53x63xf32", "pyflame.ColPartition(4)"));
  shards.write_inputs(folder_.string());
  const Answer answer = Job(command(shards.a_text, shards.b_text), log(), /*starter=*/"env").wait();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(shards.check_outputs(folder_.string()), "");
}

TEST_F(ReshardMpi, OnlyRankZeroPrints) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(4)"),
                         tensor("53x63xf32", "pyflame.ColPartition(4)"));
  shards.write_inputs(folder_.string());
  const Answer answer = mpirun(4, command(shards.a_text, shards.b_text, {"--json"}));
  ASSERT_EQ(answer.status, 0) << answer.err;
  const Json json = answer.json();
  ASSERT_TRUE(json.is_object()) << answer.out;
  EXPECT_EQ(json["ranks"], 4);
  // Rank r has the rows of place r and the columns of place r, and the intersection stays there: 14
  // x 16 elements of three ranks, 11 x 15 of the last.
  EXPECT_EQ(json["local_bytes"], 4 * (3 * 14 * 16 + 11 * 15));
  EXPECT_EQ(json["bytes"], 4 * (53 * 63 - 3 * 14 * 16 - 11 * 15));
  EXPECT_EQ(json["max_partners"], 3);
}

TEST_F(ReshardMpi, ARankWithOtherArgumentsIsNamed) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(2)"),
                         tensor("53x63xf32", "pyflame.ColPartition(2)"));
  shards.write_inputs(folder_.string());
  const std::vector<std::string> before = names();
  const std::vector<std::string> good = command(shards.a_text, shards.b_text);
  fails(two(good, command(shards.a_text, tensor("53x63xf32", "pyflame.Grid(2, 1)"))), before,
        {"error[plans_differ]", "rank 1", "Grid(2, 1)"});
  std::vector<std::string> bad = good;
  bad.emplace_back("--fiels");
  fails(two(good, bad), before, {"error[unknown_name]: rank 1", "--fiels"});
  fails(two(bad, bad), before, {"error[unknown_name]: ", "'--fiels'"});
}

TEST_F(ReshardMpi, AMissingFileOfOneRankIsOneErrorOfAll) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(4)"),
                         tensor("53x63xf32", "pyflame.ColPartition(4)"));
  shards.write_inputs(folder_.string());
  fs::remove(path("x.2.npy"));
  fails(mpirun(4, command(shards.a_text, shards.b_text)), {"x.0.npy", "x.1.npy", "x.3.npy"},
        {"error[io]: rank 2: ", "x.2.npy"});
}

/// MPI itself would wait for these ranks until it is ended from outside.
TEST_F(ReshardMpi, ARankThatNeverStartsMpiEndsTheJobAfterTheTimeout) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(2)"),
                         tensor("53x63xf32", "pyflame.ColPartition(2)"));
  shards.write_inputs(folder_.string());
  const std::vector<std::string> before = names();
  const std::vector<std::string> good = command(shards.a_text, shards.b_text, {"--timeout", "2"});
  // A rank that ends without MPI is noticed by mpirun if the other has started MPI by then, which
  // ends the job with words of its own; otherwise by the other.
  const Answer ended = two(good, {TESSERA_COMMAND, "targets"});
  leaves_nothing(ended, before);
  EXPECT_EQ(count(ended.err, "error["), count(ended.err, "error[rank_silent]")) << ended.err;
  fails(two(good, {"sleep", "100000"}), before, {"error[rank_silent]"});
  fails(two({"sleep", "100000"}, good), before, {"error[rank_silent]"});
}

TEST_F(ReshardMpi, ARankThatStopsAtTheEndOfMpiEndsTheJobAfterTheTimeout) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(2)"),
                         tensor("53x63xf32", "pyflame.ColPartition(2)"));
  shards.write_inputs(folder_.string());
  const std::vector<std::string> line = command(shards.a_text, shards.b_text, {"--timeout", "2"});
  std::vector<std::string> stopping = {"env", cat("LD_PRELOAD=", TESSERA_STOP_AT_END)};
  stopping.insert(stopping.end(), line.begin(), line.end());
  const Answer answer = two(line, stopping);
  EXPECT_NE(answer.status, 0);
  EXPECT_NE(answer.status, 124) << "it hung";
  EXPECT_EQ(count(answer.err, "error[rank_silent]"), 1U) << answer.err;
  // All ranks had agreed before: the files are complete, and rank 0 has answered.
  EXPECT_NE(answer.out, "");
  EXPECT_EQ(shards.check_outputs(folder_.string()), "");
}

TEST_F(ReshardMpi, ForgottenMpiIsAnError) {
  const ShardCase shards(tensor("53x63xf32", "pyflame.RowPartition(2)"),
                         tensor("53x63xf32", "pyflame.ColPartition(2)"));
  shards.write_inputs(folder_.string());
  std::vector<std::string> line = command(shards.a_text, shards.b_text);
  std::erase(line, "--mpi");
  const Answer answer = mpirun(2, line);
  EXPECT_NE(answer.status, 0);
  EXPECT_NE(answer.err.find("error[usage]: 2 "), std::string::npos) << answer.err;
  EXPECT_FALSE(fs::exists(path("y.0.npy")));
}

TEST_F(ReshardMpi, AKilledRankEndsTheJobAndLeavesNothing) {
  if (!has_nameless_files()) GTEST_SKIP() << "unfinished files have names here";
  const Stopped stopped = stop_in_the_middle({});
  ASSERT_GT(stopped.process, 0);
  kill(stopped.process, SIGKILL);
  fails(stopped.job->wait(), {"x.0.npy", "x.1.npy"}, {});
}

TEST_F(ReshardMpi, AStoppedRankIsNamedAfterTheTimeout) {
  if (!has_nameless_files()) GTEST_SKIP() << "unfinished files have names here";
  const Stopped stopped = stop_in_the_middle({"--timeout", "2"});
  ASSERT_GT(stopped.process, 0);
  const auto since = Clock::now();
  const Answer answer = stopped.job->wait();
  EXPECT_LT(Clock::now() - since, std::chrono::seconds(15)) << "the default timeout was used";
  fails(answer, {"x.0.npy", "x.1.npy"}, {"error[rank_silent]", "rank 1"});
  EXPECT_TRUE(ends(stopped.process)) << "it is still there";
}

}  // namespace
}  // namespace tessera::tools

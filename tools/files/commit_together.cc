// SPDX-License-Identifier: Apache-2.0
#include "tools/files/commit_together.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tools/files/replace_file.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// Keeps the signals that end a process waiting.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, signal);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_ = {};
};

/// The former file of a name, if there was one, kept under another name until `forget`.
class FormerFile {
 public:
  explicit FormerFile(const std::string& name) : path_(name) {
    // A link stays a link: what is replaced is the file behind it.
    std::error_code error;
    if (const auto real = std::filesystem::canonical(name, error); !error) path_ = real.string();
    struct stat facts = {};
    if (lstat(path_.c_str(), &facts) != 0) return;
    if (!S_ISREG(facts.st_mode)) {
      error_ = EEXIST;
      return;
    }
    kept_ = temporary_name(folder_of(path_));
    if (link(path_.c_str(), kept_.c_str()) == 0) return;
    // A file system without links.
    if (rename(path_.c_str(), kept_.c_str()) == 0) return;
    error_ = errno;
    kept_.clear();
  }
  /// 0, or why the former file cannot be kept; it has its name then.
  int error() const { return error_; }
  /// Before the name has a new file.
  void put_back() {
    if (kept_.empty()) return;
    rename(kept_.c_str(), path_.c_str());
    forget();  // renaming a link to a link of the same file does nothing
  }
  /// After it has one.
  void restore() {
    if (kept_.empty()) unlink(path_.c_str());
    put_back();
  }
  void forget() {
    if (!kept_.empty()) unlink(kept_.c_str());
  }

 private:
  std::string path_;
  std::string kept_;  ///< empty: there was none
  int error_ = 0;
};

}  // namespace

Status commit_together(std::span<NamedOutput> files) {
  for (NamedOutput& each : files) TESSERA_CHECK_OK(each.file.flush());
  const SignalsWait wait;
  std::vector<FormerFile> former;
  for (NamedOutput& each : files) {
    former.emplace_back(each.name);
    Status done = ok_status();
    if (former.back().error() != 0) {
      done = Error{ErrorCode::kIo,
                   cat("cannot keep the former ", quote(each.name), ": ",
                       std::strerror(former.back().error())),
                   std::nullopt, "name another file"};
    }
    if (done) done = each.file.commit();
    if (done) continue;
    former.back().put_back();
    former.pop_back();
    for (FormerFile& before : former) before.restore();
    return done;
  }
  for (FormerFile& before : former) before.forget();
  return ok_status();
}

}  // namespace tessera::tools

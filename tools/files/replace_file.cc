// SPDX-License-Identifier: Apache-2.0
#include "tools/files/replace_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tessera/base/text.h"
#include "tools/files/text_file.h"

namespace tessera::tools {
namespace {

constexpr int kMostBackups = 100;

Error cannot_write(const std::string& name, int error_number) {
  return file_error("cannot write", name, error_number, "the file is unchanged");
}

Error refusal(const std::string& name, std::string_view why, std::string help) {
  return Error{ErrorCode::kIo, cat("'", printable(name), "' ", why), std::nullopt, std::move(help)};
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// A file at `path` with this text and the permissions of `like`, which appears atomically. Its
/// owner is kept when the process has the permission to set it.
Status write_at_once(const std::string& path, std::string_view text, const struct stat& like) {
  const TemporaryFile file = create_temporary(folder_of(path), 0600);
  const int descriptor = file.descriptor;
  if (descriptor < 0) return cannot_write(path, errno);
  int error = 0;
  [[maybe_unused]] const int owner_stays = fchown(descriptor, like.st_uid, like.st_gid);
  if (fchmod(descriptor, like.st_mode & 0777) != 0 || !write_all(descriptor, text) ||
      fsync(descriptor) != 0) {
    error = errno;
  }
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && rename(file.name.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return ok_status();
  unlink(file.name.c_str());
  return cannot_write(path, error);
}

bool holds(const std::string& path, std::string_view text) {
  const Result<std::string> found = read_text_file(path, text.size());
  return found && *found == text;
}

/// The path where `before` is kept; it is written there unless it already exists.
Result<std::string> back_up(const std::string& path, std::string_view before,
                            const struct stat& like) {
  for (int i = 0; i < kMostBackups; ++i) {
    const std::string backup = i == 0 ? path + ".orig" : cat(path, ".orig.", i);
    struct stat facts = {};
    if (lstat(backup.c_str(), &facts) == 0) {
      if (S_ISREG(facts.st_mode) && holds(backup, before)) return backup;
      continue;
    }
    if (errno != ENOENT) return cannot_write(backup, errno);
    TESSERA_CHECK_OK(write_at_once(backup, before, like));
    return backup;
  }
  return refusal(path, cat("has ", kMostBackups, " backups"),
                 "move some of them to another folder");
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

std::string temporary_name(const std::string& folder) {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) {
    static std::atomic<std::uint64_t> count{0};
    number = count++;
  }
  return cat(folder, ".tessera.", getpid(), ".", number);
}

TemporaryFile create_temporary(const std::string& folder, unsigned permissions) {
  TemporaryFile file;
  file.name = temporary_name(folder);
  file.removed = std::make_unique<RemovedOnSignal>(file.name);
  file.descriptor = open(file.name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, permissions);
  return file;
}

bool is_read_only(const std::string& path) {
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return false;
  // The superuser may write anything, but a file without write permission is still not overwritten.
  return (facts.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0 || access(path.c_str(), W_OK) != 0;
}

void sync_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

Result<std::string> replace_file(const std::string& name, std::string_view before,
                                 std::string_view after) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(name.c_str(), nullptr), std::free);
  if (real == nullptr) return cannot_write(name, errno);
  const std::string path = real.get();
  struct stat facts = {};
  if (stat(path.c_str(), &facts) != 0) return cannot_write(name, errno);
  if (!S_ISREG(facts.st_mode)) {
    return refusal(name, "is not a regular file", "only regular files can be rewritten");
  }
  if (is_read_only(path)) {
    return refusal(name, "is read-only", "give it write permission so that it can be fixed");
  }
  if (!holds(path, before)) {
    return refusal(name, "has changed while it was checked", "check it again");
  }
  TESSERA_TRY(std::string backup, back_up(path, before, facts));
  TESSERA_CHECK_OK(write_at_once(path, after, facts));
  sync_folder(folder_of(path));
  // The name of the backup as the user would write it, when the file is not a link.
  const std::string_view suffix = std::string_view(backup).substr(path.size());
  const bool is_link = lstat(name.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
  return is_link ? backup : cat(name, suffix);
}

}  // namespace tessera::tools

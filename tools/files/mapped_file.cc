// SPDX-License-Identifier: Apache-2.0
#include "tools/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "tessera/base/text.h"
#include "tools/files/mapped_guard.h"
#include "tools/files/replace_file.h"
#include "tools/files/text_file.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error cannot_read(const std::string& name, int error_number) {
  return file_error("cannot read", name, error_number, "name a regular file that can be read");
}

Error cannot_write(const std::string& name, std::int64_t size, int error_number) {
  return file_error(
      cat("cannot write ", size, " bytes to"), name, error_number,
      "name a file in a folder that exists, is writable and has enough space; nothing was written");
}

Error refusal(const std::string& name, std::string_view why, std::string_view help) {
  return Error{ErrorCode::kIo, cat("'", printable(name), "' ", why), std::nullopt,
               std::string(help)};
}

/// Closes the descriptor on destruction.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

std::string link_to(int descriptor) { return cat("/proc/self/fd/", descriptor); }

/// A file without a name in `folder`, or -1 where these are not supported or could not be named
/// later.
int open_nameless(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (descriptor < 0 || access(link_to(descriptor).c_str(), F_OK) == 0) return descriptor;
  close(descriptor);
  return -1;
}

/// A link that leads to no file is refused, as by `cp`: the file would take the place of the link,
/// or appear where nobody has looked.
Status check_link(const std::string& name) {
  struct stat facts = {};
  if (stat(name.c_str(), &facts) == 0 || lstat(name.c_str(), &facts) != 0) return ok_status();
  if (!S_ISLNK(facts.st_mode)) return ok_status();
  return refusal(name, "is a link to a file that does not exist",
                 "create that file, or name another one; nothing was written");
}

/// Reserves disk space for `size` bytes; returns 0 or errno. A limit on the size of files is
/// reported as well, instead of ending the process.
int reserve(int descriptor, std::int64_t size) {
  if (size == 0) return 0;
  struct sigaction ignore = {};
  struct sigaction before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &ignore, &before);
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(descriptor, 0, size);
  sigaction(SIGXFSZ, &before, nullptr);
  return error;
}

}  // namespace

struct MappedInput::State {
  std::string name;
  Descriptor descriptor;
  GuardedMapping mapping;
  State(std::string file, int number, std::size_t size)
      : name(std::move(file)), descriptor(number), mapping(number, size, /*writable=*/false) {}
};

Result<MappedInput> MappedInput::open(const std::string& name) {
  // Opening a pipe would block until its other end is opened.
  const int number = ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (number < 0) return cannot_read(name, errno);
  struct stat facts = {};
  if (fstat(number, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    close(number);
    return refusal(name, S_ISDIR(facts.st_mode) ? "is a folder" : "is not a regular file",
                   "only regular files can be read as arrays");
  }
  auto state = std::make_shared<State>(name, number, static_cast<std::size_t>(facts.st_size));
  if (state->mapping.failed()) return cannot_read(name, errno);
  return MappedInput(std::move(state));
}

std::span<const std::byte> MappedInput::bytes() const {
  return {state_->mapping.at(), state_->mapping.size()};
}

Status MappedInput::check() const {
  struct stat facts = {};
  const bool is_whole = !state_->mapping.is_lost() &&
                        fstat(state_->descriptor.number(), &facts) == 0 &&
                        static_cast<std::size_t>(facts.st_size) >= state_->mapping.size();
  if (is_whole) return ok_status();
  return refusal(state_->name, "became shorter or unreadable while it was read",
                 "run again when no other process writes to it; nothing was written");
}

bool MappedInput::is_same_file(const std::string& name) const {
  struct stat here = {};
  struct stat there = {};
  return fstat(state_->descriptor.number(), &here) == 0 && stat(name.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

struct MappedOutput::State {
  std::string name;       ///< as it was given
  std::string path;       ///< the file to replace: the target of a link
  std::string temporary;  ///< empty for a nameless file
  Descriptor descriptor;
  std::unique_ptr<RemovedOnSignal> removed;
  std::optional<GuardedMapping> mapping;
  std::int64_t size = 0;
  bool is_lost = false;  ///< in a mapping that was unmapped

  State(std::string file, std::string real, int number)
      : name(std::move(file)), path(std::move(real)), descriptor(number) {}
  State(std::string file, std::string real, TemporaryFile created)
      : name(std::move(file)),
        path(std::move(real)),
        temporary(std::move(created.name)),
        descriptor(created.descriptor),
        removed(std::move(created.removed)) {}
  ~State() {
    if (!temporary.empty()) unlink(temporary.c_str());
  }

  /// Gives the file the name `to`; returns 0 or errno.
  int rename_to(const std::string& to) {
    if (temporary.empty()) {
      const std::string link = link_to(descriptor.number());
      if (linkat(AT_FDCWD, link.c_str(), AT_FDCWD, to.c_str(), AT_SYMLINK_FOLLOW) == 0) return 0;
      if (errno != EEXIST) return errno;
      // Linking never replaces an existing file, renaming does.
      const std::string between = temporary_name(folder_of(to));
      const RemovedOnSignal on_signal(between);
      if (linkat(AT_FDCWD, link.c_str(), AT_FDCWD, between.c_str(), AT_SYMLINK_FOLLOW) != 0) {
        return errno;
      }
      if (rename(between.c_str(), to.c_str()) == 0) return 0;
      const int error = errno;
      unlink(between.c_str());
      return error;
    }
    if (rename(temporary.c_str(), to.c_str()) != 0) return errno;
    removed.reset();
    temporary.clear();
    return 0;
  }
};

Result<MappedOutput> MappedOutput::create(const std::string& name, std::int64_t size,
                                          Unfinished unfinished) {
  std::string path = name;
  struct stat facts = {};
  const bool exists = stat(name.c_str(), &facts) == 0;
  if (!exists) TESSERA_CHECK_OK(check_link(name));
  if (exists) {
    if (S_ISDIR(facts.st_mode)) {
      return refusal(name, "is a folder", "name the file to write; nothing was written");
    }
    if (!S_ISREG(facts.st_mode)) {
      return refusal(name, "is not a regular file", "name another file; nothing was written");
    }
    if (is_read_only(name)) {
      return refusal(name, "is read-only",
                     "give it write permission or name another file; nothing was written");
    }
    const std::unique_ptr<char, void (*)(void*)> real(realpath(name.c_str(), nullptr), std::free);
    if (real == nullptr) return cannot_write(name, size, errno);
    path = real.get();
  }
  const std::string folder = folder_of(path);
  std::shared_ptr<State> state;
  int number = unfinished == Unfinished::kNameless ? open_nameless(folder) : -1;
  if (number >= 0) {
    state = std::make_shared<State>(name, path, number);
  } else {
    TemporaryFile created = create_temporary(folder, 0666);
    number = created.descriptor;
    if (number < 0) return cannot_write(name, size, errno);
    state = std::make_shared<State>(name, path, std::move(created));
  }
  if (exists) {
    [[maybe_unused]] const int owner_stays = fchown(number, facts.st_uid, facts.st_gid);
    if (fchmod(number, facts.st_mode & 0777) != 0) return cannot_write(name, size, errno);
  }
  state->size = size;
  if (const int error = reserve(number, size); error != 0) return cannot_write(name, size, error);
  state->mapping.emplace(number, static_cast<std::size_t>(size), /*writable=*/true);
  if (state->mapping->failed()) return cannot_write(name, size, errno);
  return MappedOutput(std::move(state));
}

std::span<std::byte> MappedOutput::bytes() const {
  if (!state_->mapping) return {};
  return {state_->mapping->at(), state_->mapping->size()};
}

void MappedOutput::unmap() {
  State& state = *state_;
  state.is_lost = state.is_lost || (state.mapping && state.mapping->is_lost());
  state.mapping.reset();
}

Status MappedOutput::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  State& state = *state_;
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(state.descriptor.number(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return cannot_write(state.name, state.size, written < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += written;
  }
  return ok_status();
}

Status MappedOutput::flush() {
  State& state = *state_;
  const bool is_mapped = state.mapping && state.mapping->size() > 0;
  if (is_mapped && msync(state.mapping->at(), state.mapping->size(), MS_SYNC) != 0) {
    return cannot_write(state.name, state.size, errno);
  }
  if (fsync(state.descriptor.number()) != 0) return cannot_write(state.name, state.size, errno);
  if (state.is_lost || (is_mapped && state.mapping->is_lost())) {
    return cannot_write(state.name, state.size, EIO);
  }
  return ok_status();
}

Status MappedOutput::commit() {
  State& state = *state_;
  TESSERA_CHECK_OK(flush());
  if (const int error = state.rename_to(state.path); error != 0) {
    return cannot_write(state.name, state.size, error);
  }
  sync_folder(folder_of(state.path));
  return ok_status();
}

Status write_whole(const std::string& name, std::string_view text) {
  TESSERA_TRY(MappedOutput file, MappedOutput::create(name, std::ssize(text)));
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), file.bytes().begin());
  return file.commit();
}

Status check_folder_of(const std::string& name) {
  TESSERA_CHECK_OK(check_link(name));
  const std::string folder = folder_of(name);
  struct stat facts = {};
  const bool is_there = ::stat(folder.c_str(), &facts) == 0;
  if (is_there && S_ISDIR(facts.st_mode) && ::access(folder.c_str(), W_OK) == 0) return ok_status();
  const std::string why = !is_there                ? std::strerror(errno)
                          : S_ISDIR(facts.st_mode) ? "it cannot be written to"
                                                   : "it is not a folder";
  return Error{ErrorCode::kIo, cat("the folder of ", quote(name), " cannot be used: ", why),
               std::nullopt, "name a file in a folder that can be written to"};
}

bool is_one_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  if (std::filesystem::equivalent(a, b, ignored)) return true;
  const std::filesystem::path whole_a = std::filesystem::weakly_canonical(a, ignored);
  const std::filesystem::path whole_b = std::filesystem::weakly_canonical(b, ignored);
  return !whole_a.empty() && whole_a == whole_b;
}

}  // namespace tessera::tools

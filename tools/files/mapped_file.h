// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

/// tools/files/: files that the verbs read and write (.npy, raw binary, shards). Names,
/// layouts and bytes come in; mapped memory and committed files go out. A file is never left half
/// written, and layouts are never changed here.
///
/// This header: files as memory, so that they may be larger than the memory of the machine. If
/// another process shortens a file while it is mapped, this process survives: the missing part
/// reads as zeros, and `check` reports it.
namespace tessera::tools {

/// A file that is only read.
class MappedInput {
 public:
  /// Errors: kIo for a file that cannot be opened, is a folder, or is not a regular file.
  static Result<MappedInput> open(const std::string& name);

  std::span<const std::byte> bytes() const;
  /// kIo when the file has become shorter since it was opened, or a part of it could not be read.
  Status check() const;
  /// Whether `name` leads to this same file.
  bool is_same_file(const std::string& name) const;

 private:
  struct State;
  explicit MappedInput(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// How a file exists before it is committed. Some file systems do not support files without a name;
/// a temporary name is used there.
enum class Unfinished : std::uint8_t { kNameless, kTemporaryName };

/// A file that is written and then appears atomically: until `commit` the name does not refer to
/// it, and a previous file of that name is unchanged. If it is dropped without commit, or the
/// process is killed, nothing is left behind: the file has no name where the file system supports
/// that. Elsewhere it has a temporary name in the same folder, which SIGINT, SIGTERM and SIGHUP
/// remove (only SIGKILL leaves it there).
class MappedOutput {
 public:
  /// A file of `size` zero bytes for which disk space is reserved, so that a full disk is reported
  /// now. Folders, other files that are not regular, and files without write permission are
  /// refused, and so are links to files that do not exist. An existing file keeps its permissions,
  /// and a link stays a link.
  static Result<MappedOutput> create(const std::string& name, std::int64_t size,
                                     Unfinished unfinished = Unfinished::kNameless);

  std::span<std::byte> bytes() const;
  /// Unmaps the memory, because a process can map at most 16 files; what was written there stays.
  /// `write_at` still works afterwards.
  void unmap();
  Status write_at(std::int64_t offset, std::span<const std::byte> bytes);
  /// Writes the bytes to the disk, so that `commit` has little left to do.
  Status flush();
  /// Writes the bytes to the disk and gives the file its name. Law: afterwards the file of that
  /// name has all of the bytes, or, on an error, its former content.
  Status commit();

 private:
  struct State;
  explicit MappedOutput(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Writes a text so that the file has all of it, or on an error its former content.
Status write_whole(const std::string& name, std::string_view text);

/// Whether the folder of a file that will be written exists and is writable, and the name is no
/// link to a file that does not exist: this is better reported before the work than after it.
Status check_folder_of(const std::string& name);

/// Whether two names refer to the same file, which need not exist yet.
bool is_one_file(const std::string& a, const std::string& b);

}  // namespace tessera::tools

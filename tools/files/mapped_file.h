// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/result.h"

/// Files as memory, so that they may be larger than it. Another process that shortens a file while
/// it is mapped does not kill this one: what is missing reads as zeros, and `check` tells.
namespace tessera::tools {

/// A file that is only read.
class MappedInput {
 public:
  /// Errors: kIo for what cannot be opened, is a folder, or is no regular file.
  static Result<MappedInput> open(const std::string& name);

  std::span<const std::byte> bytes() const;
  /// kIo when the file has become shorter since it was opened, or could not be read in a part.
  Status check() const;
  /// Whether `name` leads to this same file.
  bool is_same_file(const std::string& name) const;

 private:
  struct State;
  explicit MappedInput(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// What a file is until it is finished. Some file systems have no nameless ones; a temporary name
/// is then taken.
enum class Unfinished : std::uint8_t { kNameless, kTemporaryName };

/// A file that is written and then appears at once: until `commit` nothing has its name, and what
/// had it before is as it was. Dropped without commit, or with the process killed, it leaves
/// nothing behind: the file has no name at all where the file system can do that; elsewhere it has
/// a temporary one in the same folder, which SIGINT, SIGTERM and SIGHUP remove (only SIGKILL leaves
/// it there).
class MappedOutput {
 public:
  /// A file of `size` bytes, all 0, for which the disk has room: a full one is told now. Folders
  /// and other files that are not regular are refused, so are those without write permission. An
  /// existing file keeps its permissions, and a link stays a link.
  static Result<MappedOutput> create(const std::string& name, std::int64_t size,
                                     Unfinished unfinished = Unfinished::kNameless);

  std::span<std::byte> bytes() const;
  /// Gives back the memory, of which a process has 16 files at most; what was written there stays.
  /// `write_at` goes on without it.
  void unmap();
  Status write_at(std::int64_t offset, std::span<const std::byte> bytes);
  /// Brings the bytes to the disk, so that `commit` has little left to do.
  Status flush();
  /// Brings the bytes to the disk and gives the file its name. Law: afterwards the name has all of
  /// the bytes, or, on an error, what it had before.
  Status commit();

 private:
  struct State;
  explicit MappedOutput(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Writes a text so that the file has all of it, or on an error what it had before.
Status write_whole(const std::string& name, std::string_view text);

/// Whether the folder of a file that is to be written is there and can be written to: what is
/// better known before the work than after it.
Status check_folder_of(const std::string& name);

}  // namespace tessera::tools

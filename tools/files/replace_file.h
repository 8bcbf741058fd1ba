// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tessera/base/result.h"
#include "tools/files/mapped_guard.h"

namespace tessera::tools {

/// Replaces `before`, the content that the file was seen to have, by `after`, and returns the path
/// under which `before` is kept.
///
/// At every moment, also when the process is killed or the disk is full, the file holds all of
/// `before` or all of `after`: both the backup and the new text are written to a temporary file of
/// the same folder, flushed to the disk, and renamed. Permissions are kept; a link stays a link,
/// and the file behind it is replaced.
///
/// The backup is FILE.orig. An existing backup is never overwritten: when it holds `before` it is
/// used as it is, otherwise the backup is FILE.orig.1, FILE.orig.2, ..
///
/// Refused: a file that is not regular, has no write permission, or no longer holds `before`.
Result<std::string> replace_file(const std::string& name, std::string_view before,
                                 std::string_view after);

/// "a/b/" of "a/b/c", and "./" of "c".
std::string folder_of(const std::string& path);

/// A new name in a folder that ends in '/': ".tessera.", the process id and a random number, so
/// that other processes, also of other machines, do not have it.
std::string temporary_name(const std::string& folder);

/// An empty file under such a name, opened for reading and writing, which signals remove as long as
/// `removed` exists. On failure `descriptor` is negative, and errno has the reason.
struct TemporaryFile {
  std::string name;
  std::unique_ptr<RemovedOnSignal> removed;
  int descriptor = -1;
};
TemporaryFile create_temporary(const std::string& folder, unsigned permissions);

/// Whether an existing file has no write permission, for this process or for anyone.
bool is_read_only(const std::string& path);

/// Flushes the names in a folder to the disk. Some file systems do not support this; then nothing
/// is done.
void sync_folder(const std::string& folder);

}  // namespace tessera::tools

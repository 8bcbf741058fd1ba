// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tessera/base/result.h"

namespace tessera::tools {

/// Puts `after` in the place of `before`, which is what the file was seen to hold, and answers the
/// path under which `before` is kept.
///
/// At every moment, also when the process is killed or the disk is full, the file holds all of
/// `before` or all of `after`: both the backup and the new text are written to a temporary file of
/// the same folder, brought to the disk, and renamed. Permissions stay; a link stays a link, and
/// the file behind it is replaced.
///
/// The backup is FILE.orig. One that is there is never written to: when it holds `before` it serves
/// as it is, else the backup is FILE.orig.1, FILE.orig.2, ..
///
/// Refused: what is no regular file, has no write permission, or no longer holds `before`.
Result<std::string> replace_file(const std::string& name, std::string_view before,
                                 std::string_view after);

/// "a/b/" of "a/b/c", and "./" of "c".
std::string folder_of(const std::string& path);

/// Whether a file that is there has no write permission, for us or for anyone.
bool is_read_only(const std::string& path);

/// Brings the names in a folder to the disk. Some file systems cannot, and then there is nothing
/// better to do.
void sync_folder(const std::string& folder);

}  // namespace tessera::tools

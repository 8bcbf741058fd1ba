// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/base/result.h"

/// The files that `check` reads. In folders it looks only for regular files; a FILE argument may
/// also be a pipe, as in `tessera check <(tool)`.
namespace tessera::tools {

/// A file to check, or why the name leads to no file.
struct FoundFile {
  std::string name;  ///< as it is printed: the argument, or the path from there
  bool is_standard_input = false;
  Status status = ok_status();
};

/// Every argument in its order: `-` as "<stdin>", a file, or a folder as all its *.mlir files, at
/// any depth, ordered by the bytes of their paths. Links to folders are not followed, so there are
/// no loops. A file that is reached twice, under any names, is listed once, under the first.
std::vector<FoundFile> find_mlir_files(const std::vector<std::string>& arguments);

/// The whole file. `in` is the standard input. kTextTooLong for more than 64 MiB: with the size of
/// the file, where it has one.
Result<std::string> read_text_file(const FoundFile& file, std::istream& in);

/// "cannot read 'a.mlir': No such file or directory": kIo, or kOutOfMemory for ENOMEM.
Error file_error(std::string_view what, const std::string& name, int error_number,
                 std::string help);

}  // namespace tessera::tools

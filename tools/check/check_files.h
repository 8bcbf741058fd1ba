// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/base/result.h"

/// The files that `check` is asked about. Only regular files are looked for in folders; a FILE that
/// is named may also be a pipe, as in `tessera check <(tool)`.
namespace tessera::tools {

/// A file to check, or why there is none behind the name.
struct FoundFile {
  std::string name;  ///< as it is printed: what was named, or the path from there
  bool is_standard_input = false;
  Status status = ok_status();
};

/// Every argument in its place: `-` as "<stdin>", a file, or a folder as all its *.mlir files, at
/// any depth, in the order of their paths' bytes. Links to folders are not followed, so there are
/// no loops. A file that is reached twice, by whatever names, is there once, by the first.
std::vector<FoundFile> find_mlir_files(const std::vector<std::string>& arguments);

/// The whole file; of one that is longer than Tessera reads (64 MiB), a byte more than that, so
/// that the reader says so. `in` is the standard input.
Result<std::string> read_text_file(const FoundFile& file, std::istream& in);

/// "cannot read 'a.mlir': No such file or directory".
Error file_error(std::string_view what, const std::string& name, int error_number,
                 std::string help);

}  // namespace tessera::tools

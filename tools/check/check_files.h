// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "tessera/base/result.h"

/// The files that `check` reads. In folders it looks only for regular files; a FILE argument may
/// also be a pipe.
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

/// As much as check_mlir() accepts.
inline constexpr std::size_t kMostMlirBytes = std::size_t{64} << 20;
/// The text of a file; `in` is the standard input. Errors: those of read_text_file.
Result<std::string> read_mlir_file(const FoundFile& file, std::istream& in);

}  // namespace tessera::tools

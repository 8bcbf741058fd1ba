// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "tessera/base/result.h"
#include "tools/files/mapped_file.h"
#include "tools/files/npy.h"

namespace tessera::tools {

/// A .npy or raw binary file whose elements can be read.
struct ArrayFile {
  MappedInput file;
  std::span<const std::byte> elements;
};

/// Whether a file is raw binary: *.bin and *.raw are, *.npy is not; for other names `raw` decides.
bool is_raw_file(const std::string& name, bool raw);

/// Opens an array. A raw file must have `raw_bytes` bytes. For any other file, `accepts` is called
/// with its header, and then the file must have as many bytes as the header states.
/// Errors: kIo for a file that cannot be read, or is shorter or longer; those of read_npy_header,
/// with the name and the byte in the message; that of `accepts`.
Result<ArrayFile> open_array(const std::string& name, bool is_raw, std::int64_t raw_bytes,
                             const std::function<Status(const NpyHeader&)>& accepts);

}  // namespace tessera::tools

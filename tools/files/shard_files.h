// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/exchange/resharder.h"
#include "tessera/notation/notation.h"
#include "tools/files/array_file.h"
#include "tools/files/mapped_file.h"
#include "tools/files/shard_names.h"

/// The files of a sharded tensor, as one rank sees them: the files of its places.
namespace tessera::tools {

/// Which files of which tensor, and for which rank.
struct ShardFiles {
  const Tensor& tensor;
  const ShardNames& names;
  const exchange::RankSide& side;  ///< the places of `rank`
  int rank = 0;
  bool raw = false;  ///< files whose extension does not decide are raw binary
};

/// The memory of a rank's places, read from their files. A single file is mapped; several files are
/// copied into one memory, place by place.
class ShardSource {
 public:
  /// Errors: those of open_array, check_shard_header and check_sidecar; kTooLarge when there is not
  /// enough memory; kNotSupported where places share a byte of memory, but not of a file.
  static Result<ShardSource> read(const ShardFiles& files);

  std::span<const std::byte> bytes() const { return bytes_; }
  /// kIo when a mapped file has become shorter.
  Status check() const;
  std::int64_t files() const { return files_; }

 private:
  ShardSource() = default;
  std::optional<ArrayFile> only_;
  std::shared_ptr<std::byte[]> copy_;
  std::span<const std::byte> bytes_;
  std::int64_t files_ = 0;
};

/// The files that a rank writes. Until `commit` none of them has its name, and previous files of
/// these names are unchanged; a process that ends earlier leaves nothing behind.
class ShardOutput {
 public:
  /// Reserves disk space for all of them. Errors: those of MappedOutput; kTooLarge and
  /// kNotSupported as for ShardSource.
  static Result<ShardOutput> create(const ShardFiles& files);

  /// Where the memory of the places is to be written.
  std::span<std::byte> bytes() const { return bytes_; }
  /// Writes the content of `bytes` to the disk.
  Status finish();
  /// Gives the files their names, one after the other; each has all of its bytes or, on an error,
  /// its former content. Writes sidecars where NumPy has no type for the elements.
  Status commit();

  std::int64_t files() const { return static_cast<std::int64_t>(outputs_.size()); }
  std::int64_t file_bytes() const { return file_bytes_; }
  /// "array (2048, 4096) of '<f4'": the array in each file, or "raw bytes"; empty without files.
  const std::string& array() const { return array_; }

 private:
  struct Output {
    std::string name;
    MappedOutput file;
  };
  explicit ShardOutput(const Tensor& tensor) : tensor_(tensor) {}
  Tensor tensor_;
  bool needs_sidecar_ = false;
  std::int64_t header_bytes_ = 0;
  std::int64_t shard_bytes_ = 0;
  std::int64_t file_bytes_ = 0;
  std::string array_;
  std::vector<Output> outputs_;
  std::shared_ptr<std::byte[]> copy_;  ///< for several files; a single one is mapped
  std::span<std::byte> bytes_;
};

/// kIo when a file that `out` would write is one that some rank reads: one of the names of `in`
/// with a number below `in_count`. The names of `in` are examined only where a file to write
/// already exists.
Status check_apart(const ShardNames& in, std::int64_t in_count, const ShardFiles& out);

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/files/shard_files.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/same_places.h"
#include "tools/files/shard_array.h"
#include "tools/files/sidecar.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

/// A rank with more files than this should use one file per rank.
constexpr std::int64_t kMostFiles = std::int64_t{1} << 16;
/// Descriptors that are reserved for others.
constexpr std::int64_t kSpareDescriptors = 64;

/// The numbers in the names of a rank's files.
std::vector<std::int64_t> numbers_of(const ShardFiles& files) {
  if (files.side.places.empty()) return {};
  if (files.names.key() == ShardKey::kPlace) {
    const PlaceNames names = PlaceNames::of(files.tensor);
    std::vector<std::int64_t> numbers;
    for (const std::int64_t place : files.side.places) numbers.push_back(names.number_of(place));
    return numbers;
  }
  return {files.names.key() == ShardKey::kRank ? files.rank : 0};
}

/// Whether every place of a rank begins at a separate byte.
bool is_apart(const ShardFiles& files) {
  const auto places = static_cast<std::int64_t>(files.side.places.size());
  return (Checked(files.tensor.placement.shard_bytes()) * places).saturated() == files.side.bytes();
}

/// The content of one of the rank's files.
FileArray array_of(const ShardFiles& files) {
  if (files.names.key() != ShardKey::kRank) return shard_array(files.tensor.placement);
  FileArray array =
      stacked_array(files.tensor.placement, static_cast<std::int64_t>(files.side.places.size()));
  if (!is_apart(files)) array.shape = {files.side.bytes()};
  return array;
}

/// Errors of a rank that has too many files, or whose places begin inside a byte.
Status check_files(const ShardFiles& files, std::int64_t count) {
  if (count > kMostFiles) {
    return Error{ErrorCode::kTooLarge, cat(count, " files for one rank are more than ", kMostFiles),
                 std::nullopt, "use more ranks, or {rank} for one file per rank"};
  }
  if (files.names.key() == ShardKey::kRank && !PlaceNames::of(files.tensor).are_places()) {
    return Error{ErrorCode::kNotSupported,
                 "the tensor lists its devices in an irregular order, and a file per rank has its "
                 "places in the order of the list",
                 std::nullopt, "use {place} for one file per device"};
  }
  if (count <= 1 || is_apart(files)) return ok_status();
  return Error{ErrorCode::kNotSupported,
               cat("the ", count, " places of a rank share bytes: ",
                   count_of(files.tensor.placement.slots(), "slot"), " of ",
                   dtype_name(files.tensor.placement.atom().storage),
                   " end inside a byte, but a file ends at a byte"),
               std::nullopt, "use {rank} for one file per rank, or one place per rank"};
}

/// Zeros, so that bytes that are never written are the same in every file.
Result<std::shared_ptr<std::byte[]>> memory_of(std::int64_t bytes) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  std::shared_ptr<std::byte[]> memory(static_cast<std::byte*>(std::calloc(size, 1)), std::free);
  if (memory != nullptr) return memory;
  return Error{ErrorCode::kOutOfMemory, cat("not enough memory for ", count_of(bytes, "byte")),
               std::nullopt, "use more ranks, or machines with more memory"};
}

/// Raises the limit of open files to the maximum that the system allows, where `count` exceeds the
/// present limit.
void allow_open_files(std::int64_t count) {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const auto wanted = static_cast<rlim_t>(count + kSpareDescriptors);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

/// The file that a name leads to, if any.
using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> id_of(const std::string& name) {
  struct stat facts = {};
  if (stat(name.c_str(), &facts) != 0) return std::nullopt;
  return FileId(facts.st_dev, facts.st_ino);
}

}  // namespace

Result<ShardSource> ShardSource::read(const ShardFiles& files) {
  ShardSource source;
  const std::vector<std::int64_t> numbers = numbers_of(files);
  source.files_ = static_cast<std::int64_t>(numbers.size());
  if (numbers.empty()) return source;
  TESSERA_CHECK_OK(check_files(files, source.files_));
  const FileArray array = array_of(files);
  const std::int64_t file_bytes = files.side.bytes() / source.files_;
  const auto open = [&](std::int64_t number) -> Result<ArrayFile> {
    const std::string name = files.names.of(number);
    TESSERA_TRY(
        ArrayFile file,
        open_array(name, is_raw_file(name, files.raw), file_bytes, [&](const NpyHeader& header) {
          return check_shard_header(array, files.tensor.placement.atom().storage, header, name);
        }));
    TESSERA_CHECK_OK(check_sidecar(name, files.tensor));
    return file;
  };
  if (source.files_ == 1) {
    TESSERA_TRY(source.only_, open(numbers.front()));
    source.bytes_ = source.only_->elements;
    return source;
  }
  TESSERA_TRY(source.copy_, memory_of(files.side.bytes()));
  std::byte* at = source.copy_.get();
  for (const std::int64_t number : numbers) {
    TESSERA_TRY(const ArrayFile file, open(number));
    if (!file.elements.empty()) std::memcpy(at, file.elements.data(), file.elements.size());
    TESSERA_CHECK_OK(file.file.check());
    at += file.elements.size();
  }
  source.bytes_ = {source.copy_.get(), static_cast<std::size_t>(files.side.bytes())};
  return source;
}

Status ShardSource::check() const { return only_ ? only_->file.check() : ok_status(); }

Result<ShardOutput> ShardOutput::create(const ShardFiles& files) {
  ShardOutput output(files.tensor);
  const std::vector<std::int64_t> numbers = numbers_of(files);
  const auto count = static_cast<std::int64_t>(numbers.size());
  if (numbers.empty()) return output;
  TESSERA_CHECK_OK(check_files(files, count));
  allow_open_files(count);
  const bool is_raw = is_raw_file(files.names.of(numbers.front()), files.raw);
  const FileArray array = array_of(files);
  const bool is_fortran = array.order == FileArray::Order::kColumnMajor;
  const std::string header = is_raw ? "" : write_npy_header(array.type, is_fortran, array.shape);
  output.needs_sidecar_ = !is_raw && array.is_raw_type;
  output.array_ = is_raw ? "raw bytes"
                         : cat("array ", python_tuple(array.shape), " of '", array.type.text(), "'",
                               is_fortran ? " in Fortran order" : "");
  output.header_bytes_ = static_cast<std::int64_t>(header.size());
  output.shard_bytes_ = files.side.bytes() / count;
  TESSERA_TRY(const std::int64_t size,
              (Checked(output.shard_bytes_) + output.header_bytes_).value("the size of a file"));
  TESSERA_TRY(output.file_bytes_, (Checked(size) * count).value("the size of all files"));
  for (const std::int64_t number : numbers) {
    std::string name = files.names.of(number);
    TESSERA_TRY(MappedOutput file, MappedOutput::create(name, size));
    TESSERA_CHECK_OK(file.write_at(0, std::as_bytes(std::span(header))));
    if (count > 1) file.unmap();
    output.outputs_.push_back({std::move(name), std::move(file)});
  }
  if (count == 1) {
    output.bytes_ = output.outputs_.front().file.bytes().subspan(header.size());
    return output;
  }
  TESSERA_TRY(output.copy_, memory_of(files.side.bytes()));
  output.bytes_ = {output.copy_.get(), static_cast<std::size_t>(files.side.bytes())};
  return output;
}

Status ShardOutput::finish() {
  const auto shard = static_cast<std::size_t>(shard_bytes_);
  std::size_t at = 0;
  for (Output& output : outputs_) {
    if (copy_ != nullptr) {
      TESSERA_CHECK_OK(output.file.write_at(header_bytes_, bytes_.subspan(at, shard)));
      at += shard;
    }
    TESSERA_CHECK_OK(output.file.flush());
  }
  return ok_status();
}

Status ShardOutput::commit() {
  for (Output& output : outputs_) {
    TESSERA_CHECK_OK(update_sidecar(output.name, tensor_, needs_sidecar_));
    TESSERA_CHECK_OK(output.file.commit());
  }
  return ok_status();
}

Status check_apart(const ShardNames& in, std::int64_t in_count, const ShardFiles& out) {
  std::vector<std::pair<FileId, std::string>> there;
  for (const std::int64_t number : numbers_of(out)) {
    std::string name = out.names.of(number);
    if (const std::optional<FileId> id = id_of(name)) there.emplace_back(*id, std::move(name));
  }
  if (there.empty()) return ok_status();
  std::sort(there.begin(), there.end());
  for (std::int64_t number = 0; number < in_count; ++number) {
    const std::optional<FileId> id = id_of(in.of(number));
    if (!id) continue;
    const auto found = std::lower_bound(there.begin(), there.end(), std::pair(*id, std::string()));
    if (found == there.end() || found->first != *id) continue;
    return Error{ErrorCode::kIo, cat("--in and --out are the same file, ", quote(found->second)),
                 std::nullopt, "name other files for --out"};
  }
  return ok_status();
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
// One line is a pattern of names, the next a tensor, and the following bytes begin a file of one of
// its places.
//   A pattern is refused with a message, or gives every number a different name.
//   The array that is written for a place, or for several, has its bytes, and can be read back.
//   A file that is accepted for a place has exactly the bytes of the place.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/laws.h"
#include "tools/files/shard_array.h"
#include "tools/files/shard_names.h"

namespace tessera::tools {
namespace {

void check_names(std::string_view pattern, std::int64_t places) {
  const Result<ShardNames> names = ShardNames::parse(pattern, "--in", places);
  if (!names.ok()) {
    require(!names.error().message.empty() && !names.error().help.empty(), "an error has words",
            pattern);
    return;
  }
  require(names->pattern() == pattern, "a pattern is kept", pattern);
  if (names->key() == ShardKey::kWhole) {
    require(places == 1 && names->of(0) == pattern, "only one place does without", pattern);
    return;
  }
  constexpr std::int64_t kNumbers[] = {0, 1, 9, 10, 99, 100, 12345, INT64_MAX};
  std::set<std::string> seen;
  for (const std::int64_t number : kNumbers) {
    const std::string name = names->of(number);
    require(name.find(std::to_string(number)) != std::string::npos, "a name has its number",
            pattern);
    require(seen.insert(name).second, "different numbers have different names", pattern);
  }
}

/// The header that is written for an array states its size, and is accepted.
void check_written(const FileArray& array, DType storage, std::int64_t bytes,
                   std::string_view text) {
  const bool is_fortran = array.order == FileArray::Order::kColumnMajor;
  const std::string header = write_npy_header(array.type, is_fortran, array.shape);
  const Result<NpyHeader> read = read_npy_header(std::as_bytes(std::span(header)));
  require(read.ok(), "what is written can be read", text);
  require(read->data_bytes == bytes, "an array has the bytes of its places", text);
  require(check_shard_header(array, storage, *read, "x").ok(), "what is written is right", text);
}

/// Any header is refused with a message, or states as many bytes as there is room for.
void check_read(const FileArray& array, DType storage, std::int64_t bytes, const NpyHeader& header,
                std::string_view text) {
  const Status taken = check_shard_header(array, storage, header, "x");
  if (!taken.ok()) {
    require(!taken.error().message.empty(), "an error has words", text);
    return;
  }
  require(header.data_bytes == bytes, "a file that is taken has the bytes of its places", text);
}

void check_input(std::string_view text) {
  const std::size_t first = std::min(text.find('\n'), text.size());
  const std::string_view pattern = text.substr(0, first);
  check_names(pattern, 1);
  check_names(pattern, 8);
  if (first == text.size()) return;
  const std::size_t second = std::min(text.find('\n', first + 1), text.size());
  const Result<Tensor> tensor = parse_tensor(text.substr(first + 1, second - first - 1));
  if (!tensor.ok()) return;

  const Placement& placement = tensor->placement;
  const DType storage = placement.atom().storage;
  constexpr std::int64_t kStacked = 3;
  const FileArray one = shard_array(placement);
  const FileArray several = stacked_array(placement, kStacked);
  const std::int64_t bytes = placement.shard_bytes();
  const bool has_room = bytes <= INT64_MAX / kStacked;
  check_written(one, storage, bytes, text);
  if (has_room) check_written(several, storage, kStacked * bytes, text);
  if (second == text.size()) return;
  const std::string_view start = text.substr(second + 1);
  const Result<NpyHeader> header = read_npy_header(std::as_bytes(std::span(start)));
  if (!header.ok()) return;
  check_read(one, storage, bytes, *header, text);
  if (has_room) check_read(several, storage, kStacked * bytes, *header, text);
}

}  // namespace
}  // namespace tessera::tools

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::tools::check_input({reinterpret_cast<const char*>(bytes), size});
  return 0;
}

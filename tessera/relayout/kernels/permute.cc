// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/kernels/permute.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "tessera/relayout/kernels/kernels.h"
#include "tessera/relayout/kernels/line_writer.h"

namespace tessera::relayout {
namespace {

/// The fewest blocks that fill whole lines, if there are such; otherwise as many as fit.
std::int64_t blocks_of_group(std::int64_t block_bytes) {
  const std::int64_t most = BlockPermutation::kMaxBytes / block_bytes;
  for (std::int64_t blocks = 1; blocks <= most; ++blocks) {
    if (blocks * block_bytes % kLine == 0) return blocks;
  }
  return most;
}

/// The blocks of a group as bytes of its lines; bytes after the last block may be anything.
LinePermutation lines_of_group(const std::vector<std::uint16_t>& source_of, int element_bytes,
                               std::int64_t blocks) {
  const std::int64_t block_bytes = static_cast<std::int64_t>(source_of.size()) * element_bytes;
  const std::int64_t lines = (blocks * block_bytes + kLine - 1) / kLine;
  std::vector<std::uint16_t> bytes(static_cast<std::size_t>(lines * kLine), LinePermutation::kAny);
  for (std::int64_t b = 0; b < blocks * block_bytes; ++b) {
    const std::int64_t inside = b % block_bytes;
    const std::int64_t element = source_of[static_cast<std::size_t>(inside / element_bytes)];
    bytes[static_cast<std::size_t>(b)] =
        static_cast<std::uint16_t>(b - inside + element * element_bytes + inside % element_bytes);
  }
  return LinePermutation(bytes);
}

}  // namespace

std::optional<BlockPermutation> BlockPermutation::make(std::vector<std::uint16_t> source_of,
                                                       int element_bytes) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4 && element_bytes != 8) {
    return std::nullopt;
  }
  const std::size_t most =
      static_cast<std::size_t>(kMaxBytes) / static_cast<std::size_t>(element_bytes);
  if (source_of.empty() || source_of.size() > most) return std::nullopt;
  std::vector<bool> seen(source_of.size(), false);
  for (const std::uint16_t source : source_of) {
    if (source >= seen.size() || seen[source]) return std::nullopt;
    seen[source] = true;
  }
  return BlockPermutation(std::move(source_of), element_bytes);
}

BlockPermutation::BlockPermutation(std::vector<std::uint16_t> source_of, int element_bytes)
    : source_of_(std::move(source_of)),
      element_bytes_(element_bytes),
      block_bytes_(static_cast<std::int64_t>(source_of_.size()) * element_bytes),
      group_blocks_(blocks_of_group(block_bytes_)),
      lines_(lines_of_group(source_of_, element_bytes, group_blocks_)) {}

void BlockPermutation::run_each(const std::byte* from, std::byte* to, std::int64_t blocks) const {
  for (std::int64_t block = 0; block < blocks; ++block) {
    for (const std::uint16_t source : source_of_) {
      std::memcpy(to, from + std::int64_t{source} * element_bytes_,
                  static_cast<std::size_t>(element_bytes_));
      to += element_bytes_;
    }
    from += block_bytes_;
  }
}

void BlockPermutation::run_groups(const std::byte* from, std::byte* to, std::int64_t groups,
                                  bool streaming) const {
  if (groups == 0) return;
  LinePermutation::Ports ports;
  ports.from_step = ports.to_step = group_blocks_ * block_bytes_;
  for (std::int64_t i = 0; i < lines_.lines(); ++i) {
    ports.from[static_cast<std::size_t>(i)] = from + i * kLine;
    ports.to[static_cast<std::size_t>(i)] = to + i * kLine;
  }
  lines_.run(ports, groups, streaming);
}

void BlockPermutation::run_whole(const std::byte* from, std::byte* to, std::int64_t blocks,
                                 bool streaming) const {
  const std::int64_t group_bytes = group_blocks_ * block_bytes_;
  // The lines of the last group may not reach past the end.
  const std::int64_t past = lines_.lines() * kLine - group_bytes;
  const std::int64_t groups =
      std::max<std::int64_t>(0, (blocks * block_bytes_ - past) / group_bytes);
  run_groups(from, to, groups, streaming);
  run_each(from + groups * group_bytes, to + groups * group_bytes, blocks - groups * group_blocks_);
}

void BlockPermutation::run(const std::byte* from, std::byte* to, std::int64_t blocks,
                           bool streaming) const {
  const std::int64_t group_bytes = group_blocks_ * block_bytes_;
  if (!streaming) return run_whole(from, to, blocks, false);
  if (group_bytes % kLine == 0 && reinterpret_cast<std::uintptr_t>(to) % kLine == 0) {
    return run_whole(from, to, blocks, true);
  }
  // Blocks are assembled in the first-level cache and written as aligned lines of the destination.
  alignas(kLine) std::array<std::byte, 4096 + 4 * kLine> memory;
  LineWriter writer(memory.data(), static_cast<std::int64_t>(memory.size()));
  const std::int64_t at_once = std::max<std::int64_t>(1, 4096 / group_bytes) * group_blocks_;
  for (std::int64_t done = 0; done < blocks; done += at_once) {
    const std::int64_t now = std::min(at_once, blocks - done);
    std::byte* room = writer.reserve(to, now * block_bytes_);
    run_whole(from, room, now, false);
    from += now * block_bytes_;
    to += now * block_bytes_;
  }
}

}  // namespace tessera::relayout

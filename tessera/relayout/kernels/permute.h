// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/relayout/kernels/permute_lines.h"

namespace tessera::relayout {

/// Permutes the elements inside contiguous blocks, in the same way in every block.
///
/// Law: element i of each destination block is element source_of[i] of the source block.
/// Example: odd-even 16 is source_of = {0, 2, .., 14, 1, 3, .., 15}.
class BlockPermutation {
 public:
  static constexpr std::int64_t kMaxBytes = 256;

  /// Nullopt unless `source_of` holds each of 0 .. size-1 once, elements have 1, 2, 4 or 8 bytes,
  /// and a block has at least one element and at most kMaxBytes.
  static std::optional<BlockPermutation> make(std::vector<std::uint16_t> source_of,
                                              int element_bytes);

  std::int64_t block_bytes() const { return block_bytes_; }

  /// Any alignment; the arrays must not overlap. `streaming` writes whole lines that bypass the
  /// caches; the caller must then call finish_streaming().
  void run(const std::byte* from, std::byte* to, std::int64_t blocks, bool streaming) const;

 private:
  BlockPermutation(std::vector<std::uint16_t> source_of, int element_bytes);
  void run_each(const std::byte* from, std::byte* to, std::int64_t blocks) const;
  void run_groups(const std::byte* from, std::byte* to, std::int64_t groups, bool streaming) const;
  void run_whole(const std::byte* from, std::byte* to, std::int64_t blocks, bool streaming) const;

  std::vector<std::uint16_t> source_of_;
  int element_bytes_;
  std::int64_t block_bytes_;
  std::int64_t group_blocks_;  ///< blocks that are permuted together
  LinePermutation lines_;
};

/// Interleaves k streams of n elements of `element_bytes` bytes:
///
///     out[i·k + j] = streams[j][i]          k in {2, 3, 4}, element_bytes in {1, 2, 4, 8}
///
/// Any alignment. `streaming` writes whole lines that bypass the caches; the caller must then call
/// finish_streaming(). Example: the planes R, G and B of an image become RGBRGB..
void interleave(const std::byte* const* streams, int k, std::byte* out, std::int64_t n,
                int element_bytes, bool streaming);

/// The opposite: streams[j][i] = in[i·k + j].
void deinterleave(const std::byte* in, int k, std::byte* const* streams, std::int64_t n,
                  int element_bytes, bool streaming);

}  // namespace tessera::relayout

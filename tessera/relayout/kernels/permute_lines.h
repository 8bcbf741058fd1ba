// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/relayout/kernels/kernels.h"

namespace tessera::relayout {

/// Permutes the bytes of a group of up to four lines of 64 bytes, in the same way for every group.
/// Interleaving, deinterleaving and block permutations use this.
///
/// Law: byte b of destination line j of a group is byte `source_of[64·j + b]` of its source lines,
/// counted through all of them, or any byte if the entry is kAny.
/// Example: two streams of bytes interleaved is {0, 64, 1, 65, .., 63, 127}.
class LinePermutation {
 public:
  static constexpr int kMaxLines = 4;
  static constexpr std::uint16_t kAny = 0xffff;

  /// `source_of` has 64 entries for each of 1 to 4 lines, each below its size or kAny.
  explicit LinePermutation(std::span<const std::uint16_t> source_of);

  int lines() const { return lines_; }

  /// The positions of the lines of the first group, and the distance to those of the next group.
  struct Ports {
    std::array<const std::byte*, kMaxLines> from{};
    std::int64_t from_step = 0;
    std::array<std::byte*, kMaxLines> to{};
    std::int64_t to_step = 0;
  };
  /// Processes groups one after another, so that the next group overwrites what a group writes past
  /// its end. `streaming` only if every destination line is aligned; the caller must then call
  /// finish_streaming().
  void run(const Ports& ports, std::int64_t groups, bool streaming) const;

  // The tables for the kernels: the same permutation in the format of each kind of instruction.

  /// For two-source permutes: the byte of lines 0 and 1 (0..127), the byte of lines 2 and 3, and
  /// which of the two is used.
  struct ByBytes {
    std::array<std::uint8_t, 64> low{};
    std::array<std::uint8_t, 64> high{};
    std::uint64_t from_high = 0;
  };
  /// The same in units of two bytes.
  struct ByPairs {
    std::array<std::uint16_t, 32> low{};
    std::array<std::uint16_t, 32> high{};
    std::uint32_t from_high = 0;
  };
  /// The part of a 16-byte destination chunk that comes from one source chunk. Entries of 128 and
  /// more give zeros, and the parts of a chunk are combined.
  struct ChunkPart {
    std::array<std::uint8_t, 16> table{};
    std::uint8_t from_line = 0;
    std::uint8_t from_byte = 0;
    bool last = false;  ///< of its destination chunk
  };

  struct Tables {
    std::array<ByBytes, kMaxLines> bytes;
    std::array<ByPairs, kMaxLines> pairs;
    std::vector<ChunkPart> parts;  ///< chunk after chunk, line after line
    bool in_pairs = true;          ///< bytes move two by two, so that `pairs` may be used
    bool in_chunks = true;         ///< no byte leaves its chunk; the first part of each has all
  };

 private:
  int lines_ = 1;
  Tables tables_;
};

}  // namespace tessera::relayout

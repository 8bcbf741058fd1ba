// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/result.h"

namespace tessera::tools {

/// The element type of a NumPy array: byte order, kind and bytes, as in "<f4".
struct NpyType {
  char kind = 'f';  ///< f, i, u, b (bool), V (raw bytes), c, ..
  std::int64_t bytes = 4;
  bool swapped = false;  ///< stored in the byte order that this machine does not have

  /// "<f4"; types of one byte and raw bytes have no order: "|u1".
  std::string text() const;
  friend bool operator==(const NpyType&, const NpyType&) = default;
};

/// The header of a .npy file, which precedes the data.
/// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
///
/// Six bytes of magic, the version, the length of the header (2 bytes in version 1, 4 in versions 2
/// and 3), and then a Python dictionary:
///
///     {'descr': '<f4', 'fortran_order': False, 'shape': (53, 63), }
struct NpyHeader {
  NpyType type;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;  ///< bytes from the start of the file
  std::int64_t elements = 1;     ///< the product of the shape
  std::int64_t data_bytes = 0;
};

/// A longer header is not that of an array: 64 extents and a type take 2 KiB.
inline constexpr std::int64_t kMaxNpyHeader = 1 << 16;

/// Reads the header of a file that starts with `start`, which holds at least the header, or the
/// whole file if that is shorter. Errors (kSyntax, kBadNumber, kRankTooLarge, kOverflow,
/// kTextTooLong, kNotSupported for types that are not numbers) name the byte of the file in their
/// span.
Result<NpyHeader> read_npy_header(std::span<const std::byte> start);

/// The header that NumPy would write, padded so that data begin at a multiple of 64 bytes; version
/// 1, or 2 when it is too long for that.
/// Law: read_npy_header(write_npy_header(t, f, s)) has the same type, order and shape.
std::string write_npy_header(const NpyType& type, bool fortran_order,
                             const std::vector<std::int64_t>& shape);

/// "(53, 63)", "(53,)", "()": a shape as Python writes it.
std::string python_tuple(const std::vector<std::int64_t>& shape);

}  // namespace tessera::tools

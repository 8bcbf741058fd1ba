// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"

namespace tessera {

/// The unit of storage: a scalar, or a tile of rows x cols elements whose bytes belong together.
/// The storage type may differ from the tensor's element type (f32 stored as bfp_bf8 tiles).
struct Atom {
  DType storage = DType::kF32;
  std::int64_t rows = 1;
  std::int64_t cols = 1;

  static Atom scalar(DType storage) { return {storage, 1, 1}; }
  static Atom tile(std::int64_t rows, std::int64_t cols, DType storage) {
    return {storage, rows, cols};
  }
  friend bool operator==(const Atom&, const Atom&) = default;

  bool is_tile() const { return rows * cols > 1; }
  std::int64_t elements() const { return rows * cols; }
  /// Checks that rows and cols are positive, and 32x32 if the storage type is a block float.
  Status check() const;

  /// Bytes of `slots` slots, rounded up to whole bytes; empty on overflow.
  std::optional<std::int64_t> bytes(std::int64_t slots) const;
  /// The byte at which `slot` begins; empty for block floats, whose elements have no byte address.
  std::optional<std::int64_t> byte_of(std::int64_t slot) const;
};

}  // namespace tessera

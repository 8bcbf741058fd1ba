// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/atom.h"

#include "tessera/base/checked.h"

namespace tessera {

Status Atom::check() const {
  if (rows < 1 || cols < 1 || (Checked(rows) * cols).overflowed()) {
    return Error{ErrorCode::kBadAtom, cat("a tile of ", rows, "x", cols, " elements"), std::nullopt,
                 "tiles have at least one row and one column"};
  }
  if (is_block_float(storage) && (rows != 32 || cols != 32)) {
    return Error{ErrorCode::kBadAtom,
                 cat(dtype_name(storage), " in an atom of ", rows, "x", cols, " elements"),
                 std::nullopt, "block floats exist only in 32x32 tiles"};
  }
  return ok_status();
}

std::optional<std::int64_t> Atom::bytes(std::int64_t slots) const {
  return dtype_bytes(storage, slots);
}

std::optional<std::int64_t> Atom::byte_of(std::int64_t slot) const {
  const std::optional<std::int64_t> bits = dtype_bits(storage);
  if (!bits) return std::nullopt;
  if (*bits < 8) return slot / (8 / *bits);
  return slot * (*bits / 8);
}

}  // namespace tessera

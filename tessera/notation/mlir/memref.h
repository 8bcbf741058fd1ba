// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/layout.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {

/// `memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>`: what one place allocates.
///
/// The space may be an attribute (`#tt.memory_space<l1>`, `#ttcore.memory_space<dram>`,
/// `#ttnn.buffer_type<l1>`, `<l1>`), or an alias of an attribute as MLIR files define them (`#l1`,
/// `#l1_`, `#dram2`, `#l1_alias`, `#system_memory`, `#mmio`). An alias is recognised by the name of
/// the space at its beginning.
struct MemRef {
  std::vector<std::int64_t> shape;
  Atom element;
  std::string space;      ///< "system", "mmio", "dram", "l1", ..: the canonical name; or empty
  std::string attribute;  ///< as written, "#tt.memory_space<l1>", so that it prints the same
  friend bool operator==(const MemRef&, const MemRef&) = default;
};

/// `spaces` are the canonical names that are valid here; for others the error suggests the nearest
/// name. With `may_be_unsaid` the space is optional, as in MLIR: `memref<18x32xf32>` has an empty
/// space. `extents` is set to the span of the extents and the 'x' after them. If there are none, it
/// is empty and at the start of the element.
Result<MemRef> read_memref(Cursor& cursor, std::span<const std::string_view> spaces,
                           bool may_be_unsaid = false, Span* extents = nullptr);
/// Law: reading what was written gives the same memref.
std::string write_memref(const MemRef& memref, std::string_view dialect);

/// The canonical name of a space from its spelling, such as "system" for "system_memory"; an
/// unknown spelling is returned unchanged.
std::string_view canonical_space(std::string_view spelling);

}  // namespace tessera::notation

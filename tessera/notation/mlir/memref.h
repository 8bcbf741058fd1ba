// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/atom.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {

/// `memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>`: what one place allocates.
///
/// The space may be an attribute (`#tt.memory_space<l1>`, `#ttcore.memory_space<dram>`,
/// `#ttnn.buffer_type<l1>`, `<l1>`), or an alias of one as files define them (`#l1`, `#l1_`,
/// `#dram2`, `#l1_alias`, `#system_memory`, `#mmio`): an alias is known by the space that it
/// begins with.
struct MemRef {
  std::vector<std::int64_t> shape;
  Atom element;
  std::string space;      ///< "system", "mmio", "dram", "l1", ..: the canonical name; or unsaid
  std::string attribute;  ///< as written, "#tt.memory_space<l1>", so that it prints back
  friend bool operator==(const MemRef&, const MemRef&) = default;
};

/// `spaces` are the canonical names that are legal here; others get a did-you-mean. Where the space
/// may be left unsaid, as MLIR allows, `memref<18x32xf32>` has an empty one.
/// `extents` becomes the span of the extents with the 'x' behind them: empty, before the element,
/// when there are none.
Result<MemRef> read_memref(Cursor& cursor, std::span<const std::string_view> spaces,
                           bool may_be_unsaid = false, Span* extents = nullptr);
/// Law: reading what was written gives the same memref.
std::string write_memref(const MemRef& memref, std::string_view dialect);

/// The canonical name of a space as texts spell it, such as "system" of "system_memory"; the
/// spelling itself when it is none of ours.
std::string_view canonical_space(std::string_view spelling);

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/layout/atom.h"
#include "tessera/notation/cursor.h"

namespace tessera {

/// `memref<1x1x!tt.tile<32x32, bfp_bf8>, #tt.memory_space<l1>>`: what one place allocates.
///
/// The space may be an attribute (`#tt.memory_space<l1>`, `#ttcore.memory_space<dram>`,
/// `#ttnn.buffer_type<l1>`, `<l1>`), or an alias of one as files define them (`#l1`, `#l1_`,
/// `#dram`, `#system_memory`, `#mmio`): an alias is known by its letters.
struct MemRef {
  std::vector<std::int64_t> shape;
  Atom element;
  std::string space;      ///< "system", "mmio", "dram", "l1", ..: the canonical name
  std::string attribute;  ///< as written, "#tt.memory_space<l1>", so that it prints back
  friend bool operator==(const MemRef&, const MemRef&) = default;
};

/// `spaces` are the canonical names that are legal here; others get a did-you-mean.
Result<MemRef> read_memref(Cursor& cursor, std::span<const std::string_view> spaces);
std::string write_memref(const MemRef& memref, std::string_view dialect);

}  // namespace tessera

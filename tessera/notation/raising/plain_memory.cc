// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/plain_memory.h"

#include "tessera/base/names.h"
#include "tessera/base/text.h"

namespace tessera::notation {

std::optional<std::string> beyond_plain_storage(const LayoutSpec& spec, DType storage) {
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) return "a partial result";
  }
  if (spec.atom.is_tile()) return cat("an atom of ", spec.atom.rows, "x", spec.atom.cols);
  if (spec.atom.storage != storage) {
    const std::string expected =
        storage == spec.dtype ? "" : cat(", where ", dtype_name(storage), " is kept");
    return cat(dtype_name(spec.dtype), " stored as ", dtype_name(spec.atom.storage), expected);
  }
  if (spec.padding != PaddingValue::undef()) return "a padding value";
  if (!spec.space.empty()) return cat("the memory space ", quote_name(spec.space));
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) return "a device map";
  return std::nullopt;
}

std::optional<std::string> beyond_plain_memory(const LayoutSpec& spec) {
  if (spec.form.mesh.elements() != 1) {
    return cat("a mesh of ", spec.form.mesh.elements(), " places");
  }
  return beyond_plain_storage(spec, spec.dtype);
}

std::optional<std::string> beyond_plain_memory(const View& view) {
  LayoutSpec spec;
  spec.form = view.form();
  spec.dtype = view.dtype();
  spec.atom = view.atom();
  return beyond_plain_memory(spec);
}

}  // namespace tessera::notation

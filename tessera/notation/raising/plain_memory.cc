// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/raising/plain_memory.h"

#include "tessera/base/names.h"
#include "tessera/base/text.h"

namespace tessera::notation {

Obstacle partial_result(const Fill& fill) {
  return obstacle(why::kPartialResult, "a partial result",
                  {fact("reduction", reduction_name(fill.reduction)), fact("places", fill.count)});
}

Obstacle replicated(const Fill& fill) {
  return obstacle(why::kReplicated, "{places} replicas of each element along mesh axis {axis}",
                  {fact("places", fill.count), fact("axis", fill.axis)});
}

Obstacle tiles(const Atom& atom) {
  return obstacle(why::kTiles, "tiles of {rows}x{cols}",
                  {fact("rows", atom.rows), fact("cols", atom.cols)});
}

Obstacle stored_as(const LayoutSpec& spec, DType expected) {
  return obstacle(
      why::kStoredAs,
      expected == spec.dtype ? "{dtype} stored as {storage}"
                             : "{dtype} stored as {storage}, not as {expected_storage}",
      {fact("dtype", dtype_name(spec.dtype)), fact("storage", dtype_name(spec.atom.storage)),
       fact("expected_storage", dtype_name(expected))});
}

Obstacle padding_value() { return obstacle(why::kPaddingValue, "a padding value"); }

Obstacle memory_space(const std::string& space) {
  return obstacle(why::kMemorySpace, cat("the memory space ", quote_name(space)),
                  {fact("space", space)});
}

Obstacle device_map() { return obstacle(why::kDeviceMap, "a device map"); }

Obstacle mesh_rank(std::string_view words, const Shape& mesh, std::size_t least, std::size_t most) {
  return obstacle(
      why::kMeshRank, words,
      {fact("mesh", mesh.extents()), fact("least_axes", least), fact("most_axes", most)});
}

std::optional<Obstacle> beyond_plain_storage(const LayoutSpec& spec, DType storage) {
  for (const Fill& fill : spec.form.fills) {
    if (fill.kind == Fill::Kind::kPartial) return partial_result(fill);
  }
  if (spec.atom.is_tile()) return tiles(spec.atom);
  if (spec.atom.storage != storage) return stored_as(spec, storage);
  if (spec.padding != PaddingValue::undef()) return padding_value();
  if (!spec.space.empty()) return memory_space(spec.space);
  if (spec.device_map.kind() != DeviceMap::Kind::kIdentity) return device_map();
  return std::nullopt;
}

std::optional<Obstacle> beyond_plain_memory(const LayoutSpec& spec) {
  if (spec.form.mesh.elements() != 1) {
    return mesh_rank(cat("a mesh of ", spec.form.mesh.elements(), " places"), spec.form.mesh, 0, 0);
  }
  return beyond_plain_storage(spec, spec.dtype);
}

std::optional<Obstacle> beyond_plain_memory(const View& view) {
  LayoutSpec spec;
  spec.form = view.form();
  spec.dtype = view.dtype();
  spec.atom = view.atom();
  return beyond_plain_memory(spec);
}

}  // namespace tessera::notation

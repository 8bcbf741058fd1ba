// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/machine_parse.h"

#include <array>

#include "tessera/base/text.h"
#include "tessera/target/json_fields.h"
#include "tessera/target/machine.h"
#include "tessera/target/machine_check.h"

namespace tessera::target {
namespace {

/// A list of extents is a mesh of one level.
bool is_short_mesh(const JsonNode& node) {
  return node.kind == JsonNode::Kind::kList && !node.items.empty() &&
         node.items[0].kind != JsonNode::Kind::kObject;
}

Status read_mesh(const JsonNode& node, const std::string& path, std::vector<MeshLevel>& out) {
  if (!is_short_mesh(node)) return read_list(node, path, out, read_level);
  MeshLevel level;
  level.name = "mesh";
  TESSERA_CHECK_OK(read_json(node, path, level.extents));
  out = {std::move(level)};
  return ok_status();
}

Status read_fabric(const JsonNode& node, const std::string& path, Fabric& out) {
  constexpr Keys<4> kKnown = {"offset_x", "offset_y", "width", "height"};
  constexpr Keys<2> kRequired = {"width", "height"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("offset_x", out.offset_x));
  TESSERA_CHECK_OK(fields.read("offset_y", out.offset_y));
  TESSERA_CHECK_OK(fields.read("width", out.width));
  return fields.read("height", out.height);
}

Status read_tile(const JsonNode& node, const std::string& path, TileSize& out) {
  std::vector<std::int64_t> sizes;
  TESSERA_CHECK_OK(read_json(node, path, sizes));
  if (sizes.size() != 2) return unexpected(node, path, "two numbers", "rows and columns: [32, 32]");
  out = {sizes[0], sizes[1]};
  return ok_status();
}

Status read_rules(const JsonNode& node, const std::string& path, Rules& out) {
  constexpr Keys<7> kKnown = {"wavelet_bits", "colours",     "reserved_colours", "fabric",
                              "tile",         "stick_bytes", "span_limit_bytes"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, {}));
  TESSERA_CHECK_OK(fields.read_optional("wavelet_bits", out.wavelet_bits));
  TESSERA_CHECK_OK(fields.read_optional("colours", out.colours));
  TESSERA_CHECK_OK(fields.read("reserved_colours", out.reserved_colours));
  TESSERA_CHECK_OK(fields.read_optional("fabric", out.fabric, read_fabric));
  TESSERA_CHECK_OK(fields.read_optional("tile", out.tile, read_tile));
  TESSERA_CHECK_OK(fields.read_optional("stick_bytes", out.stick_bytes));
  return fields.read_optional("span_limit_bytes", out.span_limit_bytes);
}

/// One place, or a range of places.
Status read_range(const JsonNode& node, const std::string& path, PlaceRange& out) {
  if (node.kind == JsonNode::Kind::kList) {
    TESSERA_CHECK_OK(read_json(node, path, out.from));
    out.to = out.from;
    return ok_status();
  }
  constexpr Keys<2> kKnown = {"from", "to"};
  if (node.kind != JsonNode::Kind::kObject) {
    return unexpected(node, path, "a place or a range",
                      "such as [3, 4] or {\"from\": [0, 0], \"to\": [0, 9]}");
  }
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kKnown));
  TESSERA_CHECK_OK(fields.read("from", out.from));
  return fields.read("to", out.to);
}

Status read_rate(const JsonNode& node, const std::string& path, ComputeRate& out) {
  constexpr Keys<4> kKnown = {"unit", "dtype", "mode", "per_cycle"};
  constexpr Keys<2> kRequired = {"unit", "per_cycle"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("unit", out.unit));
  TESSERA_CHECK_OK(fields.read("dtype", out.dtype));
  TESSERA_CHECK_OK(fields.read("mode", out.mode));
  return fields.read("per_cycle", out.per_cycle);
}

Status read_evidence(const JsonNode& node, const std::string& path, Evidence& out) {
  constexpr std::array kEvidence = {Evidence::kPublished, Evidence::kMeasured, Evidence::kFitted,
                                    Evidence::kAssumed};
  return read_choice(node, path, std::span<const Evidence>(kEvidence), evidence_name, out);
}

/// A note says something: a text, how the figure is known, or both.
Status read_note(const JsonNode& node, const std::string& path, Note& out) {
  constexpr Keys<3> kKnown = {"about", "text", "is"};
  constexpr Keys<2> kRequired = {"about", "text"};
  const std::span<const std::string_view> required(kRequired);
  const bool has_evidence = node.find("is") != nullptr;
  TESSERA_TRY(const JsonFields fields,
              JsonFields::open(node, path, kKnown, required.first(has_evidence ? 1 : 2)));
  TESSERA_CHECK_OK(fields.read("about", out.about));
  TESSERA_CHECK_OK(fields.read("text", out.text));
  return fields.read_optional("is", out.evidence, read_evidence);
}

Status read_machine(const JsonNode& node, Machine& out) {
  constexpr Keys<11> kKnown = {"name",   "title",   "mesh",           "clock_hz",
                               "memory", "compute", "op_gap_seconds", "data_space",
                               "rules",  "dead",    "notes"};
  constexpr Keys<3> kRequired = {"name", "mesh", "memory"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, "", kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("title", out.title));
  TESSERA_CHECK_OK(fields.read("mesh", out.mesh, read_mesh));
  TESSERA_CHECK_OK(fields.read_optional("clock_hz", out.clock_hz));
  TESSERA_CHECK_OK(fields.read_each("memory", out.memory, read_space));
  if (!out.memory.empty()) out.data_space = out.memory[0].name;
  TESSERA_CHECK_OK(fields.read("data_space", out.data_space));
  TESSERA_CHECK_OK(fields.read_each("compute", out.compute, read_rate));
  TESSERA_CHECK_OK(fields.read_optional("op_gap_seconds", out.op_gap_seconds));
  TESSERA_CHECK_OK(fields.read("rules", out.rules, read_rules));
  TESSERA_CHECK_OK(fields.read_each("dead", out.dead, read_range));
  return fields.read_each("notes", out.notes, read_note);
}

/// The value at a path, or the nearest enclosing one that the text has.
const JsonNode& node_at(const JsonNode& root, std::string_view path) {
  const JsonNode* node = &root;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const std::string_view step = path.substr(0, path.find('/'));
    const JsonNode* next = node->find(step);
    for (std::size_t i = 0; node->kind == JsonNode::Kind::kList && i < node->items.size(); ++i) {
      if (std::to_string(i) == step) next = &node->items[i];
    }
    if (next == nullptr) break;
    node = next;
    path.remove_prefix(step.size());
  }
  return *node;
}

/// The path as the text writes it: a mesh may be a list of extents, and the only network of a level
/// may be in a list.
std::string written_path(const std::string& path, const JsonNode& root) {
  constexpr std::string_view kExtents = "/mesh/0/extents";
  constexpr std::string_view kLinks = "/links";
  const JsonNode* const mesh = root.find("mesh");
  if (mesh == nullptr) return path;
  if (is_short_mesh(*mesh)) {
    return path.starts_with(kExtents) ? cat("/mesh", path.substr(kExtents.size())) : path;
  }
  for (std::size_t i = 0; i < mesh->items.size(); ++i) {
    const std::string level = cat("/mesh/", i);
    if (!path.starts_with(level + std::string(kLinks)) || mesh->items[i].find("links")) continue;
    return cat(level, "/networks/0", path.substr(level.size() + kLinks.size()));
  }
  return path;
}

Error placed(Problem problem, const JsonNode& root) {
  const std::string path = written_path(problem.path, root);
  return Error{problem.code, cat(path, ": ", problem.message), node_at(root, path).span,
               std::move(problem.help)};
}

}  // namespace

Result<Machine> parse_machine(std::string_view json) {
  TESSERA_TRY(const JsonNode root, parse_json_tree(json));
  Machine machine;
  TESSERA_CHECK_OK(read_machine(root, machine));
  if (std::optional<Problem> problem = first_problem(machine)) {
    return placed(*std::move(problem), root);
  }
  return machine;
}

}  // namespace tessera::target

// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "tessera/base/text.h"
#include "tessera/target/json_fields.h"
#include "tessera/target/machine.h"
#include "tessera/target/machine_check.h"

namespace tessera::target {
namespace {

template <std::size_t kCount>
using Keys = std::array<std::string_view, kCount>;

Status read_links(const JsonNode& node, const std::string& path, Links& out) {
  constexpr Keys<5> kKnown = {"network", "ports", "hop_cycles", "bits_per_cycle", "ramp_cycles"};
  constexpr Keys<1> kRequired = {"network"};
  constexpr std::array kNetworks = {Network::kMesh, Network::kTorus, Network::kRing, Network::kNoc};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read(
      "network", out.network, [&](const JsonNode& word, const std::string& at, Network& network) {
        return read_choice(word, at, std::span<const Network>(kNetworks), network_name, network);
      }));
  TESSERA_CHECK_OK(fields.read("ports", out.ports));
  TESSERA_CHECK_OK(fields.read_optional("hop_cycles", out.hop_cycles));
  TESSERA_CHECK_OK(fields.read_optional("bits_per_cycle", out.bits_per_cycle));
  return fields.read_optional("ramp_cycles", out.ramp_cycles);
}

Status read_level(const JsonNode& node, const std::string& path, MeshLevel& out) {
  constexpr Keys<4> kKnown = {"name", "extents", "axes", "links"};
  constexpr Keys<2> kRequired = {"name", "extents"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("extents", out.extents));
  TESSERA_CHECK_OK(fields.read("axes", out.axes));
  return fields.read_optional("links", out.links, read_links);
}

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

Status read_reserve(const JsonNode& node, const std::string& path, Reserve& out) {
  constexpr Keys<2> kKnown = {"name", "bytes"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kKnown));
  TESSERA_CHECK_OK(fields.read("name", out.name));
  return fields.read("bytes", out.bytes);
}

Status read_owner(const JsonNode& node, const std::string& path, MemorySpace::Owner& out) {
  using Owner = MemorySpace::Owner;
  constexpr std::array kOwners = {Owner::kPlace, Owner::kBank, Owner::kShared};
  return read_choice(node, path, std::span<const Owner>(kOwners), owner_name, out);
}

Status read_space(const JsonNode& node, const std::string& path, MemorySpace& out) {
  constexpr Keys<7> kKnown = {"name",     "per",          "banks",      "bytes",
                              "reserved", "usable_bytes", "align_bytes"};
  constexpr Keys<1> kRequired = {"name"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("per", out.owner, read_owner));
  TESSERA_CHECK_OK(fields.read_optional("banks", out.banks));
  TESSERA_CHECK_OK(fields.read_optional("bytes", out.bytes));
  TESSERA_CHECK_OK(
      fields.read("reserved", out.reserved,
                  [](const JsonNode& list, const std::string& at, std::vector<Reserve>& reserves) {
                    return read_list(list, at, reserves, read_reserve);
                  }));
  TESSERA_CHECK_OK(fields.read_optional("usable_bytes", out.usable_bytes));
  return fields.read("align_bytes", out.align_bytes);
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

Status read_note(const JsonNode& node, const std::string& path, Note& out) {
  constexpr Keys<2> kKnown = {"about", "text"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kKnown));
  TESSERA_CHECK_OK(fields.read("about", out.about));
  return fields.read("text", out.text);
}

Status read_machine(const JsonNode& node, Machine& out) {
  constexpr Keys<9> kKnown = {"name",       "title", "mesh", "clock_hz", "memory",
                              "data_space", "rules", "dead", "notes"};
  constexpr Keys<3> kRequired = {"name", "mesh", "memory"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, "", kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("title", out.title));
  TESSERA_CHECK_OK(fields.read("mesh", out.mesh, read_mesh));
  TESSERA_CHECK_OK(fields.read_optional("clock_hz", out.clock_hz));
  TESSERA_CHECK_OK(fields.read(
      "memory", out.memory,
      [](const JsonNode& list, const std::string& at, std::vector<MemorySpace>& spaces) {
        return read_list(list, at, spaces, read_space);
      }));
  if (!out.memory.empty()) out.data_space = out.memory[0].name;
  TESSERA_CHECK_OK(fields.read("data_space", out.data_space));
  TESSERA_CHECK_OK(fields.read("rules", out.rules, read_rules));
  TESSERA_CHECK_OK(
      fields.read("dead", out.dead,
                  [](const JsonNode& list, const std::string& at, std::vector<PlaceRange>& ranges) {
                    return read_list(list, at, ranges, read_range);
                  }));
  return fields.read("notes", out.notes,
                     [](const JsonNode& list, const std::string& at, std::vector<Note>& notes) {
                       return read_list(list, at, notes, read_note);
                     });
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

Error placed(Problem problem, const JsonNode& root) {
  constexpr std::string_view kExtents = "/mesh/0/extents";
  const JsonNode* const mesh = root.find("mesh");
  if (mesh != nullptr && is_short_mesh(*mesh) && problem.path.starts_with(kExtents)) {
    problem.path.replace(0, kExtents.size(), "/mesh");
  }
  return Error{problem.code, cat(problem.path, ": ", problem.message),
               node_at(root, problem.path).span, std::move(problem.help)};
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

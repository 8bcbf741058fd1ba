// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/machine_parse.h"

namespace tessera::target {
namespace {

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

Status read_bandwidth(const JsonNode& node, const std::string& path, Bandwidth& out) {
  constexpr Keys<2> kKnown = {"bytes_per_cycle", "bytes_per_second"};
  if (node.kind == JsonNode::Kind::kNull) return ok_status();
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, {}));
  TESSERA_CHECK_OK(fields.read_optional("bytes_per_cycle", out.bytes_per_cycle));
  return fields.read_optional("bytes_per_second", out.bytes_per_second);
}

}  // namespace

Status read_space(const JsonNode& node, const std::string& path, MemorySpace& out) {
  constexpr Keys<11> kKnown = {"name",        "per",  "banks", "bytes", "reserved", "usable_bytes",
                               "align_bytes", "read", "write", "mixed", "at"};
  constexpr Keys<1> kRequired = {"name"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("per", out.owner, read_owner));
  TESSERA_CHECK_OK(fields.read_optional("banks", out.banks));
  TESSERA_CHECK_OK(fields.read_optional("bytes", out.bytes));
  TESSERA_CHECK_OK(fields.read_each("reserved", out.reserved, read_reserve));
  TESSERA_CHECK_OK(fields.read_optional("usable_bytes", out.usable_bytes));
  TESSERA_CHECK_OK(fields.read("align_bytes", out.align_bytes));
  TESSERA_CHECK_OK(fields.read("read", out.read, read_bandwidth));
  TESSERA_CHECK_OK(fields.read("write", out.write, read_bandwidth));
  TESSERA_CHECK_OK(fields.read("mixed", out.mixed, read_bandwidth));
  return fields.read("at", out.at);
}

}  // namespace tessera::target

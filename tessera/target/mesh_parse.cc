// SPDX-License-Identifier: Apache-2.0
#include "tessera/base/text.h"
#include "tessera/target/machine_parse.h"

namespace tessera::target {
namespace {

template <std::size_t kCount>
Status read_way(const JsonNode& node, const std::string& path, const std::array<Way, kCount>& ways,
                Way& out) {
  return read_choice(node, path, std::span<const Way>(ways), way_name, out);
}

Status read_kind(const JsonNode& node, const std::string& path, NetworkKind& out) {
  constexpr std::array kKinds = {NetworkKind::kMesh, NetworkKind::kTorus, NetworkKind::kRing,
                                 NetworkKind::kAllToAll, NetworkKind::kNoc};
  return read_choice(node, path, std::span<const NetworkKind>(kKinds), network_name, out);
}

constexpr Keys<12> kNetworkKeys = {"name",        "network",      "ports",
                                   "route",       "ways",         "hop_cycles",
                                   "ramp_cycles", "hop_seconds",  "bytes_per_second",
                                   "links",       "packet_bytes", "bits_per_cycle"};

Status read_network_fields(const JsonFields& fields, Network& out) {
  constexpr std::array kWays = {Way::kBoth, Way::kUp, Way::kDown};
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("network", out.kind, read_kind));
  TESSERA_CHECK_OK(fields.read("ports", out.ports));
  TESSERA_CHECK_OK(fields.read("route", out.route));
  TESSERA_CHECK_OK(fields.read_each("ways", out.ways,
                                    [&](const JsonNode& node, const std::string& path, Way& way) {
                                      return read_way(node, path, kWays, way);
                                    }));
  TESSERA_CHECK_OK(fields.read_optional("hop_cycles", out.hop_cycles));
  TESSERA_CHECK_OK(fields.read_optional("bits_per_cycle", out.bits_per_cycle));
  TESSERA_CHECK_OK(fields.read_optional("ramp_cycles", out.ramp_cycles));
  TESSERA_CHECK_OK(fields.read_optional("hop_seconds", out.hop_seconds));
  TESSERA_CHECK_OK(fields.read_optional("bytes_per_second", out.bytes_per_second));
  TESSERA_CHECK_OK(fields.read("links", out.links));
  return fields.read_optional("packet_bytes", out.packet_bytes);
}

Status read_network(const JsonNode& node, const std::string& path, Network& out) {
  constexpr Keys<1> kRequired = {"network"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kNetworkKeys, kRequired));
  return read_network_fields(fields, out);
}

/// The only network of a level, which has no name.
Status read_links(const JsonNode& node, const std::string& path, std::vector<Network>& out) {
  constexpr Keys<1> kRequired = {"network"};
  if (node.kind == JsonNode::Kind::kNull) return ok_status();
  const std::span<const std::string_view> keys(kNetworkKeys);
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, keys.subspan(1), kRequired));
  out.emplace_back();
  return read_network_fields(fields, out.back());
}

Status read_mechanism(const JsonNode& node, const std::string& path, Mechanism& out) {
  constexpr Keys<6> kKnown = {"name",         "network",         "overhead_cycles",
                              "issue_cycles", "bytes_per_cycle", "receiver_cycles"};
  constexpr Keys<1> kRequired = {"name"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("network", out.network));
  TESSERA_CHECK_OK(fields.read_optional("overhead_cycles", out.overhead_cycles));
  TESSERA_CHECK_OK(fields.read_optional("issue_cycles", out.issue_cycles));
  TESSERA_CHECK_OK(fields.read_optional("bytes_per_cycle", out.bytes_per_cycle));
  return fields.read_optional("receiver_cycles", out.receiver_cycles);
}

Status read_routers(const JsonNode& node, const std::string& path, Routers& out) {
  constexpr Keys<2> kKnown = {"extents", "places"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kKnown));
  TESSERA_CHECK_OK(fields.read("extents", out.extents));
  return fields.read("places", out.places);
}

Status read_gateway(const JsonNode& node, const std::string& path, Gateway& out) {
  constexpr Keys<3> kKnown = {"axis", "way", "routers"};
  constexpr std::array kWays = {Way::kUp, Way::kDown};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kKnown));
  TESSERA_CHECK_OK(fields.read("axis", out.axis));
  TESSERA_CHECK_OK(
      fields.read("way", out.way, [&](const JsonNode& word, const std::string& at, Way& way) {
        return read_way(word, at, kWays, way);
      }));
  return fields.read("routers", out.routers);
}

}  // namespace

Status read_level(const JsonNode& node, const std::string& path, MeshLevel& out) {
  constexpr Keys<8> kKnown = {"name",  "extents",  "axes",       "routers",
                              "links", "networks", "mechanisms", "gateways"};
  constexpr Keys<2> kRequired = {"name", "extents"};
  TESSERA_TRY(const JsonFields fields, JsonFields::open(node, path, kKnown, kRequired));
  const JsonNode* const networks = node.find("networks");
  if (networks != nullptr && node.find("links") != nullptr) {
    return Error{ErrorCode::kContradiction,
                 cat(path, "/networks: expected links or networks, found both"), networks->span,
                 "links is the only network of a level; put it into the list of networks"};
  }
  TESSERA_CHECK_OK(fields.read("name", out.name));
  TESSERA_CHECK_OK(fields.read("extents", out.extents));
  TESSERA_CHECK_OK(fields.read("axes", out.axes));
  TESSERA_CHECK_OK(fields.read_optional("routers", out.routers, read_routers));
  TESSERA_CHECK_OK(fields.read("links", out.networks, read_links));
  TESSERA_CHECK_OK(fields.read_each("networks", out.networks, read_network));
  TESSERA_CHECK_OK(fields.read_each("mechanisms", out.mechanisms, read_mechanism));
  return fields.read_each("gateways", out.gateways, read_gateway);
}

}  // namespace tessera::target

// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/topology.h"

#include <cassert>

#include "tessera/base/text.h"
#include "tessera/fabric/networks/parts.h"

namespace tessera::fabric {
namespace {

std::vector<std::int64_t> coordinates(const std::vector<std::int64_t>& extents,
                                      std::int64_t number) {
  std::vector<std::int64_t> at(extents.size());
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    at[axis] = number % extents[axis];
    number /= extents[axis];
  }
  return at;
}

/// " of device [1, 0]", or nothing if there is only one.
std::string of_device(const Topology::Parts& parts, std::int64_t device) {
  if (parts.devices == 1) return "";
  return cat(" of device ", bracketed(coordinates(parts.device_extents, device)));
}

std::string inner_link_name(const Topology::Parts& parts, const InnerNetwork& inner,
                            std::int64_t number) {
  const std::int64_t slot = number % inner.grid.links();
  const std::int64_t end = inner.grid.end_of(slot);
  const std::int64_t from = slot / (inner.grid.links() / inner.grid.routers);  // links per router
  return cat(inner.name, of_device(parts, number / inner.grid.links()), ", router ",
             bracketed(coordinates(parts.router_extents, from)), " to ",
             end < 0 ? "nothing" : bracketed(coordinates(parts.router_extents, end)));
}

std::string outer_link_name(const Topology::Parts& parts, const OuterLevel& outer,
                            std::int64_t number) {
  const std::int64_t slot = number / outer.parallel;
  const std::int64_t per_router = outer.grid.links() / outer.grid.routers;
  std::vector<std::int64_t> at =
      coordinates(parts.device_extents, slot / per_router * outer.inner_devices);
  at.resize(outer.axes_outside + outer.extents.size());  // the levels from the outermost to this
  const std::string name =
      cat(outer.name, " link ", number % outer.parallel, " of device ", bracketed(at));
  if (!outer.grid.all_to_all) {
    return cat(name, slot % 2 == 0 ? " up" : " down", " axis ", slot % per_router / 2);
  }
  const std::vector<std::int64_t> end = coordinates(outer.extents, slot % outer.grid.routers);
  at.resize(outer.axes_outside);
  at.insert(at.end(), end.begin(), end.end());
  return cat(name, " to ", bracketed(at));
}

/// The endpoint, and the router if it has several ports.
std::string port_name(const Topology& topology, std::int64_t port) {
  const Topology::Parts& parts = topology.parts();
  const std::int64_t endpoint = parts.endpoint_of_port(port);
  std::string name = topology.endpoint_name(endpoint);
  if (parts.is_place(endpoint) || parts.memory(endpoint).ports() == 1) return name;
  const MemoryEnd& end = parts.memory(endpoint);
  const std::int64_t number = port - end.first_port;
  const DeviceRouter& reached =
      parts.alternatives[end.first + static_cast<std::size_t>(number / end.port_devices)];
  std::vector<std::int64_t> at;
  if (end.port_devices > 1) at = coordinates(parts.device_extents, number % end.port_devices);
  const std::vector<std::int64_t> router = coordinates(parts.router_extents, reached.router);
  at.insert(at.end(), router.begin(), router.end());
  return cat(name, " at router ", bracketed(at));
}

}  // namespace

std::int64_t Topology::endpoints() const { return parts_->endpoints(); }

Endpoint Topology::endpoint(std::int64_t number) const {
  if (parts_->is_place(number)) return {Endpoint::Kind::kPlace, -1, number};
  const MemoryEnd& end = parts_->memory(number);
  return {end.device < 0 ? Endpoint::Kind::kShared : Endpoint::Kind::kBank, end.memory, end.number};
}

std::string Topology::endpoint_name(std::int64_t number) const {
  if (parts_->is_place(number)) return cat("place ", bracketed(parts_->shape.delinear(number)));
  const MemoryEnd& end = parts_->memory(number);
  const std::string& memory = parts_->memory_names[static_cast<std::size_t>(end.memory)];
  if (end.device < 0) return memory;
  const std::int64_t banks = parts_->banks[static_cast<std::size_t>(end.memory)];
  return cat(memory, " bank ", end.number % banks, of_device(*parts_, end.device));
}

Result<std::int64_t> Topology::bank(std::int64_t memory, std::int64_t device,
                                    std::int64_t number) const {
  const auto memories = static_cast<std::int64_t>(parts_->first_endpoint.size());
  if (memory < 0 || memory >= memories) {
    return Error{ErrorCode::kOutOfRange, cat("memory ", memory, " of ", memories)};
  }
  const std::int64_t first = parts_->first_endpoint[static_cast<std::size_t>(memory)];
  if (parts_->banks[static_cast<std::size_t>(memory)] == 0) {
    return Error{ErrorCode::kUnknownName,
                 cat("the machine does not say at which routers the banks of ",
                     parts_->memory_names[static_cast<std::size_t>(memory)], " are reached"),
                 std::nullopt, "list them in the field 'at' of the memory"};
  }
  const std::int64_t banks = parts_->banks[static_cast<std::size_t>(memory)];
  if (device < 0 || device >= parts_->devices || number < 0 || number >= banks) {
    return Error{ErrorCode::kOutOfRange, cat("bank ", number, " of ", banks, " on device ", device,
                                             " of ", parts_->devices)};
  }
  return first + device * banks + number;
}

Result<std::int64_t> Topology::shared(std::int64_t memory) const {
  const auto memories = static_cast<std::int64_t>(parts_->first_endpoint.size());
  if (memory < 0 || memory >= memories) {
    return Error{ErrorCode::kOutOfRange, cat("memory ", memory, " of ", memories)};
  }
  const std::int64_t first = parts_->first_endpoint[static_cast<std::size_t>(memory)];
  if (first < 0 || parts_->banks[static_cast<std::size_t>(memory)] > 0) {
    return Error{ErrorCode::kUnknownName,
                 cat("the machine does not say at which router ",
                     parts_->memory_names[static_cast<std::size_t>(memory)],
                     " is reached as a shared memory"),
                 std::nullopt, "list it in the field 'at' of the memory"};
  }
  return first;
}

std::int64_t Topology::networks() const { return static_cast<std::int64_t>(parts_->inner.size()); }

const std::string& Topology::why_left_out(std::int64_t network) const {
  return parts_->inner[static_cast<std::size_t>(network)].why_left_out;
}

std::optional<std::int64_t> Topology::network(std::string_view name) const {
  for (std::size_t n = 0; n < parts_->inner.size(); ++n) {
    const InnerNetwork& inner = parts_->inner[n];
    if (inner.name == name && inner.why_left_out.empty()) return static_cast<std::int64_t>(n);
  }
  return std::nullopt;
}

std::int64_t Topology::first_network() const {
  std::int64_t number = 0;
  while (!why_left_out(number).empty()) ++number;
  return number;
}

std::int64_t Topology::links() const { return parts_->links; }

const LinkFacts& Topology::link(std::int64_t number) const {
  assert(number >= 0 && number < parts_->links);
  for (std::size_t n = parts_->inner.size(); n-- > 0;) {
    if (number >= parts_->inner[n].first_port) return parts_->inner[n].port;
  }
  for (std::size_t l = parts_->outer.size(); l-- > 0;) {
    const OuterLevel& outer = parts_->outer[l];
    if (outer.grid.routers > 1 && number >= outer.first_link) return outer.link;
  }
  std::size_t n = parts_->inner.size() - 1;
  while (number < parts_->inner[n].first_link) --n;
  return parts_->inner[n].link;
}

std::string Topology::link_name(std::int64_t number) const {
  assert(number >= 0 && number < parts_->links);
  for (std::size_t n = parts_->inner.size(); n-- > 0;) {
    const InnerNetwork& inner = parts_->inner[n];
    if (number < inner.first_port) continue;
    const std::string name = port_name(*this, (number - inner.first_port) / 2);
    if ((number - inner.first_port) % 2 == 0) return cat("out of ", name, " to ", inner.name);
    return cat("into ", name, " from ", inner.name);
  }
  for (std::size_t l = parts_->outer.size(); l-- > 0;) {
    const OuterLevel& outer = parts_->outer[l];
    if (outer.grid.routers == 1 || number < outer.first_link) continue;
    return outer_link_name(*parts_, outer, number - outer.first_link);
  }
  std::size_t n = parts_->inner.size() - 1;
  while (number < parts_->inner[n].first_link) --n;
  return inner_link_name(*parts_, parts_->inner[n], number - parts_->inner[n].first_link);
}

}  // namespace tessera::fabric

// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/target/field_checks.h"
#include "tessera/target/machine_check.h"

namespace tessera::target {
namespace {

/// Checks that the reserved and usable bytes fit into the size of the memory.
Found check_budget(const MemorySpace& space, const std::string& path) {
  const std::string reserved = cat(path, "/reserved");
  if (!space.bytes) {
    if (space.reserved.empty()) return std::nullopt;
    return Problem{ErrorCode::kContradiction, reserved,
                   "a part of a memory is reserved, but its size is not given",
                   "give its bytes, or usable_bytes instead of reserved"};
  }
  Checked left = *space.bytes;
  for (const Reserve& reserve : space.reserved) left -= reserve.bytes;
  if (left.overflowed() || left.raw() < 1) {
    return Problem{ErrorCode::kContradiction, reserved,
                   cat("of ", *space.bytes, " bytes none are left for data"),
                   "reserve less than the total"};
  }
  if (space.usable_bytes && *space.usable_bytes > left.raw()) {
    return Problem{ErrorCode::kContradiction, cat(path, "/usable_bytes"),
                   cat("expected at most the ", left.raw(), " bytes that are left, found ",
                       *space.usable_bytes)};
  }
  return std::nullopt;
}

Found check_owner(const MemorySpace& space, const Machine& machine, const std::string& path) {
  const bool banked = space.owner == MemorySpace::Owner::kBank;
  if (banked && !space.banks) {
    return Problem{ErrorCode::kBadTarget, path, "a memory per bank needs the number of banks",
                   "add \"banks\": 12"};
  }
  if (!banked && space.banks) {
    return Problem{ErrorCode::kContradiction, cat(path, "/banks"),
                   cat("a memory per ", owner_name(space.owner), " has no banks"),
                   "write \"per\": \"bank\" or omit banks"};
  }
  if (Found found = at_least(1, space.banks, cat(path, "/banks"))) return found;
  const std::int64_t devices = banked ? machine.devices() : 1;
  const std::int64_t owners = banked                                      ? *space.banks
                              : space.owner == MemorySpace::Owner::kPlace ? machine.places()
                                                                          : 1;
  const Checked bytes = Checked(space.bytes.value_or(1)) * owners * devices;
  if (!bytes.overflowed()) return std::nullopt;
  return Problem{ErrorCode::kOverflow, cat(path, space.bytes ? "/bytes" : "/banks"),
                 cat(space.bytes.value_or(1), " bytes, ", owners, " times",
                     devices == 1 ? "" : cat(" on each of ", devices, " devices"),
                     ", do not fit a signed 64-bit integer"),
                 "use fewer bytes or places"};
}

Found check_bandwidth(const Bandwidth& bandwidth, const std::string& path) {
  return first_of(
      [&] { return in_range(bandwidth.bytes_per_cycle, cat(path, "/bytes_per_cycle")); },
      [&] { return in_range(bandwidth.bytes_per_second, cat(path, "/bytes_per_second")); },
      [&] {
        return not_both(bandwidth.bytes_per_cycle, "bytes_per_cycle", bandwidth.bytes_per_second,
                        "bytes_per_second", path);
      });
}

/// A router of the innermost level or, of a shared memory, of all levels: then the outer
/// coordinates are those of the device.
Found check_router(const Place& router, const MemorySpace& space, const Machine& machine,
                   const std::string& path) {
  const std::vector<std::int64_t>& inner = machine.mesh.back().router_extents();
  if (space.owner == MemorySpace::Owner::kBank || router.size() == inner.size()) {
    return inside(router, inner, path);
  }
  std::vector<std::int64_t> extents = machine.shape().extents();
  extents.resize(extents.size() - inner.size());
  extents.insert(extents.end(), inner.begin(), inner.end());
  return inside(router, extents, path);
}

/// Checks where a memory is reached.
Found check_at(const MemorySpace& space, const Machine& machine, const std::string& path) {
  if (space.at.empty()) return std::nullopt;
  if (space.owner == MemorySpace::Owner::kPlace) {
    return Problem{ErrorCode::kContradiction, path,
                   cat("expected no routers for a memory per place, found ", space.at.size()),
                   "a place reaches its own memory without a network"};
  }
  const std::int64_t banks = space.banks.value_or(1);
  if (banks > kMaxBanks) {
    return Problem{ErrorCode::kTooLarge, path,
                   cat("expected at most ", kMaxBanks, " banks with routers, found ", banks)};
  }
  if (static_cast<std::int64_t>(space.at.size()) != banks) {
    return Problem{ErrorCode::kContradiction, path,
                   cat("expected ", banks, banks == 1 ? " list" : " lists", " of routers, found ",
                       space.at.size()),
                   "one list of routers for each bank, and one for a shared memory"};
  }
  return each(space.at, path, [&](const std::vector<Place>& routers, const std::string& at) {
    return first_of(
        [&]() -> Found {
          if (!routers.empty()) return std::nullopt;
          return Problem{ErrorCode::kBadTarget, at, "expected at least one router, found none",
                         "list the routers at which the memory is reached, or none of any bank"};
        },
        [&] { return at_most(kMaxRoutersAt, routers.size(), "routers", at); },
        [&] {
          return each(routers, at, [&](const Place& router, const std::string& router_path) {
            return check_router(router, space, machine, router_path);
          });
        });
  });
}

Found check_space(const MemorySpace& space, const Machine& machine, const std::string& path) {
  const std::string reserved = cat(path, "/reserved");
  return first_of(
      [&] { return plain_name(space.name, cat(path, "/name")); },
      [&] { return at_least(1, space.bytes, cat(path, "/bytes")); },
      [&] { return check_owner(space, machine, path); },
      [&] { return at_most(kMaxReserves, space.reserved.size(), "reserves", reserved); },
      [&] {
        return each(space.reserved, reserved, [](const Reserve& reserve, const std::string& at) {
          return first_of([&] { return plain_name(reserve.name, cat(at, "/name")); },
                          [&] { return at_least(1, reserve.bytes, cat(at, "/bytes")); });
        });
      },
      [&] { return distinct_items(space.reserved, reserved); },
      [&] { return at_least(1, space.usable_bytes, cat(path, "/usable_bytes")); },
      [&] { return check_budget(space, path); },
      [&] { return at_least(1, space.align_bytes, cat(path, "/align_bytes")); },
      [&] { return check_bandwidth(space.read, cat(path, "/read")); },
      [&] { return check_bandwidth(space.write, cat(path, "/write")); },
      [&] { return check_bandwidth(space.mixed, cat(path, "/mixed")); },
      [&] { return check_at(space, machine, cat(path, "/at")); });
}

}  // namespace

std::optional<Problem> check_memory(const Machine& machine) {
  const std::string path = "/memory";
  return first_of(
      [&]() -> Found {
        if (!machine.memory.empty()) return std::nullopt;
        return Problem{ErrorCode::kBadTarget, path, "expected at least one memory, found none",
                       "write [{\"name\": \"sram\", \"bytes\": 65536}]"};
      },
      [&] { return at_most(kMaxMemorySpaces, machine.memory.size(), "memories", path); },
      [&] {
        return each(machine.memory, path, [&](const MemorySpace& space, const std::string& at) {
          return check_space(space, machine, at);
        });
      },
      [&] { return distinct_items(machine.memory, path); },
      [&]() -> Found {
        if (machine.find_space(machine.data_space) != nullptr) return std::nullopt;
        std::vector<std::string_view> names;
        for (const MemorySpace& space : machine.memory) names.push_back(space.name);
        return Problem{ErrorCode::kUnknownName, "/data_space",
                       cat("no memory is called ", quote_name(machine.data_space)),
                       did_you_mean(machine.data_space, names)};
      });
}

}  // namespace tessera::target

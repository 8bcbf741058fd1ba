// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/machine_check.h"

#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/target/field_checks.h"

namespace tessera::target {
namespace {

Found check_links(const Links& links, const std::string& path) {
  const std::string ports = cat(path, "/ports");
  return first_of(
      [&] { return at_most(kMaxPorts, links.ports.size(), "ports", ports); },
      [&] { return each(links.ports, ports, plain_name); },
      [&] { return distinct(links.ports, [&](std::size_t i) { return cat(ports, "/", i); }); },
      [&] { return at_least(1, links.hop_cycles, cat(path, "/hop_cycles")); },
      [&] { return at_least(1, links.bits_per_cycle, cat(path, "/bits_per_cycle")); },
      [&] { return at_least(0, links.ramp_cycles, cat(path, "/ramp_cycles")); });
}

Found check_level(const MeshLevel& level, const std::string& path) {
  const std::string extents = cat(path, "/extents");
  const std::string axes = cat(path, "/axes");
  return first_of(
      [&] { return plain_name(level.name, cat(path, "/name")); },
      [&] { return at_most(kMaxLevelAxes, level.extents.size(), "axes", extents); },
      [&]() -> Found {
        if (!level.extents.empty()) return std::nullopt;
        return Problem{ErrorCode::kBadTarget, extents, "expected at least one extent, found none",
                       "a single place is [1]"};
      },
      [&] {
        return each(level.extents, extents, [](std::int64_t extent, const std::string& at) {
          return at_least(1, extent, at);
        });
      },
      [&]() -> Found {
        if (level.axes.empty() || level.axes.size() == level.extents.size()) return std::nullopt;
        return Problem{ErrorCode::kContradiction, axes,
                       cat("expected ", level.extents.size(), " names, one per axis, found ",
                           level.axes.size())};
      },
      [&] { return each(level.axes, axes, plain_name); },
      [&] { return distinct(level.axes, [&](std::size_t i) { return cat(axes, "/", i); }); },
      [&]() -> Found {
        return level.links ? check_links(*level.links, cat(path, "/links")) : std::nullopt;
      });
}

/// Checks that the product of all extents does not overflow.
Found check_places(const Machine& machine) {
  Checked places = 1;
  for (const MeshLevel& level : machine.mesh) {
    for (const std::int64_t extent : level.extents) places *= extent;
  }
  if (!places.overflowed()) return std::nullopt;
  return Problem{ErrorCode::kOverflow, "/mesh",
                 "the number of places does not fit a signed 64-bit integer",
                 "use smaller extents"};
}

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
  const std::int64_t owners = banked                                      ? *space.banks
                              : space.owner == MemorySpace::Owner::kPlace ? machine.places()
                                                                          : 1;
  if (!space.bytes || !(Checked(*space.bytes) * owners).overflowed()) return std::nullopt;
  return Problem{
      ErrorCode::kOverflow, cat(path, "/bytes"),
      cat(*space.bytes, " bytes, ", owners, " times, do not fit a signed 64-bit integer"),
      "use fewer bytes or places"};
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
      [&] { return at_least(1, space.align_bytes, cat(path, "/align_bytes")); });
}

Found check_memory(const Machine& machine) {
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

Found check_colours(const Rules& rules) {
  const std::string path = "/rules/reserved_colours";
  if (Found found = at_least(1, rules.colours, "/rules/colours")) return found;
  if (rules.colours && *rules.colours > kMaxColours) {
    return Problem{ErrorCode::kTooLarge, "/rules/colours",
                   cat("expected at most ", kMaxColours, " colours, found ", *rules.colours)};
  }
  for (std::size_t i = 0; i < rules.reserved_colours.size(); ++i) {
    const std::int64_t colour = rules.reserved_colours[i];
    const std::int64_t least = i == 0 ? 0 : rules.reserved_colours[i - 1] + 1;
    const std::int64_t colours = rules.colours.value_or(0);
    if (colour >= least && colour < colours) continue;
    return Problem{ErrorCode::kBadTarget, cat(path, "/", i),
                   cat("expected a colour below ", colours,
                       " that is larger than the one before, found ", colour),
                   "colours count from 0, and reserved ones are listed in increasing order"};
  }
  return std::nullopt;
}

Found check_fabric(const Fabric& fabric, const Machine& machine) {
  const std::string path = "/rules/fabric";
  const Shape mesh = machine.shape();
  if (mesh.rank() != 2) {
    return Problem{
        ErrorCode::kContradiction, path,
        cat("a fabric is around a mesh of rows and columns, but the mesh has rank ", mesh.rank())};
  }
  const auto covers = [&](std::int64_t offset, std::int64_t places, std::int64_t all,
                          std::string_view field, std::string_view what) -> Found {
    const Checked least = Checked(offset) + places;
    if (!least.overflowed() && all >= least.raw()) return std::nullopt;
    return Problem{ErrorCode::kContradiction, cat(path, "/", field),
                   cat("expected at least ", offset, " + ", places, " ", what, ", found ", all)};
  };
  return first_of(
      [&] { return at_least(0, fabric.offset_x, cat(path, "/offset_x")); },
      [&] { return at_least(0, fabric.offset_y, cat(path, "/offset_y")); },
      [&] { return covers(fabric.offset_x, mesh[1], fabric.width, "width", "columns"); },
      [&] { return covers(fabric.offset_y, mesh[0], fabric.height, "height", "rows"); });
}

Found check_rules(const Machine& machine) {
  const Rules& rules = machine.rules;
  return first_of(
      [&] { return at_least(1, rules.wavelet_bits, "/rules/wavelet_bits"); },
      [&] { return check_colours(rules); },
      [&]() -> Found { return rules.fabric ? check_fabric(*rules.fabric, machine) : std::nullopt; },
      [&]() -> Found {
        if (!rules.tile) return std::nullopt;
        return first_of([&] { return at_least(1, rules.tile->rows, "/rules/tile/0"); },
                        [&] { return at_least(1, rules.tile->cols, "/rules/tile/1"); });
      },
      [&] { return at_least(1, rules.stick_bytes, "/rules/stick_bytes"); },
      [&] { return at_least(1, rules.span_limit_bytes, "/rules/span_limit_bytes"); });
}

Found check_dead(const Machine& machine) {
  if (Found found = at_most(kMaxDeadRanges, machine.dead.size(), "ranges", "/dead")) return found;
  const Shape mesh = machine.shape();
  Checked places = 0;
  for (std::size_t i = 0; i < machine.dead.size(); ++i) {
    const PlaceRange& range = machine.dead[i];
    const std::string path = cat("/dead/", i);
    for (const Place* corner : {&range.from, &range.to}) {
      if (mesh.contains(*corner)) continue;
      return Problem{
          ErrorCode::kOutOfRange, path,
          cat("there is no place ", bracketed(*corner), " on the mesh ", mesh.to_string()),
          "one coordinate per axis, counted from 0"};
    }
    Checked count = 1;
    for (std::size_t axis = 0; axis < mesh.rank(); ++axis) {
      if (range.to[axis] < range.from[axis]) {
        return Problem{
            ErrorCode::kBadTarget, path,
            cat("expected a range, found ", bracketed(range.from), " to ", bracketed(range.to)),
            "from is the smaller corner; both are included"};
      }
      count *= range.to[axis] - range.from[axis] + 1;
    }
    places += count;
    if (places.saturated() > kMaxDeadPlaces) {
      return Problem{ErrorCode::kTooLarge, path, cat("more than ", kMaxDeadPlaces, " dead places"),
                     "describe a smaller mesh instead"};
    }
  }
  return std::nullopt;
}

Found check_notes(const Machine& machine) {
  if (Found found = at_most(kMaxNotes, machine.notes.size(), "notes", "/notes")) return found;
  return each(machine.notes, "/notes", [](const Note& note, const std::string& at) {
    return first_of([&] { return plain_text(note.about, cat(at, "/about")); },
                    [&] { return plain_text(note.text, cat(at, "/text")); },
                    [&]() -> Found {
                      if (note.about.starts_with('/')) return std::nullopt;
                      return Problem{ErrorCode::kBadTarget, cat(at, "/about"),
                                     cat("expected a path, found ", quote_name(note.about)),
                                     "such as \"/memory/0/bytes\""};
                    });
  });
}

Found check_mesh(const Machine& machine) {
  const std::string path = "/mesh";
  return first_of(
      [&]() -> Found {
        if (!machine.mesh.empty()) return std::nullopt;
        return Problem{ErrorCode::kBadTarget, path, "expected at least one level, found none",
                       "a single place is [1]"};
      },
      [&] { return at_most(kMaxMeshLevels, machine.mesh.size(), "levels", path); },
      [&] { return each(machine.mesh, path, check_level); },
      [&] { return distinct_items(machine.mesh, path); }, [&] { return check_places(machine); });
}

}  // namespace

std::optional<Problem> first_problem(const Machine& machine) {
  return first_of([&] { return plain_name(machine.name, "/name"); },
                  [&] { return plain_text(machine.title, "/title"); },
                  [&] { return check_mesh(machine); },
                  [&] { return at_least(1, machine.clock_hz, "/clock_hz"); },
                  [&] { return check_memory(machine); }, [&] { return check_rules(machine); },
                  [&] { return check_dead(machine); }, [&] { return check_notes(machine); });
}

Status Machine::check() const {
  const std::optional<Problem> problem = first_problem(*this);
  if (!problem) return ok_status();
  return Error{problem->code, cat(problem->path, ": ", problem->message), std::nullopt,
               problem->help};
}

}  // namespace tessera::target

// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/fit.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/enumerate.h"

namespace tessera::target {

namespace {

constexpr std::int64_t kMaxMappedPlaces = std::int64_t{1} << 22;

bool is_mapped(const Layout& layout) {
  return layout.spec().device_map.kind() != DeviceMap::Kind::kIdentity;
}

/// The most virtual places that share one physical place.
std::int64_t layers(const Layout& layout) {
  const DeviceMap& map = layout.spec().device_map;
  if (map.kind() != DeviceMap::Kind::kFolded) return 1;
  return std::max<std::int64_t>(1, form_of(map, layout.mesh()).reach());
}

Checked aligned(std::int64_t bytes, const MemorySpace& space) {
  return Checked(ceil_div(bytes, space.align_bytes)) * space.align_bytes;
}

/// The largest share of a tensor that is distributed page by page over `owners` places or banks.
Result<std::int64_t> share_of_pages(const Layout& layout, const MemorySpace& space,
                                    std::int64_t owners) {
  const Shape& shape = layout.shape();
  const std::int64_t row =
      shape.rank() == 0 ? 1 : std::max<std::int64_t>(1, shape.extents().back());
  const std::int64_t page = layout.atom().is_tile() ? layout.atom().elements() : row;
  const std::optional<std::int64_t> bytes = layout.atom().bytes(page);
  const Checked page_bytes = bytes ? aligned(*bytes, space) : Checked(INT64_MAX) + 1;
  const std::int64_t pages = ceil_div(ceil_div(layout.slots(), page), owners);
  return (page_bytes * pages).value("a share of the pages");
}

/// The most shards of one device, if the machine has several: a mesh of the machine's rank lies on
/// it axis by axis, one of the rank of a device lies on one device, and any other is distributed
/// evenly.
std::int64_t shards_of_device(const Layout& layout, const Machine& machine) {
  const std::size_t device_rank = machine.mesh.back().extents.size();
  const Shape& mesh = layout.mesh();
  if (mesh.rank() == device_rank) return layout.places();
  if (mesh.rank() != machine.shape().rank()) return ceil_div(layout.places(), machine.devices());
  std::int64_t shards = 1;
  for (std::size_t axis = mesh.rank() - device_rank; axis < mesh.rank(); ++axis) {
    shards *= mesh[axis];
  }
  return shards;
}

/// What one owner of the memory space must hold.
Result<std::int64_t> held_by_one(const Layout& layout, const Machine& machine,
                                 const MemorySpace& space, std::int64_t shard_bytes) {
  switch (space.owner) {
    case MemorySpace::Owner::kPlace:
      return (Checked(shard_bytes) * layers(layout)).value("what one place holds");
    case MemorySpace::Owner::kShared:
      return (Checked(shard_bytes) * layout.places()).value("what all places hold");
    case MemorySpace::Owner::kBank:
      break;
  }
  if (is_mapped(layout)) {
    return (Checked(shard_bytes) * layers(layout)).value("what one bank holds");
  }
  if (layout.places() == 1) return share_of_pages(layout, space, *space.banks);
  return (Checked(shard_bytes) * ceil_div(shards_of_device(layout, machine), *space.banks))
      .value("what one bank holds");
}

void check_memory(Fit& fit) {
  const std::string held = cat(size_text(fit.held_bytes), " ", each_owner(fit.owner));
  if (fit.capacity_bytes && fit.held_bytes > *fit.capacity_bytes) {
    std::string message = cat(size_text(fit.held_bytes), " > ", size_text(*fit.capacity_bytes), " ",
                              each_owner(fit.owner));
    if (fit.usable_bytes != fit.capacity_bytes) {
      message += cat(" (", size_text(*fit.usable_bytes), " for data)");
    }
    fit.reasons.push_back({Misfit::Code::kExceedsMemory, std::move(message)});
    return;
  }
  if (!fit.usable_bytes || fit.held_bytes <= *fit.usable_bytes) return;
  std::string message = cat(held, " > the ", size_text(*fit.usable_bytes), " for data");
  if (fit.capacity_bytes) {
    message = cat(held, " fits the ", size_text(*fit.capacity_bytes), " of ", fit.space,
                  " but not the ", size_text(*fit.usable_bytes), " for data");
  }
  fit.reasons.push_back({Misfit::Code::kExceedsBudget, std::move(message)});
}

/// The mesh that the layout occupies: the physical mesh if it has a device map.
const Shape& mesh_of(const Layout& layout) {
  return is_mapped(layout) ? layout.spec().device_map.physical() : layout.mesh();
}

std::optional<std::string> too_large(const Layout& layout, const Machine& machine,
                                     std::int64_t dead) {
  const Shape& wanted = mesh_of(layout);
  const std::string_view mesh = is_mapped(layout) ? "a device map onto " : "a mesh of ";
  const Shape there = machine.shape();
  if (wanted.rank() == there.rank()) {
    for (std::size_t axis = 0; axis < there.rank(); ++axis) {
      if (wanted[axis] <= there[axis]) continue;
      return cat(mesh, wanted.to_string(), " > ", there.to_string(), " (axis ", axis, ": ",
                 wanted[axis], " > ", there[axis], ")");
    }
    return std::nullopt;
  }
  const std::int64_t working = there.elements() - dead;
  if (wanted.elements() <= working) return std::nullopt;
  return cat(mesh, wanted.elements(), " places > ", working, dead == 0 ? "" : " that work");
}

/// The row-major numbers, on the mesh of its device map, of all places that the layout occupies.
Result<std::vector<std::int64_t>> mapped_places(const Layout& layout) {
  const DeviceMap& map = layout.spec().device_map;
  std::vector<std::int64_t> numbers;
  if (map.kind() == DeviceMap::Kind::kTable) {
    for (const Place& place : map.places()) numbers.push_back(map.physical().linear(place));
  } else {
    if (layout.places() > kMaxMappedPlaces) {
      return Error{ErrorCode::kTooLarge,
                   cat("looking for dead places under ", layout.places(), " mapped places"),
                   std::nullopt, cat("at most ", kMaxMappedPlaces, " are examined")};
    }
    numbers.reserve(static_cast<std::size_t>(layout.places()));
    TESSERA_CHECK_OK(for_each_row(form_of(map, layout.mesh()), [&](const Row& row) {
      for (const Position& offset : row.offsets) {
        numbers.push_back(static_cast<std::int64_t>((row.base + offset).place));
      }
    }));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Status check_dead(const Layout& layout, const Machine& machine,
                  const std::vector<std::int64_t>& dead, Fit& fit) {
  const Shape& mesh = mesh_of(layout);
  const Shape there = machine.shape();
  if (dead.empty() || layout.places() == 0 || mesh.rank() != there.rank()) return ok_status();
  std::optional<std::vector<std::int64_t>> taken;  // empty if the whole mesh is occupied
  if (is_mapped(layout)) {
    TESSERA_TRY(taken, mapped_places(layout));
  }
  std::int64_t count = 0;
  Place first;
  for (const std::int64_t number : dead) {
    const Place place = there.delinear(number);
    if (!mesh.contains(place)) continue;
    if (taken && !std::binary_search(taken->begin(), taken->end(), mesh.linear(place))) continue;
    if (count == 0) first = place;
    ++count;
  }
  if (count == 0) return ok_status();
  fit.reasons.push_back(
      {Misfit::Code::kDeadPlaces,
       count == 1 ? cat("place ", bracketed(first), " under the mesh is dead")
                  : cat(count, " places under the mesh are dead, the first ", bracketed(first))});
  return ok_status();
}

Status check_mesh(const Layout& layout, const Machine& machine, Fit& fit) {
  if (fit.owner == MemorySpace::Owner::kBank) {
    const std::int64_t banks = *machine.find_space(fit.space)->banks * machine.devices();
    const std::int64_t wanted = is_mapped(layout) ? mesh_of(layout).elements() : 0;
    if (wanted > banks) {
      fit.reasons.push_back(
          {Misfit::Code::kMeshTooLarge, cat("a device map onto ", wanted, " banks > ", banks)});
    }
    return ok_status();
  }
  const std::vector<std::int64_t> dead = machine.dead_places();
  const auto dead_count = static_cast<std::int64_t>(dead.size());
  if (auto message = too_large(layout, machine, dead_count)) {
    fit.reasons.push_back({Misfit::Code::kMeshTooLarge, *std::move(message)});
  }
  return check_dead(layout, machine, dead, fit);
}

/// A layout without a mesh does not specify which places access the tensor; one with a mesh does.
void check_span(const Layout& layout, const Machine& machine, Fit& fit) {
  const std::optional<std::int64_t> limit = machine.rules.span_limit_bytes;
  if (!limit || fit.owner != MemorySpace::Owner::kShared || layout.mesh().rank() == 0) return;
  if (fit.shard_bytes <= *limit) return;
  fit.reasons.push_back(
      {Misfit::Code::kSpanTooLong,
       cat("a place spans ", size_text(fit.shard_bytes), " > ", size_text(*limit))});
}

std::optional<std::int64_t> needed_places(const Layout& layout, const Fit& fit) {
  const auto bytes = dtype_bytes(layout.atom().storage, layout.shape().elements());
  if (fit.owner != MemorySpace::Owner::kPlace || !fit.usable_bytes || !bytes) return std::nullopt;
  return std::max<std::int64_t>(1, ceil_div(*bytes, *fit.usable_bytes));
}

}  // namespace

std::string_view each_owner(MemorySpace::Owner owner) {
  switch (owner) {
    case MemorySpace::Owner::kPlace:
      return "per place";
    case MemorySpace::Owner::kBank:
      return "per bank";
    case MemorySpace::Owner::kShared:
      return "in total";
  }
  return "";
}

std::string_view misfit_name(Misfit::Code code) {
  switch (code) {
    case Misfit::Code::kExceedsMemory:
      return "exceeds_memory";
    case Misfit::Code::kExceedsBudget:
      return "exceeds_data_budget";
    case Misfit::Code::kMeshTooLarge:
      return "mesh_too_large";
    case Misfit::Code::kDeadPlaces:
      return "dead_places";
    case Misfit::Code::kSpanTooLong:
      return "span_too_long";
  }
  return "unknown";
}

std::optional<double> Fit::share_percent() const {
  if (!usable_bytes) return std::nullopt;
  return 100.0 * static_cast<double>(held_bytes) / static_cast<double>(*usable_bytes);
}

Result<Fit> fits(const Layout& layout, const Machine& machine, Spread spread) {
  TESSERA_CHECK_OK(machine.check());
  Fit fit;
  fit.layout_space = layout.spec().space;
  const MemorySpace* const named = machine.find_space(fit.layout_space);
  const MemorySpace& space = named != nullptr ? *named : machine.default_space();
  fit.space = space.name;
  fit.owner = space.owner;
  fit.capacity_bytes = space.bytes;
  fit.usable_bytes = space.data_bytes();
  TESSERA_TRY(fit.shard_bytes, aligned(layout.shard_bytes(), space).value("an aligned shard"));
  const bool dealt = spread == Spread::kInterleaved && layout.places() == 1 && !is_mapped(layout);
  if (dealt && space.owner == MemorySpace::Owner::kPlace) {
    const auto dead = static_cast<std::int64_t>(machine.dead_places().size());
    const std::int64_t working = std::max<std::int64_t>(1, machine.places() - dead);
    TESSERA_TRY(fit.held_bytes, share_of_pages(layout, space, working));
  } else {
    TESSERA_TRY(fit.held_bytes, held_by_one(layout, machine, space, fit.shard_bytes));
  }
  fit.needed_places = needed_places(layout, fit);
  check_memory(fit);
  if (!dealt) {
    TESSERA_CHECK_OK(check_mesh(layout, machine, fit));
  }
  check_span(layout, machine, fit);
  return fit;
}

std::string size_text(std::int64_t bytes) {
  constexpr std::array kUnits = {std::pair{30, std::string_view("GB")},
                                 std::pair{20, std::string_view("MB")},
                                 std::pair{10, std::string_view("KB")}};
  for (const auto& [power, unit] : kUnits) {
    const std::int64_t size = std::int64_t{1} << power;
    if (bytes != 0 && bytes % size == 0) return cat(bytes / size, " ", unit);
  }
  return cat(bytes, bytes == 1 ? " byte" : " bytes");
}

}  // namespace tessera::target

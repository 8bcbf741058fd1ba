// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/ways.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/moves/collective_ways.h"
#include "tessera/moves/endpoints.h"
#include "tessera/moves/exchange_figures.h"
#include "tessera/moves/place_work.h"
#include "tessera/moves/through_places.h"
#include "tessera/moves/through_routers.h"
#include "tessera/moves/traffic.h"
#include "tessera/moves/wafer_ways.h"
#include "tessera/reshard/reshard.h"

namespace tessera::moves {
namespace {

bool keeps_copies(const Placement& placement) {
  const Layout* const layout = placement.layout();
  if (layout == nullptr) return true;
  const std::vector<Fill>& fills = layout->form().fills;
  return std::any_of(fills.begin(), fills.end(), [](const Fill& fill) {
    return fill.kind == Fill::Kind::kReplicate && fill.count > 1;
  });
}

bool keeps_shares(const Placement& placement) {
  const Layout* const layout = placement.layout();
  if (layout == nullptr) return false;
  const std::vector<Fill>& fills = layout->form().fills;
  return std::any_of(fills.begin(), fills.end(), [](const Fill& fill) {
    return fill.kind == Fill::Kind::kPartial && fill.count > 1;
  });
}

class Pricer {
 public:
  Pricer(const MoveModel& model, const Ends& ends, Rates& rates)
      : model_(model),
        machine_(model.machine()),
        ends_(ends),
        rates_(rates),
        figures_(machine_, ends, rates),
        work_{PlaceWork(machine_, ends.memory_a, ends.memory_b)} {}

  Result<std::vector<Way>> ways() {
    const bool on_places = is_on_places(ends_.a, machine_, ends_.memory_a) &&
                           is_on_places(ends_.b, machine_, ends_.memory_b);
    if (!on_places) {
      TESSERA_TRY(const Traffic traffic,
                  endpoint_traffic(machine_, ends_.a, ends_.b, model_.routes()));
      TESSERA_TRY(const std::optional<reshard::Reshard> reshard, between_devices());
      if (!reshard) return network_ways(traffic, nullptr, {});
      return network_ways(traffic, &*reshard, banks_of_devices(*reshard));
    }
    TESSERA_TRY(const reshard::Reshard reshard,
                reshard::Reshard::make(ends_.a.placement, ends_.b.placement, model_.mesh()));
    if (reshard.physical().fabric) return fabric_ways(reshard);
    // Copies of A are chosen by coordinates; many copies of B are faster to count than to list.
    const bool counts = !keeps_copies(ends_.a.placement) && keeps_copies(ends_.b.placement);
    TESSERA_TRY(const Traffic traffic,
                counts ? endpoint_traffic(machine_, ends_.a, ends_.b, model_.routes())
                       : mesh_traffic(reshard));
    return network_ways(traffic, &reshard, {});
  }

 private:
  /// On a fabric of wavelets: the product form, however many places there are.
  Result<std::vector<Way>> fabric_ways(const reshard::Reshard& reshard) {
    TESSERA_TRY(const reshard::ReshardCost cost, reshard::cost_of(reshard));
    std::vector<Way> found;
    if (cost.messages == 0) {
      TESSERA_TRY(const bool nothing, nothing_changes());
      found.push_back({nothing ? "nothing" : "local", {}});
      if (nothing) return found;
    } else {
      figures_.use_network(0);
      TESSERA_TRY(found, wafer_exchanges(reshard, cost, rates_));
    }
    TESSERA_TRY(const std::int64_t local, reshard::busiest_local(reshard));
    for (Way& way : found) {
      add_relayout(rates_, ends_.memory_b, cost.local_bytes, reshard.bytes(local), way.steps);
    }
    const std::vector<std::string> used = rates_.take_used();
    for (Way& way : found) way.used = used;
    return found;
  }

  /// The reshard between devices, where both tensors are interleaved over the banks of each.
  Result<std::optional<reshard::Reshard>> between_devices() const {
    const target::MemorySpace& space = machine_.memory[ends_.memory_a];
    const bool banked = space.owner == target::MemorySpace::Owner::kBank && !space.at.empty();
    if (ends_.memory_a != ends_.memory_b || !banked || machine_.devices() == 1) {
      return std::optional<reshard::Reshard>();
    }
    reshard::PhysicalMesh mesh;
    TESSERA_TRY(mesh.mesh, devices_of(machine_));
    mesh.why_no_fabric = "devices are not places of a mesh of wavelets";
    TESSERA_TRY(reshard::Reshard made,
                reshard::Reshard::make(ends_.a.placement, ends_.b.placement, mesh));
    return std::optional(std::move(made));
  }

  MemberEnds banks_of_devices(const reshard::Reshard& reshard) const {
    MemberEnds banks;
    banks.first = EndpointNumbers(machine_).first(ends_.memory_a);
    banks.banks = *machine_.memory[ends_.memory_a].banks;
    const Layout* const layout = ends_.a.placement.layout();
    const std::int64_t elements =
        layout != nullptr ? page_elements(*layout) : ends_.a.placement.slots();
    banks.page_bytes = std::max<std::int64_t>(1, reshard.bytes(elements));
    return banks;
  }

  /// Through routers. `reshard` is between places or devices that are at `ends`; null where a
  /// memory is neither that of the places nor of devices.
  Result<std::vector<Way>> network_ways(const Traffic& traffic, const reshard::Reshard* reshard,
                                        const MemberEnds& ends) {
    const fabric::Topology* const routes = model_.routes();
    std::vector<Way> found;
    if (traffic.messages.empty()) {
      TESSERA_TRY(const bool nothing, nothing_changes());
      if (nothing || !is_banked(ends_.memory_b) || routes == nullptr) {
        found.push_back({nothing ? "nothing" : "local", {}});
        if (nothing) return found;
        add_relayout(rates_, ends_.memory_b, traffic.local_bytes, traffic.max_local_bytes,
                     found.back().steps);
        found.back().used = rates_.take_used();
        return found;
      }
    }
    if (routes == nullptr || !reached(traffic, *routes)) {
      rates_.lacks(routes == nullptr ? model_.why_no_routes() : figures_.unreached());
      found.push_back({"unknown", {}});
      found.back().steps.push_back(
          {Step::Kind::kExchange, std::nullopt, traffic.bytes, "", "", ""});
      return found;
    }
    tables_.emplace(model_.tables(), machine_, *routes);
    figures_.name_missing(*routes);
    if (keeps_shares(ends_.a.placement) && !keeps_shares(ends_.b.placement)) {
      work_.reduced_per_cycle =
          rates_.reduced_per_cycle(ends_.a.placement.atom().storage).value_or(0);
    }
    std::optional<ThroughPlaces> through;
    if (is_banked(ends_.memory_a) && is_banked(ends_.memory_b)) {
      through.emplace(machine_, *routes);
      work_.through = &*through;
    }
    for (const bool packed : {false, true}) {
      // Packing saves transactions, and nothing else; it takes processors on both sides.
      if (packed &&
          (!is_of_places(machine_, ends_.memory_a) || !is_of_places(machine_, ends_.memory_b)))
        continue;
      if (packed && found.front().network->dominated_by != fabric::Term::kIssue) continue;
      if (packed && traffic.in_one_piece()) continue;
      TESSERA_TRY(Way way, exchange(traffic, *routes, packed ? Manner::kPacked : Manner::kDirect));
      found.push_back(std::move(way));
    }
    TESSERA_CHECK_OK(add_through_routers(traffic, *routes, found));
    if (reshard != nullptr) {
      TESSERA_CHECK_OK(add_collectives(traffic, *reshard, ends, found));
    }
    return found;
  }

  /// Through all routers of a shared memory, where the nearest ones limit the exchange: what leaves
  /// the memory leaves its ports, and what enters it enters them.
  Status add_through_routers(const Traffic& traffic, const fabric::Topology& routes,
                             std::vector<Way>& found) {
    const fabric::Term term = found.front().network->dominated_by;
    if (term == fabric::Term::kMemory || term == fabric::Term::kLatency) return ok_status();
    for (const std::size_t memory : {ends_.memory_a, ends_.memory_b}) {
      if (is_of_places(machine_, memory) || machine_.memory[memory].at.empty()) continue;
      routers_ = ThroughRouters::of(
          machine_, memory, static_cast<std::int32_t>(EndpointNumbers(machine_).first(memory)));
      if (!routers_) continue;
      TESSERA_TRY(Way way, exchange(traffic, routes, Manner::kThroughRouters));
      found.push_back(std::move(way));
      return ok_status();
    }
    return ok_status();
  }

  Result<bool> nothing_changes() const { return is_same(machine_, ends_.a, ends_.b); }

  /// The algorithms of collectives. Their blocks are packed before the first round, each once
  /// however many places receive it, and what each place receives is unpacked after the last; pages
  /// in banks are sent as they are.
  Status add_collectives(const Traffic& traffic, const reshard::Reshard& reshard,
                         const MemberEnds& ends, std::vector<Way>& found) {
    TESSERA_TRY(const std::vector<CollectiveWay> ways,
                collective_ways(reshard, ends, work_, **tables_, machine_));
    const std::int64_t held = ends_.a.placement.allocated_bytes();
    for (const CollectiveWay& collective : ways) {
      Way way{collective.name, {}};
      const bool packs = ends.banks == 1 && !traffic.in_one_piece();
      add_relayout(rates_, ends_.memory_a, packs ? std::min(traffic.bytes, held) : 0,
                   std::min(traffic.max_sent_bytes, ends_.a.placement.shard_bytes()), way.steps);
      way.steps.push_back({Step::Kind::kExchange, rates_.seconds(collective.cycles),
                           collective.bytes, collective.name,
                           std::string(fabric::term_name(collective.dominated_by)),
                           collective.busiest, collective.cycles});
      if (!is_banked(ends_.memory_b)) {
        add_relayout(rates_, ends_.memory_b, (packs ? traffic.bytes : 0) + traffic.local_bytes,
                     (packs ? traffic.max_received_bytes : 0) + traffic.max_local_bytes, way.steps);
      }
      // Sent directly in one round, the messages may be those of the exchange itself.
      const bool known =
          collective.is_direct && std::any_of(found.begin(), found.end(), [&](const Way& other) {
            return total_cycles(other.steps) &&
                   total_cycles(other.steps) == total_cycles(way.steps);
          });
      if (known) {
        rates_.take_used();
        continue;
      }
      figures_.use_memories();
      for (const fabric::Travel& travel : collective.travels) {
        figures_.use_travel(travel);
        figures_.name_missing(travel, way);
      }
      way.used = rates_.take_used();
      found.push_back(std::move(way));
    }
    return ok_status();
  }

  bool is_banked(std::size_t memory) const {
    const target::MemorySpace& space = machine_.memory[memory];
    return space.owner == target::MemorySpace::Owner::kBank && !space.at.empty();
  }

  static bool reached(const Traffic& traffic, const fabric::Topology& routes) {
    return std::all_of(traffic.messages.begin(), traffic.messages.end(),
                       [&](const fabric::Message& message) {
                         return std::max(message.source, message.destination) < routes.endpoints();
                       });
  }

  /// How the messages of an exchange travel.
  enum class Manner : std::uint8_t { kDirect, kPacked, kThroughRouters };

  Result<Way> exchange(const Traffic& traffic, const fabric::Topology& routes, Manner manner) {
    std::vector<fabric::Message> messages = traffic.messages;
    const bool packed = manner == Manner::kPacked;
    if (packed) {
      for (fabric::Message& message : messages) message.transactions = 1;
    }
    if (work_.through != nullptr) {
      work_.through->apply(messages);
      work_.through->add_inside(ends_.memory_b, traffic.local_bytes, traffic.max_local_bytes,
                                messages);
    }
    if (manner == Manner::kThroughRouters) routers_->apply(messages);
    TESSERA_TRY(fabric::BestTravel best, (*tables_)->network.best(messages));
    figures_.use_travel(best.travel);
    figures_.use_memories();
    figures_.use_links_between_devices(routes, messages);
    const std::string name = work_.through != nullptr ? "through places"
                             : manner == Manner::kThroughRouters
                                 ? "through all routers"
                                 : cat(packed ? "packed " : "", name_of(best.travel));
    Way way{name, {}, std::move(best.cost)};
    figures_.name_missing(best.travel, way);
    const double memory = work_.places.memory_cycles(messages, **tables_);
    if (memory > way.network->cycles) {
      way.network->cycles = memory;
      way.network->dominated_by = fabric::Term::kMemory;
      way.network->busiest = machine_.memory[ends_.memory_b].name;
    }
    if (work_.reduced_per_cycle > 0) {
      way.network->cycles +=
          static_cast<double>(received_elements(traffic)) / work_.reduced_per_cycle;
    }
    const std::int64_t sent = packed ? traffic.bytes : 0;
    // What is sent is packed with what it goes with; what stays is copied only once, at the end.
    add_relayout(rates_, ends_.memory_a, sent, traffic.max_sent_bytes, way.steps);
    const std::int64_t bytes = traffic.bytes + (work_.through != nullptr ? traffic.local_bytes : 0);
    way.steps.push_back({Step::Kind::kExchange, rates_.seconds(way.network->cycles), bytes,
                         way.name, std::string(fabric::term_name(way.network->dominated_by)),
                         way.network->busiest, way.network->cycles});
    if (work_.through == nullptr) {
      add_relayout(rates_, ends_.memory_b, sent + traffic.local_bytes,
                   (packed ? traffic.max_received_bytes : 0) + traffic.max_local_bytes, way.steps);
    }
    way.used = rates_.take_used();
    return way;
  }

  /// Elements that the busiest place adds up.
  std::int64_t received_elements(const Traffic& traffic) const {
    const Placement& b = ends_.b.placement;
    const std::int64_t shard = std::max<std::int64_t>(1, b.shard_bytes());
    const auto share = static_cast<double>(traffic.max_received_bytes) / static_cast<double>(shard);
    return static_cast<std::int64_t>(share * static_cast<double>(b.slots()));
  }

  std::string name_of(const fabric::Travel& travel) const {
    const target::MeshLevel& level = machine_.mesh.back();
    if (travel.mechanism >= 0) {
      return level.mechanisms[static_cast<std::size_t>(travel.mechanism)].name;
    }
    const std::string& name = level.networks[static_cast<std::size_t>(travel.network)].name;
    return name.empty() ? "direct" : cat("direct over ", name);
  }

  const MoveModel& model_;
  const Machine& machine_;
  const Ends& ends_;
  Rates& rates_;
  ExchangeFigures figures_;
  RoundWork work_;
  std::optional<ThroughRouters> routers_;         ///< of a memory that has several
  std::optional<PriceTablesPool::Lease> tables_;  ///< where there are routes
};

}  // namespace

Result<std::vector<Way>> exchange_ways(const MoveModel& model, const Ends& ends, Rates& rates) {
  TESSERA_TRY(std::vector<Way> found, Pricer(model, ends, rates).ways());
  sort_stably(found, is_cheaper);
  return found;
}

}  // namespace tessera::moves

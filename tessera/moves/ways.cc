// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/ways.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/moves/collective_ways.h"
#include "tessera/moves/place_work.h"
#include "tessera/moves/through_places.h"
#include "tessera/moves/traffic.h"
#include "tessera/reshard/cost.h"
#include "tessera/reshard/schedules/schedule.h"

namespace tessera::moves {
namespace {

/// Copies inside places: nothing if there are none.
void add_relayout(Rates& rates, std::size_t memory, std::int64_t bytes, std::int64_t most,
                  std::vector<Step>& steps) {
  if (bytes == 0) return;
  const Timed time = rates.copy(memory, most);
  steps.push_back(
      {Step::Kind::kRelayout, time.seconds, bytes, "", time.term, time.busiest, time.cycles});
}

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
  /// On a fabric of wavelets: the product form, however many places there are. Where routes are
  /// static, the schedules for them; wavelets that carry their destination are only a bound then.
  Result<std::vector<Way>> fabric_ways(const reshard::Reshard& reshard) {
    TESSERA_TRY(const reshard::ReshardCost cost, reshard::cost_of(reshard));
    std::vector<Way> found;
    if (cost.messages == 0) {
      TESSERA_TRY(const bool nothing, nothing_changes());
      found.push_back({nothing ? "nothing" : "local", {}});
      if (nothing) return found;
    } else {
      use_network(0);
      TESSERA_TRY(found, fabric_exchanges(reshard, cost));
    }
    TESSERA_TRY(const std::int64_t local, reshard::busiest_local(reshard));
    for (Way& way : found) {
      add_relayout(rates_, ends_.memory_b, cost.local_bytes, reshard.bytes(local), way.steps);
    }
    const std::vector<std::string> used = rates_.take_used();
    for (Way& way : found) way.used = used;
    return found;
  }

  Result<std::vector<Way>> fabric_exchanges(const reshard::Reshard& reshard,
                                            const reshard::ReshardCost& cost) {
    const reshard::FabricCost& fabric = *cost.fabric;
    std::vector<Way> found;
    const auto add = [&](const std::string& name, std::int64_t cycles, std::string term) {
      found.push_back({name,
                       {{Step::Kind::kExchange, rates_.seconds(static_cast<double>(cycles)),
                         cost.bytes, name, std::move(term), "", static_cast<double>(cycles)}}});
    };
    if (!reshard.physical().fabric->static_routes) {
      const bool by_link =
          fabric.max_link_wavelets + fabric.longest_distance >= fabric.max_ramp_wavelets;
      add("header-routed", fabric.cycles, by_link ? "link" : "receive");
      return found;
    }
    TESSERA_TRY(const reshard::Schedules schedules, reshard::schedules_of(reshard));
    for (const reshard::ScheduleCost& schedule : schedules.costs) {
      const auto longest =
          std::max_element(schedule.phases.begin(), schedule.phases.end(),
                           [](const auto& x, const auto& y) { return x.cycles < y.cycles; });
      add(schedule.name(), schedule.cycles,
          longest == schedule.phases.end() ? "latency" : longest->name);
    }
    if (found.empty()) {
      std::string why;
      for (const reshard::LeftOut& left : schedules.left_out) {
        why += cat(why.empty() ? "" : "; ", left.name, ": ", left.why);
      }
      rates_.lacks(cat("a schedule of few colours (", why, ")"));
      found.push_back({"unknown", {}});
      found.back().steps.push_back({Step::Kind::kExchange, std::nullopt, cost.bytes, "", "", ""});
    }
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
      rates_.lacks(routes == nullptr ? model_.why_no_routes() : unreached());
      found.push_back({"unknown", {}});
      found.back().steps.push_back(
          {Step::Kind::kExchange, std::nullopt, traffic.bytes, "", "", ""});
      return found;
    }
    tables_.emplace(model_.tables(), machine_, *routes);
    name_missing(*routes);
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
      if (packed && (!is_of_places(ends_.memory_a) || !is_of_places(ends_.memory_b))) continue;
      if (packed && found.front().network->dominated_by != fabric::Term::kIssue) continue;
      if (packed && traffic.in_one_piece()) continue;
      TESSERA_TRY(Way way, exchange(traffic, *routes, packed));
      found.push_back(std::move(way));
    }
    if (reshard != nullptr) {
      TESSERA_CHECK_OK(add_collectives(traffic, *reshard, ends, found));
    }
    return found;
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
      use_memories();
      for (const fabric::Travel& travel : collective.travels) {
        use_travel(travel);
        name_missing(travel, way);
      }
      way.used = rates_.take_used();
      found.push_back(std::move(way));
    }
    return ok_status();
  }

  /// The memory without a router that the move uses.
  std::string unreached() const {
    for (const std::size_t memory : {ends_.memory_a, ends_.memory_b}) {
      const target::MemorySpace& space = machine_.memory[memory];
      if (space.owner == target::MemorySpace::Owner::kPlace || !space.at.empty()) continue;
      return cat("/memory/", memory, "/at: the routers at which ", space.name, " is reached");
    }
    return "/memory: the routers at which a memory is reached";
  }

  bool is_of_places(std::size_t memory) const {
    return machine_.memory[memory].owner == target::MemorySpace::Owner::kPlace;
  }
  bool is_banked(std::size_t memory) const {
    const target::MemorySpace& space = machine_.memory[memory];
    return space.owner == target::MemorySpace::Owner::kBank && !space.at.empty();
  }

  /// Names the bandwidths that an exchange needs and the machine does not give. It is priced
  /// without them: they limit nothing then.
  void name_missing(const fabric::Topology& routes) {
    const auto need = [&](std::size_t memory, const target::Bandwidth& bandwidth,
                          std::string_view field) {
      const target::MemorySpace& space = machine_.memory[memory];
      if (bandwidth.known() || (ends_.memory_a == ends_.memory_b && space.mixed.known())) return;
      rates_.lacks(cat("/memory/", memory, "/", field, ": how fast ", space.name, " is"));
    };
    need(ends_.memory_a, machine_.memory[ends_.memory_a].read, "read");
    need(ends_.memory_b, machine_.memory[ends_.memory_b].write, "write");
    for (std::int64_t n = 0; n < routes.networks(); ++n) {
      const std::string& why = routes.why_left_out(n);
      if (why.empty()) continue;
      rates_.lacks(cat("/mesh/", machine_.mesh.size() - 1, "/networks/", n, ": ", why));
    }
  }

  /// Names the figures that a mechanism lacks. They count as 0, or as those of a link, so a way
  /// that was not chosen would only be longer with them.
  void name_missing(const fabric::Travel& travel, Way& way) const {
    if (travel.mechanism < 0) return;
    const target::Mechanism& mechanism =
        machine_.mesh.back().mechanisms[static_cast<std::size_t>(travel.mechanism)];
    const auto figure = [&](const std::optional<double>& value, std::string_view field) {
      if (value) return;
      way.missing.push_back(cat("/mesh/", machine_.mesh.size() - 1, "/mechanisms/",
                                travel.mechanism, "/", field, ": of ", mechanism.name));
    };
    figure(mechanism.overhead_cycles, "overhead_cycles");
    figure(mechanism.issue_cycles, "issue_cycles");
    figure(mechanism.bytes_per_cycle, "bytes_per_cycle");
  }

  /// The figures of the memories that an exchange reads from and writes to.
  void use_memories() {
    const auto use = [&](std::size_t memory, const target::Bandwidth& bandwidth,
                         std::string_view field) {
      if (bandwidth.known()) rates_.uses(cat("/memory/", memory, "/", field));
    };
    use(ends_.memory_a, machine_.memory[ends_.memory_a].read, "read");
    use(ends_.memory_b, machine_.memory[ends_.memory_b].write, "write");
    for (const std::size_t memory : {ends_.memory_a, ends_.memory_b}) {
      if (!is_of_places(memory)) rates_.uses(cat("/memory/", memory, "/at"));
    }
  }

  /// The links between devices, if a message uses them.
  void use_links_between_devices(const fabric::Topology& routes,
                                 std::span<const fabric::Message> messages) {
    const auto device_of = [&](std::int32_t number) -> std::int64_t {
      const fabric::Endpoint end = routes.endpoint(number);
      if (end.kind == fabric::Endpoint::Kind::kPlace) {
        return number / (machine_.places() / machine_.devices());
      }
      if (end.kind == fabric::Endpoint::Kind::kShared) return 0;
      return end.number / *machine_.memory[static_cast<std::size_t>(end.memory)].banks;
    };
    const bool crosses =
        machine_.devices() > 1 &&
        std::any_of(messages.begin(), messages.end(), [&](const fabric::Message& message) {
          return device_of(message.source) != device_of(message.destination);
        });
    if (!crosses) return;
    for (std::size_t level = 0; level + 1 < machine_.mesh.size(); ++level) {
      rates_.uses(cat("/mesh/", level, "/gateways"));
      for (const char* figure :
           {"/hop_seconds", "/hop_cycles", "/bytes_per_second", "/bits_per_cycle", "/links"}) {
        rates_.uses(cat("/mesh/", level, "/networks/0", figure));
      }
    }
  }

  void use_network(std::size_t network) {
    const std::string path = cat("/mesh/", machine_.mesh.size() - 1, "/networks/", network);
    for (const char* figure : {"/hop_cycles", "/bits_per_cycle", "/ramp_cycles"}) {
      rates_.uses(path + figure);
    }
  }

  void use_travel(const fabric::Travel& travel) {
    use_network(static_cast<std::size_t>(travel.network));
    if (travel.mechanism < 0) return;
    rates_.uses(cat("/mesh/", machine_.mesh.size() - 1, "/mechanisms/", travel.mechanism));
  }

  static bool reached(const Traffic& traffic, const fabric::Topology& routes) {
    return std::all_of(traffic.messages.begin(), traffic.messages.end(),
                       [&](const fabric::Message& message) {
                         return std::max(message.source, message.destination) < routes.endpoints();
                       });
  }

  Result<Way> exchange(const Traffic& traffic, const fabric::Topology& routes, bool packed) {
    std::vector<fabric::Message> messages = traffic.messages;
    if (packed) {
      for (fabric::Message& message : messages) message.transactions = 1;
    }
    if (work_.through != nullptr) {
      work_.through->apply(messages);
      work_.through->add_inside(ends_.memory_b, traffic.local_bytes, traffic.max_local_bytes,
                                messages);
    }
    TESSERA_TRY(fabric::BestTravel best, (*tables_)->network.best(messages));
    use_travel(best.travel);
    use_memories();
    use_links_between_devices(routes, messages);
    const std::string name = work_.through != nullptr
                                 ? "through places"
                                 : cat(packed ? "packed " : "", name_of(best.travel));
    Way way{name, {}, std::move(best.cost)};
    name_missing(best.travel, way);
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
  RoundWork work_;
  std::optional<PriceTablesPool::Lease> tables_;  ///< where there are routes
};

}  // namespace

namespace {

std::optional<double> total(const std::vector<Step>& steps, std::optional<double> Step::* time) {
  double sum = 0;
  for (const Step& step : steps) {
    if (!(step.*time)) return std::nullopt;
    sum += *(step.*time);
  }
  return sum;
}

}  // namespace

std::optional<double> total_seconds(const std::vector<Step>& steps) {
  return total(steps, &Step::seconds);
}
std::optional<double> total_cycles(const std::vector<Step>& steps) {
  return total(steps, &Step::cycles);
}

bool is_cheaper(const Way& x, const Way& y) {
  const std::optional<double> seconds_x = total_seconds(x.steps);
  const std::optional<double> seconds_y = total_seconds(y.steps);
  if (seconds_x || seconds_y) return seconds_x && (!seconds_y || *seconds_x < *seconds_y);
  const std::optional<double> cycles_x = total_cycles(x.steps);
  const std::optional<double> cycles_y = total_cycles(y.steps);
  return cycles_x && (!cycles_y || *cycles_x < *cycles_y);
}

Result<std::vector<Way>> exchange_ways(const MoveModel& model, const Ends& ends, Rates& rates) {
  TESSERA_TRY(std::vector<Way> found, Pricer(model, ends, rates).ways());
  sort_stably(found, is_cheaper);
  return found;
}

}  // namespace tessera::moves

// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/simulate.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/fabric/colour_phases.h"
#include "tessera/fabric/colour_turns.h"
#include "tessera/fabric/drain.h"
#include "tessera/fabric/ideal_steering.h"
#include "tessera/fabric/message_order.h"
#include "tessera/fabric/processors.h"
#include "tessera/fabric/queue_network.h"
#include "tessera/fabric/static_phase.h"
#include "tessera/fabric/xy_trees.h"

namespace tessera::fabric {
namespace {

constexpr std::int64_t kMaxDelay = std::int64_t{1} << 30;
constexpr std::int64_t kMaxTreeBytes = std::int64_t{1} << 29;
constexpr std::int64_t kMaxTurns = std::int64_t{1} << 27;  // pairs of message and router

Status check_between(std::int64_t least, std::int64_t value, std::int64_t most,
                     std::string_view what) {
  if (value >= least && value <= most) return ok_status();
  return Error{ErrorCode::kOutOfRange,
               cat("expected ", what, " from ", least, " to ", most, ", found ", value),
               std::nullopt, cat("change ", what)};
}

Status check_options(const FabricMesh& mesh, const SimulateOptions& options) {
  TESSERA_CHECK_OK(check_between(1, options.queue_depth, 128, "queue_depth"));
  TESSERA_CHECK_OK(check_between(0, options.switch_cycles, kMaxDelay, "switch_cycles"));
  TESSERA_CHECK_OK(check_between(0, mesh.ramp_cycles, kMaxDelay, "ramp_cycles"));
  TESSERA_CHECK_OK(check_between(0, options.max_hops, UINT32_MAX, "max_hops"));
  if (mesh.wavelet_bits != 32) {
    return Error{ErrorCode::kNotSupported,
                 cat("wavelets of ", mesh.wavelet_bits, " bits are not simulated, only of 32"),
                 std::nullopt, "a wavelet carries one word of the payload"};
  }
  if (options.mode == FabricMode::kStatic && mesh.colours < 1) {
    return Error{ErrorCode::kNotSupported,
                 cat("static mode needs a colour, and the mesh has ", mesh.colours), std::nullopt,
                 "use the ideal mode"};
  }
  if (options.combine == nullptr) {
    return Error{ErrorCode::kOutOfRange, "no combine function is given", std::nullopt,
                 "set combine, for example to add_u32"};
  }
  return ok_status();
}

/// Rejects too much work in advance.
Status check_hops(const FabricMesh& mesh, const Traffic& traffic, std::int64_t max_hops) {
  const auto at = [&](std::int32_t node) { return RouterAt{node / mesh.cols, node % mesh.cols}; };
  std::vector<RouterAt> ends;
  Checked hops = 0;
  for (const FabricMessage& message : traffic.messages) {
    ends.clear();
    for (const std::int32_t node : traffic.destinations_of(message)) ends.push_back(at(node));
    hops += Checked(message.words) * tree_size(at(message.source), ends).links();
  }
  if (hops.saturated() <= max_hops) return ok_status();
  return Error{
      ErrorCode::kTooLarge,
      cat("the messages take ", hops.saturated(), " hops", hops.overflowed() ? " or more" : "",
          ", and at most ", max_hops, " are simulated"),
      std::nullopt, "raise max_hops, or simulate fewer words"};
}

/// The smallest rectangle of routers that contains all sources and destinations: XY routes do not
/// leave it.
struct Rectangle {
  RouterAt from;
  std::int32_t rows = 0;
  std::int32_t cols = 0;
};

/// The state of one simulation.
class Run {
 public:
  Run(const FabricMesh& mesh, const Traffic& traffic, const SimulateOptions& options,
      Processors processors)
      : mesh_(mesh),
        traffic_(traffic),
        options_(options),
        processors_(std::move(processors)),
        network_(options.queue_depth) {
    const auto nodes = static_cast<std::size_t>(mesh.nodes());
    answer_.links.resize(nodes * 4);
    answer_.ramp_in.resize(nodes);
    find_area();
  }

  Status run_ideal();
  Status run_static();
  Status run_turns();
  Simulation finish() &&;

 private:
  void find_area();
  RouterAt at(std::int32_t node) const {
    return {node / mesh_.cols - area_.from.row, node % mesh_.cols - area_.from.col};
  }
  std::vector<RouterAt> ends_of(const FabricMessage& message) const;
  /// Each message's tree, shared by messages with the same source and list of destinations.
  Result<std::vector<std::uint32_t>> plant_trees(bool unicasts);
  /// Adds the wavelets that an output passed to the load of its link or ramp; way = 5·router +
  /// port.
  void count(std::uint32_t way, std::int64_t passed);

  const FabricMesh& mesh_;
  const Traffic& traffic_;
  const SimulateOptions& options_;
  Processors processors_;
  QueueNetwork network_;
  Rectangle area_;
  XyTrees trees_;
  Simulation answer_;
};

void Run::find_area() {
  RouterAt least{mesh_.rows, mesh_.cols};
  RouterAt most{0, 0};
  const auto extend = [&](std::int32_t node) {
    const RouterAt position{node / mesh_.cols, node % mesh_.cols};
    least = {std::min(least.row, position.row), std::min(least.col, position.col)};
    most = {std::max(most.row, position.row), std::max(most.col, position.col)};
  };
  for (const FabricMessage& message : traffic_.messages) {
    extend(message.source);
    for (const std::int32_t node : traffic_.destinations_of(message)) extend(node);
  }
  area_ = {least, most.row - least.row + 1, most.col - least.col + 1};
}

std::vector<RouterAt> Run::ends_of(const FabricMessage& message) const {
  std::vector<RouterAt> ends;
  for (const std::int32_t node : traffic_.destinations_of(message)) ends.push_back(at(node));
  return ends;
}

Result<std::vector<std::uint32_t>> Run::plant_trees(bool unicasts) {
  std::map<std::pair<std::int32_t, std::vector<std::int32_t>>, std::uint32_t> known;
  std::vector<std::uint32_t> tree_of(traffic_.messages.size());
  std::vector<std::size_t> firsts;  // the first message of each tree
  TreeSize size;
  for (std::size_t m = 0; m < traffic_.messages.size(); ++m) {
    const FabricMessage& message = traffic_.messages[m];
    if (!unicasts && message.destinations.count == 1) continue;
    const auto list = traffic_.destinations_of(message);
    const auto [entry, is_new] =
        known.try_emplace({message.source, std::vector<std::int32_t>(list.begin(), list.end())},
                          static_cast<std::uint32_t>(firsts.size()));
    tree_of[m] = entry->second;
    if (!is_new) continue;
    firsts.push_back(m);
    size += tree_size(at(message.source), ends_of(message));
    if (size.bytes() <= kMaxTreeBytes) continue;
    return Error{
        ErrorCode::kTooLarge,
        cat("the trees of ", firsts.size(), " of ", traffic_.messages.size(), " messages have ",
            size.cells, " routers and take more than ", kMaxTreeBytes, " bytes"),
        std::nullopt, "simulate fewer messages at a time"};
  }
  trees_.reserve(size);
  for (const std::size_t m : firsts) {
    trees_.add(at(traffic_.messages[m].source), ends_of(traffic_.messages[m]));
  }
  return tree_of;
}

void Run::count(std::uint32_t way, std::int64_t passed) {
  const auto router = static_cast<std::int32_t>(way / IdealSteering::kPorts);
  const std::uint32_t port = way % IdealSteering::kPorts;
  const auto node = static_cast<std::size_t>(
      mesh_.node(router / area_.cols + area_.from.row, router % area_.cols + area_.from.col));
  if (port == static_cast<std::uint32_t>(Port::kRamp)) {
    answer_.ramp_in[node] += passed;
  } else {
    answer_.links[node * 4 + port] += passed;
    answer_.hops += passed;
  }
}

Status Run::run_ideal() {
  TESSERA_TRY(const std::vector<std::uint32_t> tree_of, plant_trees(false));
  std::vector<RouterAt> sources;
  std::vector<IdealRoute> routes;
  for (std::size_t m = 0; m < traffic_.messages.size(); ++m) {
    const FabricMessage& message = traffic_.messages[m];
    sources.push_back(at(message.source));
    routes.push_back(message.destinations.count > 1
                         ? IdealRoute::along(tree_of[m])
                         : IdealRoute::to(at(traffic_.destinations_of(message)[0])));
  }
  const IdealSteering steering(area_.rows, area_.cols, trees_, sources, routes);
  network_.reset(steering.outputs(), steering.queues(), steering.shift());
  std::vector<std::uint32_t> all(traffic_.messages.size());
  std::iota(all.begin(), all.end(), 0U);
  processors_.begin(std::move(all));
  const auto destination = [&](QueueAt from, std::uint32_t message) {
    return steering.destination(from, message);
  };
  TESSERA_CHECK_OK(drain(processors_, network_, steering, destination, mesh_.ramp_cycles));
  for (std::uint32_t o = 0; o < network_.outputs().size(); ++o) {
    const std::uint32_t passed = network_.outputs()[o].passed;
    if (passed > 0) count(steering.router(o) * IdealSteering::kPorts + steering.port(o), passed);
  }
  answer_.phases = 1;
  return ok_status();
}

Status Run::run_static() {
  TESSERA_TRY(const std::vector<std::uint32_t> tree_of, plant_trees(true));
  TESSERA_TRY(const std::vector<std::uint32_t> order, message_order(traffic_));
  const std::int64_t budget =
      std::min(mesh_.colours, static_cast<std::int64_t>(kMaxQueuesAtOutput));
  TESSERA_TRY(const ColourPhases dealt,
              deal_to_phases(traffic_, order, trees_, tree_of, area_.rows, area_.cols, budget));
  answer_.phases = dealt.phases;
  answer_.colours = dealt.colours;
  std::vector<std::vector<std::uint32_t>> messages(static_cast<std::size_t>(dealt.phases));
  for (std::uint32_t m = 0; m < tree_of.size(); ++m) {
    const PhaseColour& given = dealt.messages[m];
    messages[static_cast<std::size_t>(given.phase)].push_back(m);
    processors_.times()[m].phase = given.phase;
    processors_.times()[m].colour = given.colour;
  }

  std::vector<std::uint32_t> place(trees_.count());  // position of a tree among those of the phase
  std::vector<std::int32_t> placed_in(trees_.count(), -1);
  for (std::int32_t phase = 0; phase < dealt.phases; ++phase) {
    std::vector<std::uint32_t>& of_phase = messages[static_cast<std::size_t>(phase)];
    std::vector<ColouredTree> trees;
    for (const std::uint32_t m : of_phase) {
      const std::uint32_t tree = tree_of[m];
      if (placed_in[tree] == phase) continue;
      placed_in[tree] = phase;
      place[tree] = static_cast<std::uint32_t>(trees.size());
      trees.push_back({tree, dealt.messages[m].colour});
    }
    struct Steering {
      const StaticPhase& routes;
      const std::vector<std::uint32_t>& tree_of;
      const std::vector<std::uint32_t>& place;
      int next(QueueAt from, Wavelet wavelet, QueueAt* targets) const {
        return routes.next(from, wavelet, targets);
      }
      int first(std::uint32_t message, QueueAt* targets) const {
        return routes.first(place[tree_of[message]], targets);
      }
    };
    const StaticPhase routes(trees_, area_.cols, trees);
    network_.reset(routes.outputs(), routes.queues());
    const std::int64_t start =
        phase == 0 ? 0 : processors_.last_delivery() + 1 + options_.switch_cycles;
    processors_.begin(std::move(of_phase));
    const auto destination = [&](QueueAt from, std::uint32_t) {
      return routes.destination(from.queue);
    };
    Steering steering{routes, tree_of, place};
    TESSERA_CHECK_OK(
        drain(processors_, network_, steering, destination, start + mesh_.ramp_cycles));
    for (std::size_t o = 0; o < network_.outputs().size(); ++o) {
      count(routes.way(o), network_.outputs()[o].passed);
    }
  }
  return ok_status();
}

Status Run::run_turns() {
  TESSERA_TRY(const std::vector<std::uint32_t> tree_of, plant_trees(true));
  std::int64_t marks = 0;
  for (const std::uint32_t tree : tree_of) marks += static_cast<std::int64_t>(trees_.cells(tree));
  if (marks > kMaxTurns) {
    return Error{ErrorCode::kTooLarge,
                 cat("messages take ", marks, " turns at routers, more than ", kMaxTurns),
                 std::nullopt, "simulate fewer messages at a time"};
  }
  ColourTurns turns(traffic_, trees_, tree_of, area_.cols);
  network_.reset(turns.outputs(), turns.queues());
  std::vector<std::uint32_t> all(traffic_.messages.size());
  std::iota(all.begin(), all.end(), 0U);
  processors_.begin(std::move(all));
  const auto destination = [&](QueueAt from, std::uint32_t message) {
    return turns.destination(from, message);
  };
  TESSERA_CHECK_OK(drain(processors_, network_, turns, destination, mesh_.ramp_cycles));
  if (processors_.undelivered() > 0) {
    return Error{ErrorCode::kNotSupported,
                 cat(processors_.undelivered(), " words were not delivered"), std::nullopt,
                 "this is a bug in the simulator: please report it"};
  }
  for (std::size_t o = 0; o < network_.outputs().size(); ++o) {
    count(turns.way(o), network_.outputs()[o].passed);
  }
  for (std::size_t m = 0; m < traffic_.messages.size(); ++m) {
    processors_.times()[m].colour = traffic_.messages[m].colour;
  }
  answer_.phases = 1;
  answer_.colours = turns.colours();
  return ok_status();
}

Simulation Run::finish() && {
  answer_.messages = std::move(processors_.times());
  answer_.ramp_out = processors_.ramp_out();
  std::int64_t first = processors_.last_delivery();
  for (const MessageTimes& times : answer_.messages) first = std::min(first, times.first_departure);
  answer_.cycles = processors_.last_delivery() - first + 1;
  return std::move(answer_);
}

}  // namespace

std::uint32_t add_u32(std::uint32_t own, std::uint32_t received) { return own + received; }

std::uint32_t add_f32(std::uint32_t own, std::uint32_t received) {
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(own) + std::bit_cast<float>(received));
}

Result<Simulation> simulate(const FabricMesh& mesh, const Traffic& traffic,
                            const SimulateOptions& options, const Sink& sink) {
  TESSERA_CHECK_OK(check_options(mesh, options));
  TESSERA_CHECK_OK(traffic.check(mesh));
  if (traffic.messages.empty()) {
    Simulation nothing;
    const auto nodes = static_cast<std::size_t>(mesh.nodes());
    nothing.links.resize(nodes * 4);
    nothing.ramp_in.resize(nodes);
    nothing.ramp_out.resize(nodes);
    return nothing;
  }
  TESSERA_CHECK_OK(check_hops(mesh, traffic, options.max_hops));
  TESSERA_TRY(Processors processors, Processors::make(mesh, traffic, options, sink));
  Run run(mesh, traffic, options, std::move(processors));
  bool named = false;
  if (options.mode == FabricMode::kStatic) {
    TESSERA_TRY(named, names_colours(mesh, traffic));
  }
  TESSERA_CHECK_OK(options.mode == FabricMode::kIdeal ? run.run_ideal()
                   : named                            ? run.run_turns()
                                                      : run.run_static());
  return std::move(run).finish();
}

}  // namespace tessera::fabric

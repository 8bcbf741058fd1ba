// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/fitting_step.h"

#include <algorithm>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/layout/regions.h"
#include "tessera/memory/mesh/place_loads.h"
#include "tessera/run/memory_plan.h"

namespace tessera::run {
namespace {

constexpr std::int64_t kMostPanels = 1024;

/// When buffers that exist already are needed, to take back what a step that is not chosen changes.
struct Lifetimes {
  explicit Lifetimes(const Execution& made, const graph::Node& node) : count(made.buffers.size()) {
    for (const std::vector<graph::ValueId>* values : {&node.inputs, &node.outputs}) {
      for (const graph::ValueId v : *values) {
        if (v != graph::kAbsent) kept.push_back({v, made.buffers[v].from, made.buffers[v].to});
      }
    }
  }
  void restore(Execution& made) const {
    made.buffers.erase(made.buffers.begin() + static_cast<std::ptrdiff_t>(count),
                       made.buffers.end());
    for (const Kept& each : kept) {
      made.buffers[each.buffer].from = each.from;
      made.buffers[each.buffer].to = each.to;
    }
  }

  struct Kept {
    BufferNumber buffer = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
  };
  std::size_t count;
  std::vector<Kept> kept = {};
};

}  // namespace

Result<FittingSteps> FittingSteps::make(const Execution& made,
                                        const std::vector<std::size_t>& order,
                                        bool may_divide_otherwise) {
  FittingSteps steps;
  steps.order_ = order;
  steps.may_divide_otherwise_ = may_divide_otherwise;
  const target::MemorySpace* const space = made.machine.find_space(made.machine.data_space);
  if (space == nullptr || space->owner != target::MemorySpace::Owner::kPlace) return steps;
  steps.capacity_ = space->data_bytes();
  if (!steps.capacity_) return steps;
  const std::size_t values = made.graph.values.size();
  const auto end = static_cast<std::int64_t>(order.size());
  steps.made_at_.assign(values, -1);
  steps.last_read_.assign(values, -1);
  for (std::size_t k = 0; k < order.size(); ++k) {
    const graph::Node& node = made.graph.nodes[order[k]];
    for (const graph::ValueId v : node.inputs) {
      if (v != graph::kAbsent) steps.last_read_[v] = static_cast<std::int64_t>(k);
    }
    for (const graph::ValueId v : node.outputs) steps.made_at_[v] = static_cast<std::int64_t>(k);
  }
  for (const graph::ValueId v : made.graph.outputs) steps.last_read_[v] = end;
  for (std::size_t v = 0; v < values; ++v) {
    const graph::Kind kind = made.graph.values[v].kind;
    const bool stays = kind == graph::Kind::kParameter || kind == graph::Kind::kConstant;
    if (stays) steps.last_read_[v] = end;
    std::int64_t bytes = 0;
    if (made.buffers[v].space == space->name) {
      TESSERA_TRY(bytes, bytes_of(made.buffers[v], made.machine));
    }
    steps.value_bytes_.push_back(bytes);
  }
  return steps;
}

/// The bytes of the fullest place that has a buffer of the step that was just made, at the fullest
/// moment of the step.
Result<std::int64_t> FittingSteps::need(const Execution& made, std::size_t number) const {
  const auto at = static_cast<std::int64_t>(number);
  const graph::Node& node = made.graph.nodes[order_[number]];
  std::int64_t most = 0;
  std::vector<memory::PlaceLoad> loads;
  for (std::int64_t moment = 4 * at; moment < 4 * at + 4; ++moment) {
    loads.clear();
    for (std::size_t v = 0; v < value_bytes_.size(); ++v) {
      if (made_at_[v] > at || (made_at_[v] == at && made.buffers[v].from > moment)) continue;
      const bool is_live = last_read_[v] > at || made.buffers[v].to > moment;
      if (is_live) loads.push_back({made.buffers[v].places, value_bytes_[v]});
    }
    std::vector<Box> touched;
    for (std::size_t b = value_bytes_.size(); b < made.buffers.size(); ++b) {
      const Buffer& buffer = made.buffers[b];
      if (buffer.from > moment || buffer.to <= moment) continue;
      if (buffer.space != made.machine.data_space) continue;
      TESSERA_TRY(const std::int64_t bytes, bytes_of(buffer, made.machine));
      loads.push_back({buffer.places, bytes});
      touched.push_back(buffer.places);
    }
    for (const std::vector<graph::ValueId>* values : {&node.inputs, &node.outputs}) {
      for (const graph::ValueId v : *values) {
        if (v != graph::kAbsent && value_bytes_[v] > 0) touched.push_back(made.buffers[v].places);
      }
    }
    for (const Box& places : touched) {
      most = std::max(most, memory::fullest_place_in(places, loads).bytes);
    }
  }
  return most;
}

Result<Step> FittingSteps::step(Execution& made, std::size_t number) const {
  const std::size_t node = order_[number];
  const Lifetimes before(made, made.graph.nodes[node]);
  const auto with = [&](StepChoice choice) -> Result<Step> {
    before.restore(made);
    return StepCompiler(made, node, static_cast<std::int64_t>(number), choice).step(nullptr);
  };
  if (!capacity_) return with({});
  std::optional<StepChoice> best;
  std::int64_t least = 0;
  for (std::int64_t panels = 1; panels <= kMostPanels; panels *= 2) {
    bool is_cut = panels == 1;
    std::vector<StepChoice> choices = {{false, panels, true}, {true, panels, true}};
    if (panels == 1) choices.insert(choices.begin(), {{false, 1, false}, {true, 1, false}});
    for (const StepChoice& choice : choices) {
      Result<Step> step = with(choice);
      if (!step) {
        if (!best && choice.parts && choice.largest_first) return step.error();
        continue;
      }
      const bool has_panels = step->panels && std::ssize(step->panels->bring) * 2 > panels;
      if (panels > 1 && !has_panels) continue;
      is_cut = true;
      TESSERA_TRY(const std::int64_t bytes, need(made, number));
      if (bytes <= *capacity_) return step;
      if (!may_divide_otherwise_) {
        return Error{
            ErrorCode::kDoesNotFit,
            cat(graph::node_text(made.graph, made.graph.nodes[node]), " needs ", bytes,
                " bytes of each part of ", made.machine.data_space, ", which has ", *capacity_)};
      }
      if (best && bytes >= least) continue;
      best = choice;
      least = bytes;
    }
    if (!is_cut) break;
  }
  return with(*best);
}

}  // namespace tessera::run

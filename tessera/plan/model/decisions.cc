// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/decisions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/ops/propagate.h"
#include "tessera/plan/model/candidates.h"
#include "tessera/run/common_mesh.h"
#include "tessera/run/predict.h"

namespace tessera::plan {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// The layouts in which shares may be kept once they are combined: on the first of the places that
/// have one, or on all of them. The layout itself if it has no shares.
std::vector<Layout> combined(const Layout& layout) {
  if (ops::partial_axes(layout).empty()) return {layout};
  std::vector<Layout> list;
  for (const bool on_all : {false, true}) {
    LayoutSpec spec = layout.spec();
    for (Fill& fill : spec.form.fills) {
      if (fill.kind != Fill::Kind::kPartial) continue;
      fill =
          on_all ? Fill::replicate(fill.axis, fill.count, fill.stride) : Fill::fixed(fill.axis, 0);
    }
    Result<Layout> made = Layout::make(std::move(spec));
    if (made) list.push_back(*std::move(made));
  }
  return list;
}

/// Layouts of a value with how many work maps would make or read them in place.
class Votes {
 public:
  void add(LayoutNumber number, int votes = 1) {
    const auto [found, is_new] = votes_.try_emplace(number, 0);
    if (is_new) order_.push_back(number);
    found->second += votes;
  }
  bool empty() const { return order_.empty(); }
  /// Those with the most votes, in the order in which they were added.
  std::vector<LayoutNumber> best(std::size_t most) const {
    std::vector<LayoutNumber> list = order_;
    sort_stably(list, [&](LayoutNumber a, LayoutNumber b) { return votes_.at(a) > votes_.at(b); });
    if (list.size() > most) list.resize(std::max<std::size_t>(most, 1));
    return list;
  }

 private:
  std::map<LayoutNumber, std::int64_t> votes_;
  std::vector<LayoutNumber> order_;
};

constexpr int kAlways = 1 << 20;

}  // namespace

Status Decisions::find_classes() {
  std::set<std::string> missing;
  std::optional<Error> first;
  for (const graph::Node& node : graph_->nodes) {
    std::size_t c = 0;
    while (c < classes_.size() && !classes_[c].matches(*graph_, node)) ++c;
    if (c == classes_.size()) {
      Result<OpClass> made = OpClass::make(*graph_, node, *machine_);
      if (!made) {
        missing.insert(std::string(node.op.name()));
        if (!first) first = made.error();
        continue;
      }
      classes_.push_back(*std::move(made));
    }
    class_of_.push_back(c);
  }
  if (!first) return ok_status();
  if (missing.size() > 1) {
    const std::vector<std::string> names(missing.begin(), missing.end());
    first->message += cat("; ops of the model that cannot be planned: ", join(names, ", "));
  }
  return *first;
}

void Decisions::add_work(const PlanOptions& options, const run::Execution* standard) {
  for (OpClass& each : classes_) {
    for (const Division& division : divisions_of(each.loops(), *machine_, options.most_work)) {
      const Result<ops::WorkMap> work = work_map(each.loops(), division);
      if (work) (void)each.add(*work);
    }
  }
  if (standard == nullptr) return;
  for (const run::Step& step : standard->steps) {
    (void)classes_[class_of_[step.node]].add(step.work);
  }
}

/// Leaves out work that takes longer than a plan that is known to fit, even if all other ops take
/// as little as they can.
void Decisions::prune_work(double most_cycles) {
  const auto least_of = [](const OpClass& each) {
    double least = kImpossible;
    for (const WorkCandidate& work : each.candidates())
      least = std::min(least, work.compute_cycles);
    return least;
  };
  double all = 0;
  for (const std::size_t c : class_of_) all += least_of(classes_[c]);
  for (const std::size_t c : class_of_) {
    const double least = least_of(classes_[c]);
    std::vector<std::size_t> kept;
    for (std::size_t w = 0; w < classes_[c].candidates().size(); ++w) {
      const double cycles = classes_[c].candidates()[w].compute_cycles;
      if (cycles == least || all - least + cycles <= most_cycles) kept.push_back(w);
    }
    work_.push_back(std::move(kept));
  }
}

bool Decisions::fits(LayoutNumber number) const {
  const target::MemorySpace* const space = machine_->find_space(table_.space(number));
  const std::optional<std::int64_t> capacity = space->data_bytes();
  return !capacity || table_.bytes(number) <= *capacity;
}

Status Decisions::add_layouts(const PlanOptions& options, const run::Execution* standard) {
  std::vector<Votes> votes(values());
  std::vector<bool> is_pinned(values());
  for (std::size_t v = 0; v < values(); ++v) {
    if (v >= options.pins.size() || !options.pins[v]) continue;
    is_pinned[v] = true;
    Result<LayoutNumber> number = table_.add(*options.pins[v]);
    if (!number) {
      Error error = number.error();
      error.message = cat("the layout of '", graph_->values[v].name, "': ", error.message);
      return error;
    }
    votes[v].add(*number, kAlways);
  }
  const auto add = [&](graph::ValueId v, const Layout& layout, int count) {
    if (is_pinned[v]) return;
    const Result<LayoutNumber> number = table_.add(layout);
    if (number && fits(*number)) votes[v].add(*number, count);
  };
  if (standard != nullptr) {
    for (std::size_t v = 0; v < values(); ++v) {
      LayoutSpec spec = standard->buffers[v].layout.spec();
      spec.space = standard->buffers[v].space;
      const Result<Layout> layout = Layout::make(std::move(spec));
      if (layout) add(static_cast<graph::ValueId>(v), *layout, kAlways);
    }
  }
  // On one place, in each memory.
  for (std::size_t v = 0; v < values(); ++v) {
    const graph::TensorType& type = graph_->values[v].type;
    TESSERA_TRY(const Layout flat, Layout::row_major(type.shape, type.dtype));
    for (const target::MemorySpace& space : machine_->memory) {
      LayoutSpec spec = flat.spec();
      spec.space = space.name;
      const Result<Layout> layout = Layout::make(std::move(spec));
      if (layout) add(static_cast<graph::ValueId>(v), *layout, kAlways);
    }
  }
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    const graph::Node& node = graph_->nodes[n];
    const OpClass& each = class_of(n);
    for (const std::size_t w : work_[n]) {
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        for (const Layout& layout : combined(each.candidates()[w].results[o])) {
          add(node.outputs[o], layout, 1);
        }
      }
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == graph::kAbsent) continue;
        const std::optional<Layout> layout = each.wanted(w, i);
        if (layout) add(node.inputs[i], *layout, 1);
      }
    }
  }
  for (std::size_t v = 0; v < values(); ++v) {
    if (votes[v].empty()) {
      return Error{ErrorCode::kDoesNotFit,
                   cat("value '", graph_->values[v].name, "' of ",
                       graph_->values[v].type.to_string(), " fits no memory of ", machine_->name,
                       " in any layout that the ops around it can use"),
                   std::nullopt, "use a machine with more places or memory"};
    }
    layouts_.push_back(votes[v].best(options.most_layouts));
  }
  return ok_status();
}

PhasePrice Decisions::bring(std::size_t node, std::size_t input, std::int64_t work,
                            std::int64_t layout) {
  const graph::ValueId v = graph_->nodes[node].inputs[input];
  return classes_[class_of_[node]].bring(work_[node][static_cast<std::size_t>(work)], input,
                                         layouts_[v][static_cast<std::size_t>(layout)], table_,
                                         prices_);
}

PhasePrice Decisions::settle(std::size_t node, std::size_t output, std::int64_t work,
                             std::int64_t layout) {
  const graph::ValueId v = graph_->nodes[node].outputs[output];
  return classes_[class_of_[node]].settle(work_[node][static_cast<std::size_t>(work)], output,
                                          layouts_[v][static_cast<std::size_t>(layout)], table_,
                                          prices_);
}

double Decisions::compute(std::size_t node, std::int64_t work) const {
  return class_of(node).candidates()[work_[node][static_cast<std::size_t>(work)]].compute_cycles;
}

std::int64_t Decisions::copied_bytes(std::size_t node, std::int64_t work, const Choice& choice) {
  const graph::Node& each = graph_->nodes[node];
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < each.inputs.size(); ++i) {
    if (each.inputs[i] == graph::kAbsent || !class_of(node).reads(i)) continue;
    sum += bring(node, i, work, choice[each.inputs[i]]).copied_bytes;
  }
  for (std::size_t o = 0; o < each.outputs.size(); ++o) {
    sum += settle(node, o, work, choice[each.outputs[o]]).copied_bytes;
  }
  return sum;
}

/// Makes the problem of choose/: decisions, edges, lives and sizes.
Status Decisions::price() {
  const std::size_t nodes = graph_->nodes.size();
  const target::MemorySpace& space = machine_->default_space();
  const auto end = static_cast<std::int64_t>(std::max<std::size_t>(4 * nodes, 1));
  problem_.usage_limit = space.data_bytes();
  // Moments are those of run/: step k has 4k .. 4k + 3.
  for (std::size_t v = 0; v < values(); ++v) {
    choose::Node each;
    const graph::Kind kind = graph_->values[v].kind;
    const bool stays = kind == graph::Kind::kParameter || kind == graph::Kind::kConstant;
    each.life = {0, stays ? end : 1};
    for (const LayoutNumber number : layouts_[v]) {
      each.costs.push_back(0);
      each.usages.push_back(table_.space(number) == space.name ? table_.bytes(number) : 0);
    }
    problem_.nodes.push_back(std::move(each));
  }
  double most = 0;
  struct Priced {
    std::size_t a = 0;
    std::size_t b = 0;
    std::vector<double> cycles;
  };
  std::vector<Priced> edges;
  for (std::size_t n = 0; n < nodes; ++n) {
    const graph::Node& node = graph_->nodes[n];
    const auto moment = static_cast<std::int64_t>(4 * n);
    for (const graph::ValueId v : node.outputs) problem_.nodes[v].life = {moment + 1, moment + 4};
    for (const graph::ValueId v : node.inputs) {
      if (v == graph::kAbsent) continue;
      std::int64_t& to = problem_.nodes[v].life.to;
      to = std::max(to, moment + 1);
    }
    const auto price_edge = [&](graph::ValueId v, const auto& cycles_of) -> Status {
      Priced edge{values() + n, v, {}};
      double dearest = 0;
      bool any = false;
      for (std::size_t w = 0; w < work_[n].size(); ++w) {
        for (std::size_t l = 0; l < layouts_[v].size(); ++l) {
          const PhasePrice price =
              cycles_of(static_cast<std::int64_t>(w), static_cast<std::int64_t>(l));
          edge.cycles.push_back(price.cycles.value_or(kImpossible));
          if (!price.cycles) continue;
          any = true;
          dearest = std::max(dearest, *price.cycles);
        }
      }
      if (!any) {
        return Error{
            ErrorCode::kNotSupported,
            cat(graph::node_text(*graph_, node), ": no way to have '", graph_->values[v].name,
                "' where it is needed on ", machine_->name, " has a price"),
            std::nullopt, "tessera reshard --target names figures that are missing"};
      }
      most += dearest;
      edges.push_back(std::move(edge));
      return ok_status();
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == graph::kAbsent || !class_of(n).reads(i)) continue;
      TESSERA_CHECK_OK(price_edge(
          node.inputs[i], [&](std::int64_t w, std::int64_t l) { return bring(n, i, w, l); }));
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      TESSERA_CHECK_OK(price_edge(
          node.outputs[o], [&](std::int64_t w, std::int64_t l) { return settle(n, o, w, l); }));
    }
    double slowest = 0;
    for (std::size_t w = 0; w < work_[n].size(); ++w) {
      slowest = std::max(slowest, compute(n, static_cast<std::int64_t>(w)));
    }
    most += slowest;
  }
  for (const graph::ValueId v : graph_->outputs) problem_.nodes[v].life.to = end;
  while (most * units_per_cycle_ > 1e17 && units_per_cycle_ > 1e-12) units_per_cycle_ /= 1024;
  const auto units = [&](double cycles) -> std::int64_t {
    return cycles == kImpossible ? choose::kForbidden : std::llround(cycles * units_per_cycle_);
  };
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto moment = static_cast<std::int64_t>(4 * n);
    choose::Node each;
    each.life = {moment, moment + 4};
    for (std::size_t w = 0; w < work_[n].size(); ++w) {
      each.costs.push_back(units(compute(n, static_cast<std::int64_t>(w))));
      each.usages.push_back(0);
    }
    problem_.nodes.push_back(std::move(each));
  }
  for (const Priced& edge : edges) {
    choose::Edge each{edge.a, edge.b, {}};
    for (const double cycles : edge.cycles) each.costs.push_back(units(cycles));
    problem_.edges.push_back(std::move(each));
  }
  return choose::check(problem_);
}

Result<Decisions> Decisions::make(const graph::Graph& graph, const Machine& machine,
                                  const PlanOptions& options, const run::Execution* standard) {
  TESSERA_TRY(moves::MoveModel model, moves::MoveModel::make(machine));
  Decisions made(graph, machine, std::move(model));
  TESSERA_CHECK_OK(made.find_classes());
  made.add_work(options, standard);
  double most_cycles = kImpossible;
  if (standard != nullptr) {
    TESSERA_TRY(const std::vector<run::StepCycles> steps, run::predict(*standard));
    most_cycles = run::total_cycles(steps).value_or(kImpossible);
  }
  made.prune_work(most_cycles);
  TESSERA_CHECK_OK(made.add_layouts(options, standard));
  TESSERA_CHECK_OK(made.price());
  return made;
}

std::vector<std::string> Decisions::assumed() const {
  std::set<std::string> texts;
  for (const OpClass& each : classes_) {
    if (each.assumed()) texts.insert(*each.assumed());
  }
  return {texts.begin(), texts.end()};
}

Result<std::vector<Layout>> Decisions::layouts_of(const Choice& choice) const {
  std::vector<Layout> list;
  for (std::size_t v = 0; v < values(); ++v) {
    const Layout& layout = table_[layouts_[v][static_cast<std::size_t>(choice[v])]];
    TESSERA_TRY(Layout small, run::on_coordinates(layout, *machine_));
    list.push_back(std::move(small));
  }
  return list;
}

std::vector<std::optional<ops::WorkMap>> Decisions::work_of(const Choice& choice) const {
  std::vector<std::optional<ops::WorkMap>> list;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    const auto strategy = static_cast<std::size_t>(choice[values() + n]);
    const ops::WorkMap& work = class_of(n).candidates()[work_[n][strategy]].work;
    // On the smallest mesh with its places, as layouts are.
    Form form = work.form();
    std::vector<std::int64_t> extents;
    for (std::size_t a = 0; a < form.mesh.rank(); ++a) extents.push_back(run::reach_on(form, a));
    const Result<Shape> mesh = Shape::make(std::move(extents));
    if (mesh) form.mesh = *mesh;
    Result<ops::WorkMap> small = ops::WorkMap::make(class_of(n).loops(), std::move(form));
    list.emplace_back(small ? *std::move(small) : work);
  }
  return list;
}

}  // namespace tessera::plan

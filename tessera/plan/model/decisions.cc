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

constexpr double kMostUnits = 1e17;  ///< of all costs together
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

std::vector<Decisions::Wish> Decisions::wishes_of(std::size_t n, std::size_t candidate) {
  const graph::Node& node = graph_->nodes[n];
  const OpClass& each = class_of(n);
  std::vector<Wish> wishes;
  const auto add = [&](bool is_input, std::size_t operand, const Layout& layout) {
    const Result<LayoutNumber> number = table_.add(layout);
    if (number && fits(*number)) wishes.push_back({is_input, operand, *number});
  };
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    for (const Layout& layout : combined(each.candidates()[candidate].results[o])) {
      add(false, o, layout);
    }
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == graph::kAbsent) continue;
    const std::optional<Layout> layout = each.wanted(candidate, i);
    if (layout) add(true, i, *layout);
  }
  return wishes;
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
  // What work makes and reads in place is the same for all nodes of a class.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<Wish>> wishes;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    const graph::Node& node = graph_->nodes[n];
    for (const std::size_t w : work_[n]) {
      const auto [found, is_new] = wishes.try_emplace({class_of_[n], w});
      if (is_new) found->second = wishes_of(n, w);
      for (const Wish& wish : found->second) {
        const graph::ValueId v =
            wish.is_input ? node.inputs[wish.operand] : node.outputs[wish.operand];
        if (!is_pinned[v]) votes[v].add(wish.layout, 1);
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

const Phase& Decisions::bring(std::size_t node, std::size_t input, std::int64_t work,
                              std::int64_t layout) {
  const graph::ValueId v = graph_->nodes[node].inputs[input];
  return classes_[class_of_[node]].bring(work_[node][static_cast<std::size_t>(work)], input,
                                         layouts_[v][static_cast<std::size_t>(layout)], table_,
                                         prices_);
}

const Phase& Decisions::settle(std::size_t node, std::size_t output, std::int64_t work,
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

/// What each pair of work and layout consists of.
void Decisions::add_operands() {
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    const graph::Node& node = graph_->nodes[n];
    const auto add = [&](graph::ValueId v, const auto& phase_of) {
      Operand operand{n, v, {}};
      for (std::size_t w = 0; w < work_[n].size(); ++w) {
        for (std::size_t l = 0; l < layouts_[v].size(); ++l) {
          operand.phases.push_back(
              &phase_of(static_cast<std::int64_t>(w), static_cast<std::int64_t>(l)));
        }
      }
      operands_.push_back(std::move(operand));
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == graph::kAbsent || !class_of(n).reads(i)) continue;
      add(node.inputs[i],
          [&](std::int64_t w, std::int64_t l) -> const Phase& { return bring(n, i, w, l); });
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      add(node.outputs[o],
          [&](std::int64_t w, std::int64_t l) -> const Phase& { return settle(n, o, w, l); });
    }
  }
}

/// Makes the problem of choose/: decisions with their lives and sizes, edges without costs.
void Decisions::add_nodes() {
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
  for (std::size_t n = 0; n < nodes; ++n) {
    const graph::Node& node = graph_->nodes[n];
    const auto moment = static_cast<std::int64_t>(4 * n);
    for (const graph::ValueId v : node.outputs) problem_.nodes[v].life = {moment + 1, moment + 4};
    for (const graph::ValueId v : node.inputs) {
      if (v == graph::kAbsent) continue;
      std::int64_t& to = problem_.nodes[v].life.to;
      to = std::max(to, moment + 1);
    }
    choose::Node each;
    each.life = {moment, moment + 4};
    each.costs.resize(work_[n].size());
    each.usages.resize(work_[n].size());
    problem_.nodes.push_back(std::move(each));
  }
  for (const graph::ValueId v : graph_->outputs) problem_.nodes[v].life.to = end;
  for (const Operand& operand : operands_) {
    problem_.edges.push_back(
        {values() + operand.node, operand.value, std::vector<std::int64_t>(operand.phases.size())});
  }
}

std::int64_t Decisions::units(double cycles) const {
  if (cycles == kImpossible) return choose::kForbidden;
  return std::llround(std::min(cycles * units_per_cycle_, kMostUnits));
}

/// The costs of all nodes and edges, as far as they are known.
Status Decisions::fill_costs() {
  priced_in_costs_ = prices_.priced();
  std::vector<std::vector<double>> cycles;
  double most = 0;
  for (const Operand& operand : operands_) {
    std::vector<double>& own = cycles.emplace_back();
    double dearest = -1;
    for (const Phase* const phase : operand.phases) {
      own.push_back(phase->at_least(prices_));
      if (own.back() != kImpossible) dearest = std::max(dearest, own.back());
    }
    if (dearest < 0) {
      return Error{ErrorCode::kNotSupported,
                   cat(graph::node_text(*graph_, graph_->nodes[operand.node]), ": no way to have '",
                       graph_->values[operand.value].name, "' where it is needed on ",
                       machine_->name, " has a price"),
                   std::nullopt, "tessera reshard --target names figures that are missing"};
    }
    most += dearest;
  }
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    double slowest = 0;
    for (std::size_t w = 0; w < work_[n].size(); ++w) {
      slowest = std::max(slowest, compute(n, static_cast<std::int64_t>(w)));
    }
    most += slowest;
  }
  while (most * units_per_cycle_ > kMostUnits && units_per_cycle_ > 1e-12) units_per_cycle_ /= 1024;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    std::vector<std::int64_t>& costs = problem_.nodes[values() + n].costs;
    for (std::size_t w = 0; w < costs.size(); ++w) {
      costs[w] = units(compute(n, static_cast<std::int64_t>(w)));
    }
  }
  for (std::size_t e = 0; e < operands_.size(); ++e) {
    for (std::size_t p = 0; p < cycles[e].size(); ++p) {
      problem_.edges[e].costs[p] = units(cycles[e][p]);
    }
  }
  return ok_status();
}

Result<bool> Decisions::price(const Choice& choice, bool is_wide) {
  std::vector<run::MovePrices::Number> unknown;
  for (const Operand& operand : operands_) {
    const std::size_t layouts = layouts_[operand.value].size();
    const auto work = static_cast<std::size_t>(choice[values() + operand.node]);
    const auto layout = static_cast<std::size_t>(choice[operand.value]);
    const Phase& chosen = *operand.phases[work * layouts + layout];
    if (chosen.is_priced(prices_)) continue;
    unknown.insert(unknown.end(), chosen.moves.begin(), chosen.moves.end());
    for (std::size_t p = 0; is_wide && p < operand.phases.size(); ++p) {
      if (p / layouts != work && p % layouts != layout) continue;
      const Phase& beside = *operand.phases[p];
      unknown.insert(unknown.end(), beside.moves.begin(), beside.moves.end());
    }
  }
  if (unknown.empty() && prices_.priced() == priced_in_costs_) return false;
  TESSERA_CHECK_OK(prices_.price(unknown, *pool_));
  TESSERA_CHECK_OK(fill_costs());
  return true;
}

Status Decisions::price_all() {
  std::vector<run::MovePrices::Number> all;
  for (const Operand& operand : operands_) {
    for (const Phase* const phase : operand.phases) {
      if (phase->is_priced(prices_)) continue;
      all.insert(all.end(), phase->moves.begin(), phase->moves.end());
    }
  }
  TESSERA_CHECK_OK(prices_.price(all, *pool_));
  return fill_costs();
}

bool Decisions::price_pair(std::size_t edge, std::int64_t work, std::int64_t layout) {
  const Operand& operand = operands_[edge];
  const std::size_t pair = static_cast<std::size_t>(work) * layouts_[operand.value].size() +
                           static_cast<std::size_t>(layout);
  const Phase& phase = *operand.phases[pair];
  for (const run::MovePrices::Number move : phase.moves) (void)prices_.cycles(move);
  const std::int64_t cost = units(phase.at_least(prices_));
  return std::exchange(problem_.edges[edge].costs[pair], cost) != cost;
}

Result<Decisions> Decisions::make(const graph::Graph& graph, const Machine& machine,
                                  const PlanOptions& options, const run::Execution* standard) {
  TESSERA_TRY(moves::MoveModel model, moves::MoveModel::make(machine));
  Decisions made(graph, machine, std::move(model), options.threads);
  TESSERA_CHECK_OK(made.find_classes());
  made.add_work(options, standard);
  double most_cycles = kImpossible;
  if (standard != nullptr) {
    most_cycles = run::total_cycles(run::predict(*standard, made.prices_)).value_or(kImpossible);
  }
  made.prune_work(most_cycles);
  TESSERA_CHECK_OK(made.add_layouts(options, standard));
  made.add_operands();
  made.add_nodes();
  TESSERA_CHECK_OK(made.fill_costs());
  TESSERA_CHECK_OK(choose::check(made.problem_));
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

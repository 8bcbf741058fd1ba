// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/model/decisions.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/ops/propagate.h"
#include "tessera/plan/model/candidates.h"
#include "tessera/run/common_mesh.h"
#include "tessera/run/predict.h"

namespace tessera::plan {
namespace {

constexpr std::size_t kMostNames = 16;  ///< of nodes with one op, in an error

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
  std::map<std::string, std::vector<std::string>> missing;  // nodes by their ops
  std::optional<Error> first;
  for (std::size_t n = 0; n < graph_->nodes.size(); ++n) {
    const graph::Node& node = graph_->nodes[n];
    std::size_t c = 0;
    while (c < classes_.size() && !classes_[c].matches(*graph_, node)) ++c;
    if (c == classes_.size()) {
      Result<OpClass> made = OpClass::make(*graph_, node, *machine_);
      if (!made) {
        missing[std::string(node.op.name())].push_back(node.name.empty() ? cat(n)
                                                                         : quote_name(node.name));
        if (!first) first = made.error();
        continue;
      }
      classes_.push_back(*std::move(made));
    }
    class_of_.push_back(c);
  }
  if (!first) return ok_status();
  std::vector<std::string> ops;
  for (auto& [op, nodes] : missing) {
    const std::size_t others = nodes.size() - std::min(nodes.size(), kMostNames);
    nodes.resize(nodes.size() - others);
    ops.push_back(cat(op, " (", nodes.size() + others == 1 ? "node " : "nodes ", join(nodes, ", "),
                      others > 0 ? cat(" and ", others, " more") : "", ")"));
  }
  first->message += cat("; ops of the model that cannot be planned: ", join(ops, ", "));
  return *first;
}

void Decisions::add_work(const PlanOptions& options, const run::Execution* standard) {
  for (OpClass& each : classes_) {
    for (const Division& division : divisions_of(each.loops(), *machine_, options.most_work)) {
      const Result<ops::WorkMap> work = work_map(each.loops(), division);
      if (work) (void)each.add(*work);
    }
  }
  for (std::size_t n = 0; n < std::min(options.more_work.size(), class_of_.size()); ++n) {
    for (const ops::WorkMap& work : options.more_work[n]) (void)classes_[class_of_[n]].add(work);
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

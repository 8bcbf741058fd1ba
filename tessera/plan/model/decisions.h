// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/moves/price.h"
#include "tessera/plan/choose/problem.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/plan/model/op_prices.h"
#include "tessera/run/execution.h"

namespace tessera::plan {

/// One choice for everything: a strategy per value, then one per node.
using Choice = std::vector<std::int64_t>;

/// Everything that may be decided about a graph on a machine, with all prices.
///
/// Decision v < values is the layout of value v, a number of `layouts[v]`; decision values + n is
/// the work of node n, a number of `work[n]`.
class Decisions {
 public:
  /// Collects candidates and prices them. `standard` is an execution whose layouts and work become
  /// candidates; null: none. Errors: those of plan_model.
  static Result<Decisions> make(const graph::Graph& graph, const Machine& machine,
                                const PlanOptions& options, const run::Execution* standard);

  std::size_t values() const { return graph_->values.size(); }
  const graph::Graph& graph() const { return *graph_; }
  const Machine& machine() const { return *machine_; }
  const moves::MoveModel& model() const { return *model_; }
  const LayoutTable& table() const { return table_; }
  const OpClass& class_of(std::size_t node) const { return classes_[class_of_[node]]; }
  const std::vector<LayoutNumber>& layouts(graph::ValueId value) const { return layouts_[value]; }
  /// Candidates of the node's class.
  const std::vector<std::size_t>& work(std::size_t node) const { return work_[node]; }
  const choose::Problem& problem() const { return problem_; }
  /// Units of the problem's costs in a cycle.
  double units_per_cycle() const { return units_per_cycle_; }
  /// How many different moves were priced.
  std::size_t moves_priced() const { return prices_.size(); }
  /// Figures that the machine lacks and that were assumed, each once.
  std::vector<std::string> assumed() const;

  /// Cycles of the phases, for a strategy of the node and one of the value.
  PhasePrice bring(std::size_t node, std::size_t input, std::int64_t work, std::int64_t layout);
  PhasePrice settle(std::size_t node, std::size_t output, std::int64_t work, std::int64_t layout);
  double compute(std::size_t node, std::int64_t work) const;
  /// Bytes of the copies that a step needs besides the layouts of a choice.
  std::int64_t copied_bytes(std::size_t node, std::int64_t work, const Choice& choice);

  /// The layouts of a choice, each on the smallest mesh that has its places.
  Result<std::vector<Layout>> layouts_of(const Choice& choice) const;
  /// The work of a choice, per node.
  std::vector<std::optional<ops::WorkMap>> work_of(const Choice& choice) const;

 private:
  Decisions(const graph::Graph& graph, const Machine& machine, moves::MoveModel model)
      : graph_(&graph),
        machine_(&machine),
        model_(std::make_unique<moves::MoveModel>(std::move(model))),
        prices_(*model_),
        table_(machine) {}

  Status find_classes();
  void add_work(const PlanOptions& options, const run::Execution* standard);
  Status add_layouts(const PlanOptions& options, const run::Execution* standard);
  void prune_work(double most_cycles);
  Status price();
  bool fits(LayoutNumber number) const;

  const graph::Graph* graph_;
  const Machine* machine_;
  std::unique_ptr<moves::MoveModel> model_;  ///< at one address, which prices_ refers to
  MovePrices prices_;
  LayoutTable table_;
  std::vector<OpClass> classes_;
  std::vector<std::size_t> class_of_;               ///< per node
  std::vector<std::vector<LayoutNumber>> layouts_;  ///< per value
  std::vector<std::vector<std::size_t>> work_;      ///< per node
  choose::Problem problem_;
  double units_per_cycle_ = 1024;
};

}  // namespace tessera::plan

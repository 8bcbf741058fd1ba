// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/graph/graph.h"
#include "tessera/plan/choose/problem.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/plan/model/op_prices.h"
#include "tessera/run/execution.h"
#include "tessera/run/move_prices.h"

namespace tessera::plan {

/// Cycles of what cannot be carried out.
inline constexpr double kImpossible = std::numeric_limits<double>::infinity();

/// One choice for everything: a strategy per value, then one per node.
using Choice = std::vector<std::int64_t>;

/// Everything that may be decided about a graph on a machine, with prices.
///
/// Decision v < values is the layout of value v, a number of `layouts[v]`; decision values + n is
/// the work of node n, a number of `work[n]`.
///
/// A price of a move takes milliseconds, and most pairs of decisions are never good. So an edge of
/// the problem first has for each pair a number that its price is not below (moves/least.h), and
/// `price` replaces it by the price for the pairs of a choice. Law: no cost of the problem is above
/// the price of its pair, so a bound of the problem bounds all plans; and a choice that is best
/// with all of its own pairs priced is best.
class Decisions {
 public:
  /// Collects candidates and prices them. `standard` is an execution whose layouts and work become
  /// candidates; null: none. Errors: those of plan_model.
  static Result<Decisions> make(const graph::Graph& graph, const Machine& machine,
                                const PlanOptions& options, const run::Execution* standard);

  std::size_t values() const { return graph_->values.size(); }
  const graph::Graph& graph() const { return *graph_; }
  const Machine& machine() const { return *machine_; }
  run::MovePrices& prices() { return prices_; }
  const LayoutTable& table() const { return table_; }
  const OpClass& class_of(std::size_t node) const { return classes_[class_of_[node]]; }
  const std::vector<LayoutNumber>& layouts(graph::ValueId value) const { return layouts_[value]; }
  /// Candidates of the node's class.
  const std::vector<std::size_t>& work(std::size_t node) const { return work_[node]; }
  const choose::Problem& problem() const { return problem_; }
  /// Units of the problem's costs in a cycle.
  double units_per_cycle() const { return units_per_cycle_; }
  /// How many different moves were priced.
  std::size_t moves_priced() const { return prices_.priced(); }
  /// Figures that the machine lacks and that were assumed, each once.
  std::vector<std::string> assumed() const;

  double compute(std::size_t node, std::int64_t work) const;

  /// Prices the pairs of a choice that have no price yet, and writes all costs that are known;
  /// false if no cost is new. If it is wide,
  /// also the other pairs with the work, or with the layout, of such a pair. Errors: those of
  /// ThreadPool::run, and kNotSupported if an edge has no pair with a price.
  Result<bool> price(const Choice& choice, bool is_wide = false);
  /// Prices all pairs.
  Status price_all();
  /// A pair of an edge of the problem.
  struct Pair {
    std::size_t edge = 0;
    std::int64_t work = 0;
    std::int64_t layout = 0;
  };
  /// The same for some pairs. True if that changed a cost.
  bool price_pairs(const std::vector<Pair>& pairs);

  /// Bytes of the copies that a step needs besides the layouts of a choice.
  std::int64_t copied_bytes(std::size_t node, std::int64_t work, const Choice& choice);

  /// The layouts of a choice, each on the smallest mesh that has its places.
  Result<std::vector<Layout>> layouts_of(const Choice& choice) const;
  /// The work of a choice, per node.
  std::vector<std::optional<ops::WorkMap>> work_of(const Choice& choice) const;

 private:
  /// What the pairs of a node's work and an operand's layouts consist of, by work, then by layout:
  /// the same for all nodes of a class whose operands have the same candidates, such as those of
  /// repeated layers.
  using PhaseTable = std::vector<const Phase*>;
  /// An input or an output of a node: the edge of the problem with the same number.
  struct Operand {
    std::size_t node = 0;
    graph::ValueId value = 0;
    std::size_t table = 0;
  };

  Decisions(const graph::Graph& graph, const Machine& machine, moves::MoveModel model, int threads)
      : graph_(&graph),
        machine_(&machine),
        prices_(std::move(model)),
        pool_(std::make_unique<ThreadPool>(threads)),
        table_(machine) {}

  /// A layout in which a candidate makes or reads an operand without a move.
  struct Wish {
    bool is_input = false;
    std::size_t operand = 0;
    LayoutNumber layout = 0;
  };

  Status find_classes();
  std::vector<Wish> wishes_of(std::size_t n, std::size_t candidate);
  void add_work(const PlanOptions& options, const run::Execution* standard);
  Status add_layouts(const PlanOptions& options, const run::Execution* standard);
  void prune_work(double most_cycles);
  const PhaseTable& phases_of(const Operand& operand) const { return tables_[operand.table]; }
  const Phase& bring(std::size_t node, std::size_t input, std::int64_t work, std::int64_t layout);
  const Phase& settle(std::size_t node, std::size_t output, std::int64_t work, std::int64_t layout);
  void add_operands();
  void add_nodes();
  Status fill_costs();
  std::int64_t units(double cycles) const;
  bool fits(LayoutNumber number) const;

  const graph::Graph* graph_;
  const Machine* machine_;
  run::MovePrices prices_;
  std::unique_ptr<ThreadPool> pool_;
  LayoutTable table_;
  std::vector<OpClass> classes_;
  std::vector<std::size_t> class_of_;               ///< per node
  std::vector<std::vector<LayoutNumber>> layouts_;  ///< per value
  std::vector<std::vector<std::size_t>> work_;      ///< per node
  std::vector<Operand> operands_;
  std::vector<PhaseTable> tables_;
  choose::Problem problem_;
  double units_per_cycle_ = 1024;
  /// How many moves were priced when all costs were written: pairs of other edges may consist of
  /// moves that were priced since.
  std::size_t priced_in_costs_ = 0;
};

}  // namespace tessera::plan

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/layout/layout.h"
#include "tessera/run/execution.h"
#include "tessera/run/move_prices.h"

namespace tessera::plan {

/// A layout of the candidates, by number.
using LayoutNumber = std::size_t;

/// Layouts with their memories, each once, on the mesh of the whole machine.
class LayoutTable {
 public:
  explicit LayoutTable(const Machine& machine) : machine_(&machine), mesh_(machine.shape()) {}

  /// The number of a layout; its memory is the one that it names, or the data_space. Errors: those
  /// of on_coordinates and on_mesh.
  Result<LayoutNumber> add(const Layout& layout);
  const Layout& operator[](LayoutNumber number) const { return layouts_[number]; }
  const std::string& space(LayoutNumber number) const { return layouts_[number].spec().space; }
  /// What each part of its memory needs of it, aligned.
  std::int64_t bytes(LayoutNumber number) const { return bytes_[number]; }
  std::size_t size() const { return layouts_.size(); }

 private:
  const Machine* machine_;
  Shape mesh_;
  std::vector<Layout> layouts_;
  std::vector<std::int64_t> bytes_;
  std::unordered_map<std::string, LayoutNumber> numbers_;
};

/// What one phase of a step consists of.
struct Phase {
  bool is_possible = false;                    ///< run/ can carry it out
  std::vector<run::MovePrices::Number> moves;  ///< one after the other
  std::int64_t copied_bytes = 0;               ///< of buffers that only this step needs, per place

  /// Cycles of the moves, or no more than these for moves that are not priced yet; infinite if it
  /// cannot be carried out or a figure is missing.
  double at_least(const run::MovePrices& prices) const;
  bool is_priced(const run::MovePrices& prices) const;
};

/// A way to divide the work of an op, as run/ compiles it.
struct WorkCandidate {
  ops::WorkMap work;
  run::Step step;               ///< brings and settles nothing
  std::vector<Layout> results;  ///< where the work leaves the outputs
  double compute_cycles = 0;
};

/// Nodes with the same op, attributes and types: what they can do and what it takes is the same.
class OpClass {
 public:
  /// Errors: those of run/ for the op (begin in compile_step.h).
  static Result<OpClass> make(const graph::Graph& graph, const graph::Node& node,
                              const Machine& machine);
  bool matches(const graph::Graph& graph, const graph::Node& other) const;

  const ops::Loops& loops() const { return loops_; }
  const std::vector<WorkCandidate>& candidates() const { return candidates_; }
  const std::optional<std::string>& assumed() const { return assumed_; }
  bool reads(std::size_t input) const { return loops_.inputs[input].has_value(); }

  /// The number of a candidate with this work, added if it is new; nothing if run/ cannot carry it
  /// out.
  std::optional<std::size_t> add(const ops::WorkMap& work);
  /// The layout in which a candidate reads an input without a move, if one is known.
  std::optional<Layout> wanted(std::size_t candidate, std::size_t input) const;

  /// What a candidate brings of an input that is stored in this layout. References stay valid.
  const Phase& bring(std::size_t candidate, std::size_t input, LayoutNumber number,
                     const LayoutTable& table, run::MovePrices& prices);
  /// What a candidate settles of an output that is to be stored in this layout.
  const Phase& settle(std::size_t candidate, std::size_t output, LayoutNumber number,
                      const LayoutTable& table, run::MovePrices& prices);

 private:
  explicit OpClass(run::Execution scratch) : scratch_(std::move(scratch)) {}
  const graph::Node& node() const { return scratch_.graph.nodes[0]; }
  /// The moves that a step brings or settles.
  Phase phase_of(const std::vector<run::Move>& moves, run::MovePrices& prices) const;

  run::Execution scratch_;  ///< of a graph with this node alone
  ops::Loops loops_;
  std::vector<WorkCandidate> candidates_;
  std::optional<std::string> assumed_;
  /// By candidate, operand and layout.
  using Key = std::tuple<std::size_t, std::size_t, LayoutNumber>;
  std::map<Key, Phase> brought_;
  std::map<Key, Phase> settled_;
};

}  // namespace tessera::plan

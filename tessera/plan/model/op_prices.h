// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/layout/layout.h"
#include "tessera/moves/price.h"
#include "tessera/run/execution.h"

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

/// What one phase of a step takes.
struct PhasePrice {
  std::optional<double> cycles;   ///< empty: cannot be carried out, or a figure is missing
  std::int64_t copied_bytes = 0;  ///< of buffers that only this step needs, per place
};

/// What moves between buffers take on a machine, each priced once.
class MovePrices {
 public:
  explicit MovePrices(const moves::MoveModel& model) : model_(&model) {}
  /// Empty where a figure is missing.
  std::optional<double> cycles(const run::Execution& execution, const run::Move& move);
  std::size_t size() const { return cycles_.size(); }

 private:
  const moves::MoveModel* model_;
  std::unordered_map<std::string, std::optional<double>> cycles_;
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

  PhasePrice bring(std::size_t candidate, std::size_t input, LayoutNumber number,
                   const LayoutTable& table, MovePrices& prices);
  PhasePrice settle(std::size_t candidate, std::size_t output, LayoutNumber number,
                    const LayoutTable& table, MovePrices& prices);

 private:
  explicit OpClass(run::Execution scratch) : scratch_(std::move(scratch)) {}
  const graph::Node& node() const { return scratch_.graph.nodes[0]; }
  /// Prices what a step brings or settles.
  PhasePrice price(const std::vector<run::Move>& moves, MovePrices& prices);

  run::Execution scratch_;  ///< of a graph with this node alone
  ops::Loops loops_;
  std::vector<WorkCandidate> candidates_;
  std::optional<std::string> assumed_;
  std::map<std::pair<std::size_t, std::pair<std::size_t, LayoutNumber>>, PhasePrice> brought_;
  std::map<std::pair<std::size_t, std::pair<std::size_t, LayoutNumber>>, PhasePrice> settled_;
};

/// A text that is the same for equal layouts only.
std::string layout_key(const Layout& layout);

}  // namespace tessera::plan

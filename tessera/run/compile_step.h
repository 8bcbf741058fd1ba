// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/ops/supply.h"
#include "tessera/ops/work_map.h"
#include "tessera/run/execution.h"

namespace tessera::run {

/// The same work on a mesh at least as large as its own.
Result<ops::WorkMap> on_mesh(const ops::Loops& loops, const ops::WorkMap& work, const Shape& mesh);

/// Makes the step of one node: how its work is divided, what is brought, what is settled. The first
/// buffers of the execution are those of the graph's values; others are appended.
///
/// The parts are separate so that each can be priced by itself. Law: what an input brings depends
/// on the work and on the input's own buffer, what an output settles on the work and on the
/// output's own buffer, and neither on how large the mesh is.
class StepCompiler {
 public:
  /// `number` is the position of the step, from which its moments follow.
  StepCompiler(Execution& made, std::size_t node, std::int64_t number, StepChoice choice = {})
      : made_(made), node_(node), number_(number), choice_(choice) {}

  /// Everything: begin, bring of every input, settle of every output. Errors name the node.
  Result<Step> step(const ops::WorkMap* work);

  /// A step that brings and settles nothing yet. Without `work`, the work is divided as the
  /// operands are; on one place where that is not possible or where no layout can say what results.
  /// Errors: kNotSupported for an op without a kernel, and for `work` whose results no layout can
  /// say.
  Result<Step> begin(const ops::WorkMap* work);
  /// Brings an input that is given and read. `step` is the result of `begin`.
  Status bring(std::size_t input, Step& step);
  Status settle(std::size_t output, Step& step);

  /// Where the work leaves each output, after `begin`; for `settle`.
  const std::vector<Layout>& results() const { return made_here_; }
  void set_results(std::vector<Layout> results) { made_here_ = std::move(results); }

 private:
  const graph::Node& node() const { return made_.graph.nodes[node_]; }
  Error in_node(Error error) const;
  bool kernels_have_own_memory() const;

  Status divide(const graph::Types& outputs, const ops::WorkMap* work, Step& step);
  Result<ops::WorkMap> follow_operands(const ops::Loops& loops) const;
  Result<ops::WorkMap> on_one_place(const ops::Loops& loops) const;
  Result<std::vector<Layout>> layouts_of_results(const ops::Loops& loops,
                                                 const graph::Types& outputs,
                                                 const ops::WorkMap& work) const;
  std::optional<Panels> panels_of(const Step& step) const;
  /// Brings only the part of the input that is read; false where that is all of it, or where no
  /// layout has it.
  Result<bool> bring_part(std::size_t i, BufferNumber source, Step& step);
  /// Brings the input in panels; false where its elements do not follow the factor that they cut.
  Result<bool> bring_panels(std::size_t i, BufferNumber source, const Layout& whole, Step& step);
  Status extend(std::size_t i, const Layout& operand, BufferNumber from, const ops::Supply& supply,
                Step& step);
  BufferNumber add_buffer(std::string name, Layout layout, std::int64_t from, std::int64_t to);
  /// The value as elements of its own type, in the memory where it is: its own buffer where it is
  /// stored so.
  Result<BufferNumber> unpacked(graph::ValueId value, Step& step);
  void read_until(BufferNumber buffer, std::int64_t moment);
  const std::string& value_name(graph::ValueId v) const { return made_.graph.values[v].name; }

  Execution& made_;
  std::size_t node_ = 0;
  std::int64_t number_ = 0;
  StepChoice choice_;
  std::vector<Layout> made_here_;
};

}  // namespace tessera::run

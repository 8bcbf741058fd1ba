// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tessera/base/json.h"
#include "tessera/base/result.h"
#include "tessera/graph/graph.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/target/machine.h"

/// tools/plan/: the verb that plans a model. A model, a target and pinned layouts come in; a plan,
/// a file of it, or what is wrong with one goes out. What is decided is decided by tessera/plan.
namespace tessera::tools {

/// The largest plan that is read.
inline constexpr std::size_t kMaxPlanBytes = std::size_t{256} << 20;

/// The version of plan files, the value of their key "tessera_plan".
inline constexpr int kPlanFormat = 1;

/// A plan as the text of a file. Layouts and work are in the native notation, which has a text for
/// all of them; layouts are also in the target's own notation, where it can say them. Its key
/// "graph" has the model, without the elements of its values.
std::string plan_json(const plan::ModelPlan& plan, const graph::Graph& graph,
                      const Machine& machine);

/// One of its buffers, with "places" where only some places of a mesh have it.
Json buffer_json(const plan::PlannedBuffer& buffer);

/// The plan of a file. Law: read_plan(plan_json(p, g, m), g) gives the layouts, work, order,
/// offsets and figures of p. Errors: kSyntax for a text that is no JSON, or has no plan of this
/// format; kContradiction for a plan of another model; kBadJson, naming the field, for one that is
/// missing or of another kind; those of parse_tensor for its layouts.
Result<plan::ModelPlan> read_plan(std::string_view text, const graph::Graph& graph);
Result<plan::ModelPlan> plan_of_json(const Json& json, const graph::Graph& graph);

/// The object of a file that this program wrote; nothing for a text that is no object, or nests
/// deeper than kMaxJsonDepth.
std::optional<Json> parse_written(std::string_view text);

/// The object of a file, of this format; kSyntax for any other text.
Result<Json> parse_plan(std::string_view text);

/// The plan of the file that the flag or word `name` states, which must be for this model and this
/// machine: kContradiction.
Result<plan::ModelPlan> read_plan_file(const std::string& name, const graph::Graph& graph,
                                       const Machine& machine);

}  // namespace tessera::tools

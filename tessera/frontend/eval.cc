// SPDX-License-Identifier: Apache-2.0
#include "tessera/frontend/eval.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/thread_pool.h"
#include "tessera/frontend/elements.h"
#include "tessera/frontend/expression.h"
#include "tessera/frontend/node.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tessera/run/predict.h"

namespace tessera::frontend {
namespace {

/// How an expression is carried out.
struct Prepared {
  run::Execution execution;
  bool is_planned = false;
  std::optional<double> cycles;
};

Result<Prepared> by_plan(const Expression& expression, const Machine& machine,
                         const EvalOptions& options) {
  plan::PlanOptions planning;
  planning.pins = expression.layouts;
  planning.seconds = options.plan_seconds;
  TESSERA_TRY(const plan::ModelPlan plan, plan::plan_model(expression.graph, machine, planning));
  TESSERA_TRY(run::Execution execution, plan::execution_of(plan, expression.graph, machine));
  return Prepared{std::move(execution), true, plan.cycles};
}

Result<Prepared> by_default(const Expression& expression, const Machine& machine,
                            const EvalOptions& options) {
  TESSERA_TRY(run::Execution execution,
              run::compile_with_defaults(expression.graph, machine, expression.layouts));
  Prepared prepared{std::move(execution), false, {}};
  if (options.predict) {
    TESSERA_TRY(const std::vector<run::StepCycles> steps, run::predict(prepared.execution));
    prepared.cycles = run::total_cycles(steps);
  }
  return prepared;
}

/// Keeps what tensors of the program are made of while it is on the device.
class Keeper final : public run::Observer {
 public:
  Keeper(const Expression& expression, const std::function<bool()>& stops)
      : expression_(expression), stops_(stops), is_output_(expression.nodes.size()) {
    for (const graph::ValueId v : expression.graph.outputs) is_output_[v] = true;
  }

  Status after(const run::StepReport& report,
               const std::function<Result<run::HostTensor>(graph::ValueId)>& value) override {
    crossing_bytes_ += report.crossing_bytes;
    for (const graph::ValueId v : expression_.graph.nodes[report.node].outputs) {
      if (is_output_[v] || !expression_.nodes[v]->is_held()) continue;
      TESSERA_TRY(run::HostTensor tensor, value(v));
      expression_.nodes[v]->keep(std::move(tensor.bytes));
    }
    return ok_status();
  }
  bool stops() override { return stops_ && stops_(); }

  std::int64_t crossing_bytes() const { return crossing_bytes_; }

 private:
  const Expression& expression_;
  const std::function<bool()>& stops_;
  std::vector<bool> is_output_;
  std::int64_t crossing_bytes_ = 0;
};

int threads_of(const EvalOptions& options) {
  if (options.threads > 0) return options.threads;
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Ops in an order in which they can run, and which of them are wanted afterwards.
struct Ops {
  std::vector<NodePointer> nodes;
  std::vector<bool> is_wanted;
  std::vector<std::size_t> last_use;  ///< position of the last op that reads it; its own if none

  static Ops of(const Expression& expression) {
    Ops ops;
    std::vector<std::size_t> position(expression.nodes.size());
    std::vector<bool> is_output(expression.nodes.size());
    for (const graph::ValueId v : expression.graph.outputs) is_output[v] = true;
    for (const graph::Node& node : expression.graph.nodes) {
      const graph::ValueId made = node.outputs[0];
      position[made] = ops.nodes.size();
      for (const graph::ValueId v : node.inputs) {
        const bool is_op =
            position[v] < ops.nodes.size() && ops.nodes[position[v]] == expression.nodes[v];
        if (is_op) ops.last_use[position[v]] = ops.nodes.size();
      }
      ops.last_use.push_back(ops.nodes.size());
      ops.nodes.push_back(expression.nodes[made]);
      ops.is_wanted.push_back(is_output[made]);
    }
    return ops;
  }

  /// What ops [from, to) leave for later.
  std::vector<NodePointer> results(std::size_t from, std::size_t to) const {
    std::vector<NodePointer> kept;
    for (std::size_t i = from; i < to; ++i) {
      if (is_wanted[i] || last_use[i] >= to) kept.push_back(nodes[i]);
    }
    return kept;
  }
};

/// Carries out expressions, and adds up what that takes.
class Evaluator {
 public:
  Evaluator(const Machine& machine, const EvalOptions& options)
      : machine_(machine), options_(options), pool_(threads_of(options)) {
    done_.machine = machine.name;
  }

  Result<Evaluation> evaluate(const std::vector<NodePointer>& wanted) {
    if (wanted.empty()) return done_;
    done_.cycles = 0;
    TESSERA_TRY(const Expression whole, expression_of(wanted));
    Status outcome = run(whole);
    const bool is_too_large = !outcome && outcome.error().code == ErrorCode::kDoesNotFit;
    if (is_too_large && whole.graph.nodes.size() > 1) {
      outcome = run_halves(Ops::of(whole), 0, whole.graph.nodes.size());
    }
    if (!outcome) return outcome.error();
    return done_;
  }

 private:
  Status run_halves(const Ops& ops, std::size_t from, std::size_t to) {
    const std::size_t middle = from + (to - from) / 2;
    TESSERA_CHECK_OK(run_part(ops, from, middle));
    return run_part(ops, middle, to);
  }

  Status run_part(const Ops& ops, std::size_t from, std::size_t to) {
    TESSERA_TRY(const Expression part, expression_of(ops.results(from, to)));
    Status outcome = run(part);
    if (outcome || outcome.error().code != ErrorCode::kDoesNotFit || to - from <= 1) return outcome;
    return run_halves(ops, from, to);
  }

  Result<Prepared> prepare(const Expression& expression) const {
    if (options_.planning == Planning::kAlways) return by_plan(expression, machine_, options_);
    Result<Prepared> prepared = by_default(expression, machine_, options_);
    const bool is_too_large = !prepared && prepared.error().code == ErrorCode::kDoesNotFit;
    const bool is_single = expression.graph.nodes.size() == 1;
    if (is_too_large && is_single && options_.planning == Planning::kWhereNeeded) {
      return by_plan(expression, machine_, options_);
    }
    return prepared;
  }

  /// What goes to the device and comes back is in the memory of this process, too.
  static Status check_host(const graph::Graph& graph) {
    Checked bytes(0);
    for (const graph::Value& value : graph.values) {
      if (value.kind != graph::Kind::kComputed) bytes += value.type.bytes();
    }
    for (const graph::ValueId v : graph.outputs) bytes += graph.values[v].type.bytes();
    return check_room(bytes.saturated());
  }

  /// kDoesNotFit before anything has run.
  Status run(const Expression& expression) {
    TESSERA_TRY(const Prepared prepared, prepare(expression));
    TESSERA_CHECK_OK(check_host(expression.graph));
    const run::Execution& execution = prepared.execution;
    TESSERA_TRY(const std::unique_ptr<device::Device> device,
                run::device_for(execution, options_.checked));
    Keeper keeper(expression, options_.stops);
    TESSERA_TRY(run::RunResult result, run::execute(execution, *device, {}, pool_, &keeper));
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
      const graph::ValueId output = expression.graph.outputs[i];
      expression.nodes[output]->keep(std::move(result.outputs[i].bytes));
    }
    add(expression, prepared, result, keeper.crossing_bytes());
    return ok_status();
  }

  void add(const Expression& expression, const Prepared& prepared, const run::RunResult& result,
           std::int64_t crossing_bytes) {
    done_.is_planned = done_.is_planned || prepared.is_planned;
    done_.ops += std::ssize(expression.graph.nodes);
    ++done_.parts;
    done_.seconds += result.seconds;
    done_.crossing_bytes += crossing_bytes;
    if (done_.cycles && prepared.cycles) {
      *done_.cycles += *prepared.cycles;
    } else {
      done_.cycles.reset();
    }
    for (const run::SpaceNeed& need : prepared.execution.spaces) {
      const auto known = std::ranges::find(done_.memory, need.space, &Evaluation::Memory::space);
      if (known == done_.memory.end()) {
        done_.memory.push_back({need.space, need.peak_bytes});
      } else {
        known->peak_bytes = std::max(known->peak_bytes, need.peak_bytes);
      }
    }
  }

  const Machine& machine_;
  const EvalOptions& options_;
  ThreadPool pool_;
  Evaluation done_;
};

}  // namespace

Result<Evaluation> eval(const std::vector<Tensor>& tensors, const EvalOptions& options) {
  const Machine* machine = options.machine;
  if (machine == nullptr) {
    TESSERA_TRY(machine, find_machine("wse2"));
  }
  std::vector<NodePointer> wanted;
  for (const Tensor& tensor : tensors) {
    const NodePointer& node = tensor.node();
    TESSERA_CHECK_OK(node->make_elements());
    if (tensor.is_evaluated() || std::ranges::find(wanted, node) != wanted.end()) continue;
    wanted.push_back(node);
  }
  return Evaluator(*machine, options).evaluate(wanted);
}

Result<graph::Graph> graph_of(const std::vector<Tensor>& tensors, std::string name) {
  std::vector<NodePointer> nodes;
  nodes.reserve(tensors.size());
  for (const Tensor& tensor : tensors) nodes.push_back(tensor.node());
  TESSERA_TRY(Expression expression, expression_of(nodes, std::move(name)));
  return std::move(expression.graph);
}

}  // namespace tessera::frontend

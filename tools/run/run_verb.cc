// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/graph/random_weights.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/run/default_layouts.h"
#include "tessera/run/execute.h"
#include "tools/command/command.h"
#include "tools/command/thread_count.h"
#include "tools/command/usage.h"
#include "tools/files/mapped_file.h"
#include "tools/files/replace_file.h"
#include "tools/files/text_file.h"
#include "tools/graph/read_model.h"
#include "tools/json/json.h"
#include "tools/plan/plan_file.h"
#include "tools/run/run_inputs.h"
#include "tools/run/run_outputs.h"
#include "tools/run/run_report.h"
#include "tools/run/run_trace.h"
#include "tools/run/step_check.h"
#include "tools/run/value_layouts.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/interrupts.h"
#include "tools/terminal/progress.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMaxLayoutsBytes = std::size_t{16} << 20;
constexpr int kPlanThreads = 2;

Status check_out(const Request& request) {
  if (request.has("trace")) TESSERA_CHECK_OK(check_folder_of(request.text("trace")));
  if (!request.has("out")) return ok_status();
  std::error_code error;
  if (std::filesystem::is_directory(request.text("out"), error)) return ok_status();
  return Error{ErrorCode::kIo, cat("--out ", quote(request.text("out")), " is no folder"),
               std::nullopt, "make the folder first"};
}

/// The elements of everything that is given, with random ones where --random asks for them.
Result<GivenTensors> elements_of(graph::Graph& graph, const Request& request) {
  TESSERA_TRY(GivenTensors given, read_given(graph, request.texts("in")));
  TESSERA_CHECK_OK(load_data(graph, folder_of(request.text("model")), given));
  if (!request.has("random")) {
    TESSERA_CHECK_OK(check_given(graph, given));
    return given;
  }
  const auto seed = static_cast<std::uint64_t>(request.number("random"));
  TESSERA_TRY(graph, graph::with_random_weights(graph, seed));
  TESSERA_CHECK_OK(add_random_inputs(graph, seed, given));
  return given;
}

/// Of everything that is computed, which is what progress is measured by.
std::int64_t result_bytes(const graph::Graph& graph) {
  Checked sum(0);
  for (const graph::ValueId v : graph.of_kind(graph::Kind::kComputed)) {
    sum += graph.values[v].type.bytes();
  }
  return sum.saturated();
}

/// An execution, and where its layouts come from.
struct Chosen {
  run::Execution execution;
  std::string_view layouts_from;  ///< "plan_file", "layouts_file", "planned", "default"
  std::string why_default = {};   ///< half a sentence
};

/// By the plan or the layouts of a file, else by a plan that is made now. A machine without prices
/// for moves has no plan, and large models may have none that fits: then values have simple default
/// layouts. The model must be as it was read, without random elements.
Result<Chosen> choose_execution(const Request& request, const graph::Graph& graph,
                                const Machine& machine, int threads) {
  if (request.has("plan")) {
    TESSERA_TRY(const plan::ModelPlan plan, read_plan_file(request.text("plan"), graph, machine));
    TESSERA_TRY(run::Execution execution, plan::execution_of(plan, graph, machine));
    return Chosen{std::move(execution), "plan_file"};
  }
  std::vector<std::optional<Layout>> layouts(graph.values.size());
  if (request.has("layouts")) {
    const std::string& file = request.text("layouts");
    TESSERA_TRY(const std::string text, read_text_file(file, kMaxLayoutsBytes));
    TESSERA_TRY(layouts, read_value_layouts(text, file, graph));
    TESSERA_TRY(run::Execution execution, run::compile_with_defaults(graph, machine, layouts));
    return Chosen{std::move(execution), "layouts_file"};
  }
  plan::PlanOptions options;
  options.threads = std::min(threads, kPlanThreads);
  const Result<plan::ModelPlan> plan = plan::plan_model(graph, machine, options);
  if (plan) {
    TESSERA_TRY(run::Execution execution, plan::execution_of(*plan, graph, machine));
    return Chosen{std::move(execution), "planned"};
  }
  const ErrorCode why = plan.error().code;
  if (why != ErrorCode::kNotSupported && why != ErrorCode::kDoesNotFit) return plan.error();
  Result<run::Execution> simple = run::compile_with_defaults(graph, machine, layouts);
  if (!simple && why == ErrorCode::kDoesNotFit) return plan.error();
  TESSERA_TRY(run::Execution execution, std::move(simple));
  return Chosen{std::move(execution), "default", plan.error().message};
}

Result<Verdict> run(const Request& request, Console& console) {
  if (!request.has("target")) {
    return usage("a run needs a machine", "give --target: tessera targets lists them");
  }
  if (request.has("plan") && request.has("layouts")) {
    return usage("--plan and --layouts both say where values are",
                 "pin layouts when planning: tessera plan --pins");
  }
  TESSERA_CHECK_OK(check_out(request));
  TESSERA_TRY(const int threads, thread_count(request.number("threads")));
  TESSERA_TRY(const Machine machine, read_target(request.text("target")));
  TESSERA_TRY(graph::Graph graph, read_model(request, console));
  const graph::Graph as_read = graph;
  TESSERA_TRY(const GivenTensors given, elements_of(graph, request));
  TESSERA_TRY(Chosen chosen, choose_execution(request, as_read, machine, threads));
  run::Execution& execution = chosen.execution;
  // It may have more values than the graph: ops can be written with simpler ones.
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    execution.graph.values[v].data = std::move(graph.values[v].data);
  }
  if (!console.json) {
    console.out << needs_text(execution, console.terminal);
    if (!chosen.why_default.empty()) {
      console.out << "  simple layouts, because there is no plan: " << printable(chosen.why_default)
                  << "\n";
    }
    console.out.flush();
  }
  const bool checks = request.has("check");
  TESSERA_TRY(const std::unique_ptr<device::Device> device,
              run::device_for(execution, /*checked=*/checks));
  ThreadPool pool(threads);
  RunReport report;
  Result<run::RunResult> result = [&] {
    const Interrupts interrupts;
    ProgressBar bar(console.err, console.terminal.shows_progress, result_bytes(execution.graph),
                    console.terminal.width);
    StepCheck observer(execution, given, checks, bar.done());
    Result<run::RunResult> ran = run::execute(execution, *device, given, pool, &observer);
    report.errors = observer.errors();
    return ran;
  }();
  if (!result) return result.error();
  TESSERA_TRY(report.cycles, run::predict(execution));
  TESSERA_TRY(report.simulation, run::simulate(execution, report.cycles));
  report.execution = &execution;
  report.result = &*result;
  report.is_checked = checks;
  report.layouts_from = chosen.layouts_from;
  if (request.has("out")) {
    report.files = output_files(execution.graph, request.text("out"));
    TESSERA_CHECK_OK(write_outputs(execution.graph, result->outputs, report.files));
  }
  if (request.has("trace")) {
    TESSERA_CHECK_OK(write_whole(request.text("trace"), run_trace(execution, report.cycles)));
  }
  console.out << (console.json ? report_json(report) + "\n"
                               : report_text(report, console.terminal));
  return report.is_within() ? Verdict::kYes : Verdict::kNo;
}

}  // namespace

Verb run_verb() {
  Verb verb;
  verb.name = "run";
  verb.is_question = false;
  verb.summary = "run a model on an emulated device, with a layout for each of its values";
  verb.description =
      "Runs a model (JSON or ONNX) on a device inside this process that has the memories of "
      "the target's places. Every place computes its part of each op on what its own memory holds; "
      "operands are moved to where they are read, and shares of sums are combined. The memory of "
      "every place is planned before anything runs, and printed; a model that does not fit is an "
      "error that names the tensors. The run is planned first, as tessera plan does it. --plan "
      "takes "
      "layouts, the division of work and the order from the file of a plan instead; --layouts has "
      "lines NAME: LAYOUT, where NAME may contain * and LAYOUT is the layout of a tensor in any "
      "notation, and values without a line are cut into rows and columns by their size, as they "
      "all are where the target lacks the figures for a plan. Elements of inputs come from --in, "
      "or are "
      "random with --random, which also makes the weights that the model does not have. --out "
      "writes each output to DIR/NAME.npy. With --check, the results of every op are compared with "
      "the op on whole tensors, and what a place reads must have been written there; the exit "
      "status is 1 if an op differs.\n\n"
      "seconds is the time that this process took. error is the largest difference, relative to "
      "1 + the number; the limit is 1e-3 for f32, 1e-2 for f16, 1/16 for bf16 and 0 for integers "
      "(docs/run.md).";
  verb.positionals = {
      {"model", Positional::Kind::kFile, "a model; - is standard input", {}, false}};
  verb.flags = {
      {"target", ValueKind::kText, "T", "required: the machine, a name or a path"},
      {"layouts", ValueKind::kText, "FILE", "lines NAME: LAYOUT, in any notation"},
      {"plan", ValueKind::kText, "FILE", "a plan of this model and target, made by tessera plan"},
      {"in", ValueKind::kTexts, "NAME=FILE",
       "elements of an input or a parameter, .npy; * in both stands for the same characters"},
      {"random", ValueKind::kNumber, "SEED", "random elements for what has none"},
      {"out", ValueKind::kText, "DIR", "a folder for the outputs"},
      {"check", ValueKind::kSwitch, "", "compare every op with the op on whole tensors"},
      {"trace", ValueKind::kText, "FILE", "write the predicted run as a trace for Perfetto"},
      {"threads", ValueKind::kNumber, "N", "number of threads; default all cores"},
      {"dim", ValueKind::kText, "NAMES", "extents of symbolic dims: batch=8,tokens=128"},
      {"shape", ValueKind::kText, "SHAPES", "shapes of inputs: 'x=1,3,224,224;y=1,10'"}};
  verb.examples = {"tessera graph --make mlp --batch-size 32 --out mlp.json",
                   "tessera run mlp.json --target wse2 --random 1 --check",
                   "tessera run mlp.json --target wse2 --random 1 --json"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools

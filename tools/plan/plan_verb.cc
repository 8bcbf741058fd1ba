// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/plan/model/model_plan.h"
#include "tessera/plan/model/validate_plan.h"
#include "tools/command/bug.h"
#include "tools/command/command.h"
#include "tools/command/search_input.h"
#include "tools/command/thread_count.h"
#include "tools/command/usage.h"
#include "tools/files/mapped_file.h"
#include "tools/files/text_file.h"
#include "tools/graph/read_model.h"
#include "tools/json/json.h"
#include "tools/plan/plan_file.h"
#include "tools/plan/plan_report.h"
#include "tools/run/value_layouts.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"
#include "tools/view/page_file.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMaxPinsBytes = std::size_t{16} << 20;
constexpr std::int64_t kMostCandidates = 4096;
constexpr int kUsedThreads = 2;

Result<plan::PlanOptions> read_options(const Request& request, const graph::Graph& graph) {
  plan::PlanOptions options;
  if (request.text("objective") == "memory") {
    options.objective = plan::Objective::kMemory;
  } else if (request.has("objective") && request.text("objective") != "time") {
    return usage(cat("--objective ", quote(request.text("objective")), " is not known"),
                 "time or memory");
  }
  if (request.has("seconds")) {
    TESSERA_TRY(options.seconds, read_seconds(request.text("seconds")));
  }
  if (request.has("candidates")) {
    const std::int64_t most = request.number("candidates");
    if (most < 1 || most > kMostCandidates) {
      return Error{ErrorCode::kOutOfRange,
                   cat("--candidates ", most, " is not from 1 to ", kMostCandidates)};
    }
    options.most_work = static_cast<std::size_t>(most);
    options.most_layouts = static_cast<std::size_t>(most);
  }
  TESSERA_TRY(const int threads, thread_count(request.number("threads")));
  options.threads = std::min(threads, kUsedThreads);
  if (request.has("pins")) {
    const std::string& file = request.text("pins");
    TESSERA_TRY(const std::string text, read_text_file(file, kMaxPinsBytes));
    TESSERA_TRY(options.pins, read_value_layouts(text, file, graph));
  }
  return options;
}

Result<Verdict> check(const Request& request, const graph::Graph& graph, const Machine& machine,
                      Console& console) {
  for (const std::string_view flag :
       {"objective", "pins", "seconds", "out", "candidates", "report"}) {
    if (request.has(flag))
      return usage(cat("--", flag, " has no meaning with --check"), "leave it");
  }
  TESSERA_TRY(const plan::ModelPlan plan, read_plan_file(request.text("check"), graph, machine));
  const std::vector<plan::PlanFinding> findings = plan::validate(plan, graph, machine);
  console.out << (console.json ? findings_json(findings) + "\n" : findings_text(findings));
  return findings.empty() ? Verdict::kYes : Verdict::kNo;
}

/// Writes the page that shows the plan.
Status write_report(const Request& request, const std::string& plan) {
  TESSERA_TRY(const std::string page, read_page(request.text("page")));
  TESSERA_TRY(const std::string filled, page_with(page, plan_state(plan)));
  return write_whole(request.text("report"), filled);
}

Result<Verdict> run(const Request& request, Console& console) {
  if (!request.has("target")) {
    return usage("a plan needs a machine", "give --target: tessera targets lists them");
  }
  for (const std::string_view flag : {"out", "report"}) {
    if (request.has(flag)) TESSERA_CHECK_OK(check_folder_of(request.text(flag)));
  }
  TESSERA_TRY(const Machine machine, read_target(request.text("target")));
  TESSERA_TRY(const graph::Graph graph, read_model(request, console));
  if (request.has("check")) return check(request, graph, machine, console);
  TESSERA_TRY(const plan::PlanOptions options, read_options(request, graph));
  const Result<plan::ModelPlan> plan = plan::plan_model(graph, machine, options);
  if (!plan && plan.error().code == ErrorCode::kDoesNotFit) {
    Json answer;
    answer["fits"] = false;
    return report_error_in(request.text("model"), "", plan.error(), console, std::move(answer));
  }
  if (!plan) return plan.error();
  const std::vector<plan::PlanFinding> findings = plan::validate(*plan, graph, machine, 1);
  if (!findings.empty()) {
    return Error{ErrorCode::kContradiction,
                 cat("the plan that was found is invalid: ", findings[0].message), std::nullopt,
                 kBugHelp};
  }
  if (request.has("out")) {
    TESSERA_CHECK_OK(write_whole(request.text("out"), plan_json(*plan, graph, machine)));
  }
  if (request.has("report"))
    TESSERA_CHECK_OK(write_report(request, plan_json(*plan, graph, machine)));
  console.out << (console.json ? plan_answer(*plan, graph, machine) + "\n"
                               : plan_text(*plan, graph, machine, console.terminal));
  return Verdict::kYes;
}

}  // namespace

Verb plan_verb() {
  Verb verb;
  verb.name = "plan";
  verb.is_question = false;
  verb.summary = "plan how a whole model runs on a target: work, layouts, moves and memory";
  verb.description =
      "Chooses how the work of every op of a model (JSON or ONNX) is divided over places and where "
      "every value is stored, so that all ops, one after the other, take as few cycles as possible "
      "and every memory suffices. Moves are priced as reshard --target prices them, and the choice "
      "comes with a proven lower bound for the candidates that were looked at. Beside it stands "
      "what simpler ways take: the default of run (max_grid), each op by itself (each_op_alone), "
      "op after op (greedy_forward). --objective memory finds the least memory per place first. "
      "--pins has lines NAME: LAYOUT as --layouts of run; a pinned layout is kept, or refused with "
      "the reason. --out writes the plan: layouts, work, moves, offsets and figures; run --plan "
      "carries it out, price says what it takes with other layouts, view shows it, and plan "
      "--check judges it by code that is independent of the planner. --report writes the page of "
      "view. The exit status is 1 if nothing fits (the error names what is missing where), and "
      "with --check if the plan is wrong (docs/planning.md).";
  verb.positionals = {
      {"model", Positional::Kind::kFile, "a model; - is standard input", {}, false}};
  verb.flags = {
      {"target", ValueKind::kText, "T", "the machine"},
      {"objective", ValueKind::kText, "WHAT", "time (the default) or memory"},
      {"pins", ValueKind::kText, "FILE", "lines NAME: LAYOUT that must be kept, in any notation"},
      {"seconds", ValueKind::kText, "S", "limit of the choice in seconds; default 10"},
      {"candidates", ValueKind::kNumber, "N",
       "divisions of work per op and layouts per value; default 20 and 16"},
      {"out", ValueKind::kText, "FILE", "write the plan"},
      {"check", ValueKind::kText, "FILE", "judge a plan instead of making one"},
      {"report", ValueKind::kText, "FILE", "write a page that shows the plan in a browser"},
      {"page", ValueKind::kText, "FILE", "the page to fill; default the installed one"},
      {"threads", ValueKind::kNumber, "N", "number of threads; default 2"},
      {"dim", ValueKind::kText, "NAMES", "extents of symbolic dims: batch=8,tokens=128"},
      {"shape", ValueKind::kText, "SHAPES", "shapes of inputs: 'x=1,3,224,224;y=1,10'"}};
  verb.examples = {
      "tessera graph --make mlp --batch-size 32 --out mlp.json",
      "tessera plan mlp.json --target wormhole --out mlp.plan.json",
      "tessera plan mlp.json --target wormhole --check mlp.plan.json",
      "tessera run mlp.json --target wormhole --plan mlp.plan.json --random 1 --check"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/propagate.h"

#include <ostream>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/moves/price.h"
#include "tessera/notation/tensor_fit.h"
#include "tessera/ops/machines/propagate_on.h"
#include "tessera/ops/prices.h"
#include "tessera/ops/transforms.h"
#include "tools/command/command.h"
#include "tools/propagate/answer.h"
#include "tools/propagate/ask.h"
#include "tools/targets/read_target.h"

namespace tessera::tools {
namespace {

/// The first operand that does not fit the machine, as a reason; empty if all fit.
Result<std::string> misfit(const Asked& asked, const ops::Answer& answer, const Machine& machine) {
  const auto reason = [&](std::string_view kind, std::size_t i,
                          const target::Fit& fit) -> std::string {
    if (fit.fits()) return "";
    return cat(kind, " ", i, " does not fit ", machine.name, ": ", fit.reasons.front().message);
  };
  const bool pages = ops::family_of(machine) == ops::MachineFamily::kTtnn;
  const auto made_fit = [&](const Layout& layout) {
    const bool interleaved = pages && layout.places() == 1;
    return target::fits(layout, machine,
                        interleaved ? target::Spread::kInterleaved : target::Spread::kWhole);
  };
  for (std::size_t i = 0; i < answer.inputs.size(); ++i) {
    if (!answer.inputs[i]) continue;
    const std::optional<Operand>& operand = asked.inputs[i];
    const bool given = operand && operand->tensor;
    TESSERA_TRY(const target::Fit fit,
                given ? notation::fits(*operand->tensor, machine) : made_fit(*answer.inputs[i]));
    if (std::string text = reason("input", i, fit); !text.empty()) return text;
  }
  for (std::size_t o = 0; o < answer.outputs.size(); ++o) {
    TESSERA_TRY(const target::Fit fit, made_fit(answer.outputs[o]));
    if (std::string text = reason("output", o, fit); !text.empty()) return text;
  }
  return std::string();
}

/// The question to a machine: its predicates, its memory, the prices of alternatives.
Status ask_machine(const Asked& asked, const ops::Question& question, const Machine& machine,
                   Propagated& made, ops::Kernels& kernels) {
  const std::optional<ops::MachineFamily> family = ops::family_of(machine);
  if (family) {
    TESSERA_TRY(ops::OnMachine on, ops::propagate_on(*family, machine.places(), question));
    made.answer = std::move(on.answer);
    made.rule = std::move(on.rule);
    made.brought = std::move(on.brought);
    made.family = ops::family_name(*family);
    kernels = std::move(on.kernels);
  } else {
    TESSERA_TRY(made.answer, ops::propagate(question));
  }
  if (made.answer.legal) {
    TESSERA_TRY(made.answer.reason, misfit(asked, made.answer, machine));
    made.answer.legal = made.answer.reason.empty();
    if (!made.answer.legal) made.answer.outputs.clear();
  }
  if (made.answer.alternatives.empty()) return ok_status();
  if (const auto model = moves::MoveModel::make(machine)) {
    ops::price_alternatives(*model, question.inputs, made.answer.alternatives);
  }
  return ok_status();
}

Result<Propagated> propagated(const Asked& asked, const std::optional<Machine>& machine) {
  const std::vector<const graph::TensorType*> types = asked.input_types();
  const graph::Call call = asked.call(types);
  ops::Question question{&call, {}, {}};
  const auto layout_of = [](const std::optional<Operand>& operand) {
    return operand ? operand->layout : std::optional<Layout>();
  };
  for (const auto& input : asked.inputs) question.inputs.push_back(layout_of(input));
  for (const auto& output : asked.outputs) question.outputs.push_back(layout_of(output));
  Propagated made;
  ops::Kernels kernels;
  if (machine) {
    TESSERA_CHECK_OK(ask_machine(asked, question, *machine, made, kernels));
  } else {
    TESSERA_TRY(made.answer, ops::propagate(question));
  }
  if (!made.answer.legal) return made;
  if (!made.answer.work) {
    made.no_shares = "kernels bring all operands themselves and divide the work as they like";
    return made;
  }
  auto shares = ops::shares_of(call, asked.output_types, made.answer.loops, *made.answer.work);
  if (shares) {
    made.shares = *std::move(shares);
    made.scratch = ops::scratch_of(made.answer, made.shares, kernels);
  } else {
    made.no_shares = shares.error().message;
  }
  return made;
}

Result<Verdict> run(const Request& request, Console& console) {
  std::optional<Machine> machine;
  if (request.has("target")) {
    TESSERA_TRY(machine, read_target(request.text("target")));
  }
  Failure failure;
  const std::optional<ops::MachineFamily> family =
      machine ? ops::family_of(*machine) : std::optional<ops::MachineFamily>();
  const bool own_meshes = family && *family != ops::MachineFamily::kWafer;
  const std::optional<Asked> asked = read_asked(request, own_meshes, console.in, failure);
  if (!asked) {
    if (!failure.error.span) return failure.error;
    if (console.json) {
      console.out << dump(error_json(failure.error)) << '\n';
    } else {
      console.err << render(failure.error, failure.source);
    }
    return Verdict::kBadInput;
  }
  TESSERA_TRY(const Propagated answer, propagated(*asked, machine));
  console.out << (console.json ? dump(propagated_json(*asked, answer)) + "\n"
                               : propagated_text(*asked, answer, console.terminal));
  return answer.answer.legal ? Verdict::kYes : Verdict::kNo;
}

}  // namespace

Verb propagate_verb() {
  Verb verb;
  verb.name = "propagate";
  verb.summary = "whether an op can run on tensors in given layouts, and what results";
  verb.description =
      "Asks whether every place has what it reads when an op runs on tensors in these layouts; "
      "where the results are; which are partial sums; which halos have to be exchanged before; and "
      "what each place computes, reads and makes. If the op cannot run, prints the reason and "
      "layouts with which it can. Inputs are given with --in in their order, once each; one "
      "without a layout is a type such as 32x64xf32 and gets the layout that the work needs; _ "
      "omits an optional input. With --out and no layouts of inputs, the question is answered "
      "backwards: which inputs give this output. Element types and shapes are checked by the op's "
      "type rule (docs/ops.md). Exit status: 0 legal, 1 not legal, 2 bad input.\n\n"
      "Layouts of several notations may be mixed: coordinates are the same place if they are "
      "equal, "
      "and device numbers count row by row. With --target, the kernels of the machine must allow "
      "the call (TTNN on Tenstorrent, Spyre, wafers: docs/propagate.md), every operand must fit "
      "its "
      "memories, and alternatives are ordered by what the moves to them take.";
  verb.positionals = {{"op", Positional::Kind::kWord, "the op, such as matmul", {}, false}};
  verb.flags = {
      {"in", ValueKind::kTexts, "TENSOR", "one for each input, in order; _ for an omitted one"},
      {"out", ValueKind::kTexts, "TENSOR",
       "the layout that an output should have; one for each output"},
      {"attr", ValueKind::kTexts, "NAME=VALUE", "an attribute: axis=1, perm=[1,0]"},
      {"outputs", ValueKind::kNumber, "N",
       "number of outputs of an op that may have any number, such as split"},
      {"target", ValueKind::kText, "T", "a machine whose kernels must allow it"}};
  verb.examples = {
      "tessera propagate relu --in 'tensor<64x64xf32, pyflame.Grid(4, 4)>'",
      "tessera propagate matmul --in 64x32xf32 --in 32x64xf32 "
      "--out 'tensor<64x64xf32, pyflame.Grid(4, 4)>'",
      "tessera propagate softmax --in 'tensor<8x16xf32, gspmd{devices=[4,1]<=[4]}>' --attr axis=1"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools

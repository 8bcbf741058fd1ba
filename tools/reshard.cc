// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string_view>

#include "tessera/base/text.h"
#include "tools/command.h"
#include "tools/reshard_answer.h"
#include "tools/reshard_print.h"
#include "tools/words.h"

namespace tessera::tools {
namespace {

Error usage(std::string message, std::string help) {
  return Error{ErrorCode::kUsage, std::move(message), std::nullopt, std::move(help)};
}

/// What can be asked at once.
Status check_flags(const Request& request) {
  if (request.has("heat") && request.has("no-heat")) {
    return usage("--heat and --no-heat contradict each other", "leave one of them out");
  }
  const bool never = request.has("simulate") && request.text("simulate") == "never";
  for (const std::string_view name : {"trace", "mode"}) {
    if (!never || !request.has(name)) continue;
    return usage(cat("--", name, " is about a simulation, and --simulate is never"),
                 "leave one of them out");
  }
  if (request.has("trace") && request.text("trace").empty()) {
    return usage("--trace names no file", "name one: --trace t.json");
  }
  if (request.has("staging") && request.number("staging") < 1) {
    return usage(cat("--staging is ", request.number("staging")), "give at least 1 byte");
  }
  return ok_status();
}

/// The value of a flag that knows these words only.
template <typename T, std::size_t N>
Result<T> chosen(const Request& request, std::string_view flag, T otherwise,
                 const std::array<std::pair<std::string_view, T>, N>& choices) {
  if (!request.has(flag)) return otherwise;
  const std::string& text = request.text(flag);
  std::vector<std::string_view> names;
  std::string all;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
    all += cat(all.empty() ? "" : ", ", name);
  }
  return Error{ErrorCode::kUnknownName, cat("there is no --", flag, " ", quote(text)), std::nullopt,
               tools::did_you_mean(text, names, cat("it is one of ", all))};
}

Result<Verdict> run(const Request& request, Console& console) {
  TESSERA_CHECK_OK(check_flags(request));
  ReshardQuestion question;
  question.target = request.text("target");
  question.pairs = request.has("pairs");
  question.heat = request.has("heat");
  question.heat_unasked = !console.json && !request.has("no-heat");
  question.relabel = request.has("relabel");
  if (request.has("staging")) question.staging_bytes = request.number("staging");
  question.trace = request.text("trace");
  TESSERA_TRY(question.simulate, (chosen<SimulateWhen, 3>(request, "simulate", SimulateWhen::kAuto,
                                                          {{{"auto", SimulateWhen::kAuto},
                                                            {"always", SimulateWhen::kAlways},
                                                            {"never", SimulateWhen::kNever}}})));
  TESSERA_TRY(
      question.mode,
      (chosen<FabricMode, 2>(request, "mode", FabricMode::kIdeal,
                             {{{"ideal", FabricMode::kIdeal}, {"colours", FabricMode::kStatic}}})));
  TESSERA_TRY(const ReshardAnswer answer,
              answer_reshard(request.tensor("a"), request.tensor("b"), question));
  if (console.json) {
    print_reshard_json(answer, console.out);
  } else {
    print_reshard_words(answer, console.out, console.terminal);
  }
  return Verdict::kYes;
}

}  // namespace

Verb reshard_verb() {
  Verb verb;
  verb.name = "reshard";
  verb.summary = "what it takes to bring a tensor from some places to others";
  verb.description =
      "Tells what has to cross a mesh when the data of A lie on its places and B wants them "
      "elsewhere: the kind of change, bytes, messages (ordered pairs of places), 32-bit wavelets, "
      "wavelet-hops, the load of the busiest link and ramp under XY routing (along the row, then "
      "the column), the longest way, and the cycles that follow from these. Each place takes an "
      "element from the nearest that has it; what one place sends to several goes once over each "
      "link; partial sums are combined where they arrive. Figures are exact and do not grow with "
      "the mesh; where they are few enough the wavelets are also sent one by one, which gives "
      "simulated_cycles. Places are physical: the device maps of A and B are followed. Without "
      "--target the mesh is just large enough for both. On a target whose routes are not known "
      "(noc, ring) everything that needs them is null. A gather that one place cannot hold is "
      "refused with the ways out, and the exit status is 1. Types are not converted here: relayout "
      "does that.";
  verb.positionals = {{"a", Positional::Kind::kTensor, "the tensor as it is", {}, false},
                      {"b", Positional::Kind::kTensor, "the tensor as it shall be", {}, false}};
  verb.flags = {
      {"target", ValueKind::kText, "T",
       "the machine: its name (see `tessera targets`) or a .json file"},
      {"pairs", ValueKind::kSwitch, "", "list every message: source, destination, bytes"},
      {"heat", ValueKind::kSwitch, "",
       "the load of links over the mesh; in words it is there unless --no-heat is"},
      {"no-heat", ValueKind::kSwitch, "", "no picture of the links"},
      {"relabel", ValueKind::kSwitch, "",
       "give B the places on which the fewest bytes cross, and print that B"},
      {"staging", ValueKind::kNumber, "BYTES",
       "in how many rounds, so that no place receives more than this in one"},
      {"simulate", ValueKind::kText, "WHEN",
       "auto (when it takes well under a second), always or never"},
      {"mode", ValueKind::kText, "MODE",
       "how it is simulated: ideal (wavelets carry their destination) or colours (static routes, "
       "in phases)"},
      {"trace", ValueKind::kText, "FILE",
       "simulate, and write what happened when, for ui.perfetto.dev or chrome://tracing"}};
  verb.examples = {
      "tessera reshard 'tensor<64x64xf32, pyflame.Grid(2, 8)>' 'tensor<64x64xf32, pyflame.Grid(4, "
      "4)>' --target wse2",
      "tessera reshard 'tensor<64x64xf32, pyflame.Grid(8, 8)>' 'tensor<64x64xf32, "
      "pyflame.SinglePE()>' --target wse2 --json --pairs"};
  verb.answers_json = true;
  verb.answers_batch = true;
  verb.refusal_is_no = true;
  verb.run = run;
  return verb;
}

}  // namespace tessera::tools

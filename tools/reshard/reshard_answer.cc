// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_answer.h"

#include <algorithm>
#include <cmath>

#include "tessera/base/text.h"
#include "tessera/moves/counted_move.h"
#include "tessera/moves/endpoints.h"
#include "tessera/moves/stored.h"
#include "tessera/notation/same_places.h"
#include "tessera/notation/tensor_fit.h"
#include "tools/files/mapped_file.h"
#include "tools/reshard/reshard_simulate.h"
#include "tools/reshard/reshard_trace.h"
#include "tools/targets/read_target.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::int64_t kMostMessages = std::int64_t{1} << 22;  // of a simulation

/// Errors for requested results that the network of a target without known routes cannot give.
Status check_routes(const reshard::PhysicalMesh& physical, const ReshardQuestion& question) {
  if (physical.fabric) return ok_status();
  const bool always = question.simulate == SimulateWhen::kAlways;
  if (!always && question.trace.empty()) return ok_status();
  return Error{ErrorCode::kNotSupported, cat("nothing can be simulated: ", physical.why_no_fabric),
               std::nullopt,
               cat("omit ", always ? "--simulate always" : "--trace",
                   ", or name a target whose network is a mesh")};
}

/// Whether memory suffices: an error, a warning, or the figures.
Status ask_memory(const Machine& machine, ReshardAnswer& answer) {
  Result<reshard::Feasibility> memory = reshard::feasible(*answer.reshard, machine);
  if (memory) {
    answer.memory = *std::move(memory);
    return ok_status();
  }
  const Error& error = memory.error();
  const bool is_refused = error.code == ErrorCode::kDoesNotFit;
  if (is_refused && answer.kind == reshard::ReshardKind::kGather) return error;
  answer.warnings.push_back(
      {std::string(code_name(error.code)),
       is_refused ? error.message : cat("memory was not checked: ", error.message), error.help});
  return ok_status();
}

/// A tensor as it is in a memory of the target.
Result<target::Fit> fit_in(const Tensor& tensor, const std::string& space, const Machine& machine) {
  Tensor stored = tensor;
  if (const Layout* const layout = tensor.placement.layout()) {
    LayoutSpec spec = layout->spec();
    spec.slots = layout->slots();
    spec.space = space;
    TESSERA_TRY(Layout placed, Layout::make(std::move(spec)));
    stored.placement = Placement(std::move(placed));
  }
  return notation::fits(stored, machine);
}

/// Whether A and B fit their memories, where these or the types differ: each alone, and both where
/// they share a memory. A gather that does not fit is refused, as ask_memory does.
Status ask_both_memories(const Tensor& a, const Tensor& b, const Machine& machine,
                         ReshardAnswer& answer) {
  std::int64_t held = 0;
  std::optional<std::int64_t> usable;
  bool warned = false;
  for (const bool first : {true, false}) {
    const std::string& space = first ? answer.move->space_a : answer.move->space_b;
    const Result<target::Fit> fit = fit_in(first ? a : b, space, machine);
    const std::string_view side = first ? "A" : "B";
    if (!fit) {
      answer.warnings.push_back(
          {std::string(code_name(fit.error().code)),
           cat("whether ", side, " fits was not checked: ", fit.error().message),
           fit.error().help});
      return ok_status();
    }
    held += fit->held_bytes;
    usable = fit->usable_bytes;
    if (fit->fits()) continue;
    warned = true;
    Error error{ErrorCode::kDoesNotFit,
                cat(side, " does not fit ", space, " of ", machine.name, ": ",
                    fit->reasons.front().message),
                std::nullopt, "use more places, or another memory (--space-a, --space-b)"};
    if (answer.kind == reshard::ReshardKind::kGather && !first) return error;
    answer.warnings.push_back({std::string(code_name(error.code)), error.message, error.help});
  }
  if (warned || answer.move->space_a != answer.move->space_b || !usable || held <= *usable) {
    return ok_status();
  }
  answer.warnings.push_back({std::string(code_name(ErrorCode::kDoesNotFit)),
                             cat("A and B together take ", held, " bytes of ", answer.move->space_a,
                                 ", which has ", *usable, " for data"),
                             "use more places, or move the tensor in parts"});
  return ok_status();
}

/// Warns where device numbers meet coordinates: on a target they are counted over its mesh, not
/// over the mesh of the tensor with coordinates, as without a target.
Status warn_of_numbers(const Tensor& a, const Tensor& b, const Machine& machine,
                       ReshardAnswer& answer) {
  TESSERA_TRY(const Notation* const of_a, find_notation(a.notation));
  TESSERA_TRY(const Notation* const of_b, find_notation(b.notation));
  if (of_a->numbers_places == of_b->numbers_places) return ok_status();
  const Tensor& other = of_a->numbers_places ? b : a;
  if (other.placement.places() == 1) return ok_status();
  answer.warnings.push_back(
      {"numbered_places",
       cat("the device numbers of ", of_a->numbers_places ? "A" : "B",
           " are counted row by row over the ", machine.shape().to_string(), " places of ",
           machine.name),
       "without --target they are counted over the mesh of the other tensor, as diff does"});
  return ok_status();
}

/// The loads of links, where they are requested or not too many.
Status ask_heat(const ReshardQuestion& question, ReshardAnswer& answer) {
  if (!(question.heat || question.heat_by_default) || !answer.cost.fabric) return ok_status();
  Result<reshard::LinkLoads> loads = reshard::link_loads(*answer.reshard);
  if (loads) {
    answer.loads = *std::move(loads);
    return ok_status();
  }
  const Error& error = loads.error();
  if (question.heat || error.code != ErrorCode::kTooLarge) return error;
  answer.warnings.push_back(
      {std::string(code_name(error.code)), cat("no picture: ", error.message), ""});
  return ok_status();
}

/// Why an optional simulation is not run; empty when it is.
std::string why_not(const ReshardAnswer& answer, const ReshardQuestion& question) {
  if (!answer.cost.fabric) return answer.physical.why_no_fabric;
  if (question.simulate == SimulateWhen::kNever) return "not requested";
  if (question.simulate == SimulateWhen::kAlways || !question.trace.empty()) return "";
  if (answer.cost.fabric->link_hops > kMostAutoHops) {
    return cat(answer.cost.fabric->link_hops,
               " wavelet-hops take too long (use --simulate always)");
  }
  if (answer.cost.messages > kMostAutoMessages) {
    return cat(answer.cost.messages, " messages take too long (use --simulate always)");
  }
  return "";
}

/// Refuses a simulation that would take too long, before its messages are listed.
Status check_hops(const reshard::ReshardCost& cost) {
  const std::int64_t most = fabric::SimulateOptions().max_hops;
  if (cost.fabric->link_hops <= most) return ok_status();
  return Error{ErrorCode::kTooLarge,
               cat("the messages take ", cost.fabric->link_hops, " hops, and at most ", most,
                   " are simulated"),
               std::nullopt, "simulate a smaller tensor, or fewer places"};
}

/// Simulates where that is requested or fast, and writes the trace.
Status ask_simulation(const ReshardQuestion& question, ReshardAnswer& answer) {
  answer.why_not_simulated = why_not(answer, question);
  if (!answer.why_not_simulated.empty()) return ok_status();
  TESSERA_CHECK_OK(check_hops(answer.cost));
  const bool traced = !question.trace.empty();
  const bool by_default = question.simulate == SimulateWhen::kAuto && !traced;
  Result<SimulatedReshard> simulated =
      simulate_messages(*answer.reshard, question.mode, kMostMessages, traced);
  if (!simulated && by_default) {
    answer.why_not_simulated = simulated.error().message;
    return ok_status();
  }
  if (!simulated) return simulated.error();
  if (traced) {
    const std::string title = cat(reshard::kind_name(answer.kind), " of ", answer.cost.bytes,
                                  " bytes on ", answer.physical.mesh.to_string(), " places");
    TESSERA_TRY(const std::string text,
                trace_text(title, answer.physical.mesh, simulated->messages));
    TESSERA_CHECK_OK(write_whole(question.trace, text));
  }
  answer.simulation = std::move(simulated->simulation);
  return ok_status();
}

/// The move whose kind and messages are shown. Where the types differ, the elements of A already
/// have the type of B.
Result<moves::Stored> moved_tensor(const moves::Stored& a, const moves::Stored& b) {
  const Placement& to = b.placement;
  moves::Stored from = a;
  if (a.placement.dtype() == to.dtype() && a.placement.atom().storage == to.atom().storage) {
    return from;
  }
  TESSERA_TRY(from.placement, moves::retyped(a.placement, to.dtype(), to.atom().storage));
  return from;
}

bool is_too_large(const Error& error) { return error.code == ErrorCode::kTooLarge; }

/// The kind and the messages of a move between memories whose pages are too many to be listed.
/// `why` is the error of listing them, which stands where they cannot be counted either, or where
/// what is asked for needs the list.
Status count_pages(const moves::Stored& a, const moves::Stored& b, const ReshardQuestion& question,
                   const Error& why, ReshardAnswer& answer) {
  const Machine& machine = *answer.machine;
  TESSERA_TRY(const std::size_t memory_a, moves::memory_of(a, machine));
  TESSERA_TRY(const std::size_t memory_b, moves::memory_of(b, machine));
  const bool on_places =
      moves::is_on_places(a, machine, memory_a) && moves::is_on_places(b, machine, memory_b);
  if (on_places || question.relabel || question.staging_bytes) return why;
  TESSERA_TRY(const moves::Stored from, moved_tensor(a, b));
  Result<moves::CountedMove> counted = moves::counted_move(machine, from, b);
  if (!counted) return why;
  answer.reshard.reset();
  TESSERA_TRY(answer.physical.mesh, Shape::make({moves::EndpointNumbers(machine).count()}));
  answer.physical.fabric.reset();
  answer.physical.why_no_fabric =
      cat("the memories of ", machine.name, " are not places of a mesh");
  TESSERA_CHECK_OK(check_routes(answer.physical, question));
  answer.kind = counted->kind;
  const bool stays = answer.move->space_a == answer.move->space_b && answer.move->same_types;
  if (answer.kind == reshard::ReshardKind::kIdentity && !stays) {
    answer.kind = reshard::ReshardKind::kReshard;
  }
  answer.cost = counted->cost;
  if (question.pairs) answer.pairs = std::move(counted->pairs);
  return ok_status();
}

/// A better order of B's places is sought among places only.
Status check_relabel(const ReshardQuestion& question, const moves::Move& move,
                     const reshard::Reshard& reshard) {
  if (!question.relabel || reshard.physical().mesh.rank() > 1 || move.space_a == move.space_b) {
    return ok_status();
  }
  return Error{ErrorCode::kNotSupported,
               cat("places cannot be relabelled between ", move.space_a, " and ", move.space_b),
               std::nullopt, "omit --relabel"};
}

/// The kind and the cost of the reshard in the answer.
Status ask_kind_and_cost(const ReshardQuestion& question, ReshardAnswer& answer) {
  if (answer.move && !question.relabel) {
    TESSERA_TRY(answer.kind, moves::kind_of(*answer.move, *answer.reshard));
  } else {
    TESSERA_TRY(answer.kind, reshard::kind_of(*answer.reshard));
  }
  TESSERA_TRY(answer.cost, reshard::cost_of(*answer.reshard));
  if (question.pairs) {
    TESSERA_TRY(answer.pairs, reshard::pairs_of(*answer.reshard, kMostPairs));
  }
  return ok_status();
}

/// The reshard of the answer, with its kind and cost; on the way, B on better places.
Status ask_reshard(const SamePlaces& places, Result<reshard::Reshard> made,
                   const ReshardQuestion& question, ReshardAnswer& answer) {
  if (!made) return made.error();
  reshard::Reshard reshard = *std::move(made);
  if (answer.move) TESSERA_CHECK_OK(check_relabel(question, *answer.move, reshard));
  TESSERA_CHECK_OK(check_routes(reshard.physical(), question));
  if (question.relabel) {
    TESSERA_TRY(answer.relabelled, reshard::relabel(reshard));
    TESSERA_TRY(reshard, reshard::Reshard::make(places.a, answer.relabelled->to, answer.physical));
  }
  answer.physical = reshard.physical();
  answer.reshard = std::move(reshard);
  return ask_kind_and_cost(question, answer);
}

}  // namespace

std::string unknown_places(const Tensor& a, const Tensor& b, const ReshardQuestion& question) {
  const auto space = [](const std::string& asked, const Tensor& tensor) {
    return asked.empty() ? notation::space_of(tensor) : asked;
  };
  const std::string space_a = space(question.space_a, a);
  const std::string space_b = space(question.space_b, b);
  if (space_a != space_b && !space_a.empty() && !space_b.empty()) {
    return cat("how data get from ", space_a, " to ", space_b);
  }
  const bool dealt_a = notation::spread_of(a) == target::Spread::kInterleaved;
  const bool dealt_b = notation::spread_of(b) == target::Spread::kInterleaved;
  if (!dealt_a && !dealt_b) return "";
  if (dealt_a && dealt_b) {
    const Result<Comparison> same = same_placement(a.placement, b.placement);
    if (same.ok() && same->equal) return "";
  }
  return cat("which banks or places hold the pages of ", dealt_a ? "A" : "B",
             ", which is interleaved");
}

std::optional<std::int64_t> ReshardAnswer::cycles() const {
  if (!move) return cost.fabric ? std::optional(cost.fabric->cycles) : std::nullopt;
  double cycles = 0;
  for (const moves::Step& step : move->steps) {
    if (step.kind != moves::Step::Kind::kExchange) continue;
    if (!step.cycles) return std::nullopt;
    cycles += *step.cycles;
  }
  // Cycles are whole where they come from a count of cycles.
  return static_cast<std::int64_t>(std::ceil(cycles - 1e-6));
}

std::optional<std::int64_t> ReshardAnswer::lower_bound_cycles() const {
  if (!cost.fabric || !physical.fabric->static_routes) return std::nullopt;
  // Its formula, too, is a model: a schedule may take a cycle less.
  return std::min(cost.fabric->cycles, cycles().value_or(cost.fabric->cycles));
}

std::optional<double> ReshardAnswer::seconds() const {
  if (move) return move->seconds;
  if (!clock_hz || !cost.fabric) return std::nullopt;
  return static_cast<double>(cost.fabric->cycles) / static_cast<double>(*clock_hz);
}

Result<ReshardAnswer> answer_reshard(const Tensor& a, const Tensor& b,
                                     const ReshardQuestion& question) {
  std::optional<Machine> machine;
  if (!question.target.empty()) {
    TESSERA_TRY(machine, read_target(question.target));
  }
  TESSERA_TRY(const SamePlaces places, same_places(a, b, machine.has_value()));
  TESSERA_TRY(const reshard::PhysicalMesh physical,
              machine ? reshard::PhysicalMesh::of(*machine)
                      : reshard::PhysicalMesh::around(places.a, places.b));
  ReshardAnswer answer;
  answer.physical = physical;
  answer.target = machine ? machine->name : std::string();
  answer.clock_hz = machine ? machine->clock_hz : std::nullopt;
  answer.machine = machine;
  if (machine) {
    const moves::Stored from{places.a, question.space_a, notation::spread_of(a)};
    const moves::Stored to{places.b, question.space_b, notation::spread_of(b)};
    TESSERA_TRY(const moves::MoveModel model, moves::MoveModel::make(*machine));
    TESSERA_TRY(answer.move, model.price(from, to));
    TESSERA_TRY(const moves::Stored moved, moved_tensor(from, to));
    Result<moves::MachineReshard> shown = moves::reshard_on(*machine, moved, to);
    const Status asked = ask_reshard(
        places, shown ? Result<reshard::Reshard>(std::move(shown->reshard)) : shown.error(),
        question, answer);
    if (!asked && !is_too_large(asked.error())) return asked.error();
    if (!asked) TESSERA_CHECK_OK(count_pages(from, to, question, asked.error(), answer));
  } else {
    TESSERA_CHECK_OK(ask_reshard(places, reshard::Reshard::make(places.a, places.b, physical),
                                 question, answer));
  }
  if (machine) {
    TESSERA_CHECK_OK(warn_of_numbers(a, b, *machine, answer));
    const bool one_memory = answer.move->space_a == answer.move->space_b &&
                            answer.move->same_types && answer.reshard &&
                            answer.physical.mesh == machine->shape();
    TESSERA_CHECK_OK(one_memory ? ask_memory(*machine, answer)
                                : ask_both_memories(a, b, *machine, answer));
  }
  if (question.staging_bytes) {
    TESSERA_TRY(answer.chunks, reshard::chunk(*answer.reshard, *question.staging_bytes));
  }
  TESSERA_CHECK_OK(ask_heat(question, answer));
  TESSERA_CHECK_OK(ask_simulation(question, answer));
  return answer;
}

}  // namespace tessera::tools

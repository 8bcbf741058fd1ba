// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/reshard_answer.h"

#include "tessera/base/text.h"
#include "tessera/notation/same_places.h"
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
  Result<reshard::Feasibility> memory = reshard::feasible(answer.reshard, machine);
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
  Result<reshard::LinkLoads> loads = reshard::link_loads(answer.reshard);
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
  if (!answer.cost.fabric) return answer.reshard.physical().why_no_fabric;
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
      simulate_messages(answer.reshard, question.mode, kMostMessages, traced);
  if (!simulated && by_default) {
    answer.why_not_simulated = simulated.error().message;
    return ok_status();
  }
  if (!simulated) return simulated.error();
  if (traced) {
    const std::string title =
        cat(reshard::kind_name(answer.kind), " of ", answer.cost.bytes, " bytes on ",
            answer.reshard.physical().mesh.to_string(), " places");
    TESSERA_TRY(const std::string text,
                trace_text(title, answer.reshard.physical().mesh, simulated->messages));
    TESSERA_CHECK_OK(write_whole(question.trace, text));
  }
  answer.simulation = std::move(simulated->simulation);
  return ok_status();
}

}  // namespace

std::optional<double> ReshardAnswer::seconds() const {
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
  TESSERA_CHECK_OK(check_routes(physical, question));
  TESSERA_TRY(reshard::Reshard reshard, reshard::Reshard::make(places.a, places.b, physical));
  std::optional<reshard::Relabelled> relabelled;
  if (question.relabel) {
    TESSERA_TRY(relabelled, reshard::relabel(reshard));
    TESSERA_TRY(reshard, reshard::Reshard::make(places.a, relabelled->to, physical));
  }
  ReshardAnswer answer{.target = machine ? machine->name : std::string(),
                       .clock_hz = machine ? machine->clock_hz : std::nullopt,
                       .reshard = std::move(reshard),
                       .kind = {},
                       .cost = {},
                       .relabelled = std::move(relabelled),
                       .memory = {},
                       .chunks = {},
                       .loads = {},
                       .pairs = {},
                       .simulation = {},
                       .why_not_simulated = {},
                       .warnings = {}};
  TESSERA_TRY(answer.kind, reshard::kind_of(answer.reshard));
  if (machine) {
    TESSERA_CHECK_OK(warn_of_numbers(a, b, *machine, answer));
    TESSERA_CHECK_OK(ask_memory(*machine, answer));
  }
  TESSERA_TRY(answer.cost, reshard::cost_of(answer.reshard));
  if (question.staging_bytes) {
    TESSERA_TRY(answer.chunks, reshard::chunk(answer.reshard, *question.staging_bytes));
  }
  TESSERA_CHECK_OK(ask_heat(question, answer));
  if (question.pairs) {
    TESSERA_TRY(answer.pairs, reshard::pairs_of(answer.reshard, kMostPairs));
  }
  TESSERA_CHECK_OK(ask_simulation(question, answer));
  return answer;
}

}  // namespace tessera::tools

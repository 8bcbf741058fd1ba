// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/pe_memory_planner.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/memory/in_place.h"
#include "tessera/target/machine.h"

namespace tessera::pyflame {
namespace {

constexpr std::int64_t kBumpAlign = 4;  ///< of PyFlame's own planner

std::string name_of(const PEGraph& graph, TensorId id) {
  return graph.tensor(id).name.empty() ? cat("tensor ", id) : quote_name(graph.tensor(id).name);
}

/// An error of one tensor, with the tensor's name.
Error about(const PEGraph& graph, TensorId id, const Error& error) {
  Error named = error;
  named.message = cat(name_of(graph, id), ": ", error.message);
  const auto at = static_cast<std::int64_t>(id);
  named.span = Span{at, at + 1};
  return named;
}

/// An error of one buffer, with its name: first tensors, then scratch buffers.
Error about(const memory::Lifetimes& lives, Error error) {
  if (!error.span || error.span->from >= std::ssize(lives.names)) return error;
  const std::string& name = lives.names[static_cast<std::size_t>(error.span->from)];
  error.message = cat(quote_name(name), ": ", error.message);
  return error;
}

Result<std::vector<Layout>> lower_all(const PEGraph& graph,
                                      const std::map<TensorId, MeshLayout>& layouts) {
  if (!layouts.empty() && layouts.rbegin()->first >= graph.tensors()) {
    return Error{
        ErrorCode::kOutOfRange,
        cat("a layout for tensor ", layouts.rbegin()->first, ", but there are ", graph.tensors()),
        std::nullopt, "tensors are named by their positions, from 0"};
  }
  std::vector<Layout> out;
  for (TensorId id = 0; id < graph.tensors(); ++id) {
    const auto found = layouts.find(id);
    if (found == layouts.end()) {
      return about(graph, id,
                   Error{ErrorCode::kBadBuffer, "there is no layout for this tensor", std::nullopt,
                         "every tensor needs one, such as MeshLayout::SinglePE()"});
    }
    const graph::TensorType& type = graph.tensor(id).type;
    Result<Layout> lowered = found->second.lower(type.shape.extents(), type.dtype);
    if (!lowered) return about(graph, id, lowered.error());
    out.push_back(*std::move(lowered));
  }
  return out;
}

/// Reserves that scratch may name; targets may have more.
constexpr std::array<std::string_view, 4> kReserves = {"routing", "transform_staging",
                                                       "receive_queues", "double_buffers"};

/// Whether the target's reserve holds all scratch of an op that names it.
Result<bool> is_reserved(const memory::Op& op, const std::string& reserve,
                         const target::MemorySpace& space) {
  const std::int64_t bytes = space.reserved_bytes(reserve);
  if (bytes == 0 && std::count(kReserves.begin(), kReserves.end(), reserve) == 0) {
    std::vector<std::string_view> known(kReserves.begin(), kReserves.end());
    for (const target::Reserve& each : space.reserved) known.push_back(each.name);
    return Error{ErrorCode::kUnknownName,
                 cat("scratch of ", quote_name(op.name), " names the reserve ", quote_name(reserve),
                     ", which does not exist"),
                 std::nullopt, did_you_mean(reserve, known)};
  }
  Checked wanted = 0;
  for (const memory::Scratch& scratch : op.scratch) {
    if (scratch.reserve == reserve) wanted += scratch.bytes;
  }
  return wanted.saturated() <= bytes;
}

/// The bytes of an element, for its alignment; 1 for packed types.
std::int64_t element_bytes(DType dtype) {
  return std::max<std::int64_t>(1, dtype_bits(dtype).value_or(8) / 8);
}

/// Everything that takes memory, in the order of Lifetimes: first tensors, then scratch buffers.
Result<std::vector<memory::SizedTensor>> sized(const memory::Program& program,
                                               const std::vector<Layout>& layouts,
                                               const target::MemorySpace& space) {
  std::vector<memory::SizedTensor> out;
  for (const Layout& layout : layouts) out.push_back({&layout});
  for (const memory::Op& op : program.ops) {
    for (const memory::Scratch& scratch : op.scratch) {
      if (scratch.where && *scratch.where >= layouts.size()) {
        return Error{ErrorCode::kOutOfRange,
                     cat("scratch of ", quote_name(op.name), " is placed with tensor ",
                         *scratch.where, ", but there are ", layouts.size()),
                     std::nullopt, "tensors are named by their positions, from 0"};
      }
      bool reserved = false;
      if (!scratch.reserve.empty()) {
        TESSERA_TRY(reserved, is_reserved(op, scratch.reserve, space));
      }
      out.push_back(
          {scratch.where ? &layouts[*scratch.where] : nullptr, reserved ? 0 : scratch.bytes});
    }
  }
  return out;
}

void set_alignments(const PEGraph& graph, const memory::Program& program, std::int64_t align,
                    memory::Lifetimes& lives) {
  std::size_t next = 0;
  for (; next < graph.tensors(); ++next) {
    memory::Buffer& buffer = lives.buffers[next];
    const std::int64_t element = element_bytes(graph.tensor(next).type.dtype);
    // The start of a view is fixed, so only its elements need to be aligned.
    const bool inside = buffer.alias && buffer.alias->delta > 0;
    buffer.alignment = inside ? element : std::lcm(align, element);
  }
  for (const memory::Op& op : program.ops) {
    for (const memory::Scratch& scratch : op.scratch) {
      const std::int64_t element =
          scratch.where ? element_bytes(graph.tensor(*scratch.where).type.dtype) : 1;
      lives.buffers[next++].alignment = std::lcm(align, element);
    }
  }
}

/// The most bytes that all tensors of one PE take one after the other, plus the scratch of one op.
std::int64_t bump_bytes(const memory::Program& program, const memory::PlaceSizes& sizes) {
  std::int64_t most = 0;
  for (const std::uint32_t c : sizes.maximal()) {
    const memory::PlaceSizes::Look look = sizes.look(c);
    const auto whole = [&](std::size_t i) {
      return Checked(ceil_div(look[i], kBumpAlign)) * kBumpAlign;
    };
    Checked sum = 0;
    std::size_t next = 0;
    for (; next < program.values.size(); ++next) sum += whole(next);
    std::int64_t most_scratch = 0;
    for (const memory::Op& op : program.ops) {
      Checked scratch = 0;
      for (std::size_t i = 0; i < op.scratch.size(); ++i) scratch += whole(next++);
      most_scratch = std::max(most_scratch, scratch.saturated());
    }
    most = std::max(most, (sum + most_scratch).saturated());
  }
  return most;
}

}  // namespace

PEMemoryPlanner::PEMemoryPlanner() {
  const Result<const Machine*> wse2 = find_machine("wse2");
  assert(wse2.ok());
  machine_ = **wse2;
}

std::size_t PEMemoryPlanner::PE_MEMORY_SIZE() const {
  return static_cast<std::size_t>(machine_.default_space().bytes.value_or(0));
}

std::size_t PEMemoryPlanner::AVAILABLE_FOR_DATA() const {
  return static_cast<std::size_t>(machine_.default_space().data_bytes().value_or(0));
}

std::size_t PEMemoryPlanner::reserved_for(std::string_view name) const {
  return static_cast<std::size_t>(machine_.default_space().reserved_bytes(name));
}

std::int64_t PEMemoryPlanner::align_bytes() const {
  const std::int64_t wavelet = machine_.rules.wavelet_bits.value_or(8) / 8;
  return std::lcm(machine_.default_space().align_bytes, std::max<std::int64_t>(1, wavelet));
}

Result<PEMemoryPlanner::Planned> PEMemoryPlanner::plan_program(const PEGraph& graph,
                                                               const memory::Program& program,
                                                               const memory::PlaceSizes& sizes,
                                                               const Options& options) const {
  TESSERA_TRY(memory::Lifetimes lives, memory::lifetimes(program, sizes.inside()));
  set_alignments(graph, program, align_bytes(), lives);
  // Heuristics give a low plan at once. All other techniques run only if that plan is too high, or
  // if the lowest plan is requested.
  memory::MeshPlanOptions mesh_options;
  mesh_options.mode = options.mode;
  mesh_options.solve.capacity = machine_.default_space().data_bytes();
  mesh_options.solve.minimize = options.minimize || !options.quick;
  mesh_options.solve.seconds = options.seconds;
  mesh_options.solve.techniques.repair = options.minimize;
  mesh_options.solve.techniques.exact = options.minimize;
  Result<memory::MeshPlan> plan = memory::plan_mesh(lives.buffers, sizes, mesh_options);
  if (!plan) return about(lives, plan.error());
  if (plan->outcome == memory::Outcome::kUnknown && !options.minimize) {
    mesh_options.solve.minimize = false;
    mesh_options.solve.techniques = {};
    TESSERA_TRY(plan, memory::plan_mesh(lives.buffers, sizes, mesh_options));
  }
  return Planned{std::move(lives), *std::move(plan)};
}

Result<MemoryPlan> PEMemoryPlanner::attempt(const PEGraph& graph,
                                            const std::map<TensorId, MeshLayout>& layouts,
                                            const Options& options) const {
  if (graph.error()) return *graph.error();
  TESSERA_CHECK_OK(machine_.check());
  const target::MemorySpace& space = machine_.default_space();
  const std::optional<std::int64_t> available = space.data_bytes();
  if (!available || space.owner != target::MemorySpace::Owner::kPlace ||
      machine_.shape().rank() != 2) {
    return Error{
        ErrorCode::kNotSupported,
        cat(machine_.name, " has no PEs in rows and columns with a known data budget each"),
        std::nullopt, "plan for a target such as wse2"};
  }
  TESSERA_TRY(const std::vector<Layout> lowered, lower_all(graph, layouts));
  memory::Program program = graph.program();
  TESSERA_TRY(const std::vector<memory::SizedTensor> tensors, sized(program, lowered, space));
  Result<memory::PlaceSizes> sizes =
      memory::PlaceSizes::make(machine_.shape(), tensors, {align_bytes(), options.allocated});
  if (!sizes) {
    const std::optional<Span>& span = sizes.error().span;
    if (!span || span->from >= static_cast<std::int64_t>(graph.tensors())) return sizes.error();
    return about(graph, static_cast<TensorId>(span->from), sizes.error());
  }
  TESSERA_TRY(Planned planned, plan_program(graph, program, *sizes, options));
  const std::vector<memory::Declined> smaller =
      memory::take_back_smaller(program, planned.lives, sizes->inside());
  if (!smaller.empty()) {
    Result<Planned> without = plan_program(graph, program, *sizes, options);
    if (without && without->plan.peak < planned.plan.peak) {  // otherwise keep the plan that exists
      planned = *std::move(without);
      planned.lives.declined.insert(planned.lives.declined.end(), smaller.begin(), smaller.end());
    }
  }
  MemoryPlan out;
  auto state = std::make_shared<MemoryPlan::State>(
      MemoryPlan::State{*std::move(sizes), std::move(planned.lives), std::move(planned.plan),
                        graph.tensors(), *available});
  state->bump = bump_bytes(program, state->sizes);
  out.valid = state->plan.outcome == memory::Outcome::kFits;
  auto offset = static_cast<std::size_t>(*available);
  for (const target::Reserve& reserve : space.reserved) {
    out.reservations.push_back({offset, static_cast<std::size_t>(reserve.bytes), reserve.name});
    offset += static_cast<std::size_t>(reserve.bytes);
  }
  if (!machine_.dead.empty()) {
    const std::vector<std::int64_t> used = state->plan.used_by_class(state->sizes);
    for (const std::int64_t number : machine_.dead_places()) {
      const Place place = state->sizes.mesh().delinear(number);
      const std::size_t c = state->sizes.class_of(place);
      // Scratch of every place is for the places that run the op, and dead places run nothing.
      const memory::PlaceSizes::Look look = state->sizes.look(c);
      const bool holds = std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) {
        return tensor.layout != nullptr &&
               look[static_cast<std::size_t>(&tensor - &tensors[0])] > 0;
      });
      if (!holds) continue;
      return Error{ErrorCode::kDoesNotFit,
                   cat("PE ", bracketed(place), " is dead, but would hold ", used[c], " bytes"),
                   std::nullopt, "choose grids and origins that avoid it"};
    }
  }
  out.state_ = std::move(state);
  return out;
}

MemoryPlan PEMemoryPlanner::plan(const PEGraph& graph,
                                 const std::map<TensorId, MeshLayout>& layouts,
                                 const Options& options) const {
  Result<MemoryPlan> made = attempt(graph, layouts, options);
  MemoryPlan out;
  if (!made) {
    out.error = made.error();
  } else {
    out = *std::move(made);
    if (!out.valid) {
      explain(graph, out);
      if (options.advise && out.shortfall) advise(graph, layouts, options, out);
    }
  }
  if (out.error) {
    if (!out.advice.empty()) out.error->help = out.advice[0].sentence();
    out.error_message = out.error->message;
  }
  return out;
}

}  // namespace tessera::pyflame

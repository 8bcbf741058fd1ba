// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/compile_step.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/view.h"
#include "tessera/ops/divide_like.h"
#include "tessera/ops/layouts_for.h"
#include "tessera/ops/propagate.h"
#include "tessera/ops/shares.h"
#include "tessera/ops/supply.h"
#include "tessera/run/common_mesh.h"
#include "tessera/run/elements.h"
#include "tessera/run/kernels/kernel.h"

namespace tessera::run {
namespace {

/// The same slots with elements of another type.
Result<Layout> with_type_of(const Layout& layout, DType dtype) {
  LayoutSpec spec = layout.spec();
  spec.dtype = dtype;
  spec.atom.storage = dtype;
  spec.padding = PaddingValue::undef();
  return Layout::make(std::move(spec));
}

bool is_stored_as_other(const Layout& layout) { return layout.atom().storage != layout.dtype(); }

bool is_partial(const Layout& layout) { return !ops::partial_axes(layout).empty(); }

/// All of a tensor on every place that may work.
Result<Layout> everywhere(const graph::TensorType& type, const ops::WorkMap& work) {
  TESSERA_TRY(const Layout flat, Layout::row_major(type.shape, type.dtype));
  LayoutSpec spec = flat.spec();
  spec.form.mesh = work.mesh();
  const Box places = places_around(work.form());
  for (std::size_t a = 0; a < places.from.size(); ++a) {
    const auto axis = static_cast<int>(a);
    spec.form.fills.push_back(Fill::replicate(axis, places.to[a] - places.from[a]));
    if (places.from[a] > 0) spec.form.fills.push_back(Fill::fixed(axis, places.from[a]));
  }
  return Layout::make(std::move(spec));
}

}  // namespace

Result<ops::WorkMap> on_mesh(const ops::Loops& loops, const ops::WorkMap& work, const Shape& mesh) {
  Form form = work.form();
  form.mesh = mesh;
  for (std::size_t a = 0; a < mesh.rank(); ++a) {
    if (mesh[a] > 1 && !is_said(form, a)) {
      form.fills.push_back(Fill::fixed(static_cast<int>(a), 0));
    }
  }
  return ops::WorkMap::make(loops, std::move(form));
}

Error StepCompiler::in_node(Error error) const {
  error.message = cat(graph::node_text(made_.graph, node()), ": ", error.message);
  return error;
}

/// In a memory that places share, blocks with halos are no simple part of another buffer.
bool StepCompiler::kernels_have_own_memory() const {
  const target::MemorySpace* const space = made_.machine.find_space(made_.machine.data_space);
  return space != nullptr && space->owner == target::MemorySpace::Owner::kPlace;
}

BufferNumber StepCompiler::add_buffer(std::string name, Layout layout, std::int64_t from,
                                      std::int64_t to) {
  Box places = places_around(layout.form());
  made_.buffers.push_back({std::move(name), std::move(layout), made_.machine.data_space,
                           4 * number_ + from, 4 * number_ + to, 0, 0, std::move(places)});
  return made_.buffers.size() - 1;
}

void StepCompiler::read_until(BufferNumber buffer, std::int64_t moment) {
  std::int64_t& to = made_.buffers[buffer].to;
  to = std::max(to, 4 * number_ + moment + 1);
}

Result<ops::WorkMap> StepCompiler::follow_operands(const ops::Loops& loops) const {
  const auto is_read = [&](std::size_t i) {
    return node().inputs[i] != graph::kAbsent && loops.inputs[i].has_value();
  };
  const auto elements = [&](graph::ValueId v) {
    return made_.graph.values[v].type.shape.elements();
  };
  std::optional<std::size_t> largest;
  for (std::size_t i = 0; choice_.largest_first && i < node().inputs.size(); ++i) {
    if (!is_read(i)) continue;
    const graph::ValueId v = node().inputs[i];
    if (made_.buffers[v].space != made_.machine.data_space) continue;
    if (!largest || elements(v) > elements(node().inputs[*largest])) largest = i;
  }
  ops::Division division(loops, made_.mesh);
  const auto follow = [&](std::size_t i) {
    return division.follow(*loops.inputs[i], made_.buffers[node().inputs[i]].layout.form());
  };
  if (largest) TESSERA_CHECK_OK(follow(*largest));
  for (std::size_t o = 0; o < node().outputs.size(); ++o) {
    TESSERA_CHECK_OK(
        division.follow(loops.outputs[o], made_.buffers[node().outputs[o]].layout.form()));
  }
  for (std::size_t i = 0; i < node().inputs.size(); ++i) {
    if (is_read(i) && i != largest) TESSERA_CHECK_OK(follow(i));
  }
  return std::move(division).finish();
}

/// Of the longest sum that no places divide; nothing if there is none.
std::optional<Panels> StepCompiler::panels_of(const Step& step) const {
  if (choice_.panels <= 1 || step.loops.outputs.size() != 1) return std::nullopt;
  const std::vector<ops::Factor>& factors = step.loops.factors;
  std::optional<std::size_t> longest;
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const bool is_sum = factors[f].kind == ops::FactorKind::kReduce &&
                        factors[f].reduction == Reduction::kSum && factors[f].extent > 1;
    const bool is_divided = std::ranges::any_of(step.work.form().folds, [&](const Fold& fold) {
      return std::ranges::find(fold.terms, static_cast<int>(f), &Term::dim) != fold.terms.end();
    });
    if (!is_sum || is_divided) continue;
    if (!longest || factors[f].extent > factors[*longest].extent) longest = f;
  }
  if (!longest) return std::nullopt;
  const std::int64_t extent = factors[*longest].extent;
  Panels panels;
  panels.factor = *longest;
  panels.length = ceil_div(extent, std::min(choice_.panels, extent));
  panels.bring.resize(static_cast<std::size_t>(ceil_div(extent, panels.length)));
  return panels;
}

Result<bool> StepCompiler::bring_panels(std::size_t i, BufferNumber source, const Layout& whole,
                                        Step& step) {
  if (!step.panels) return false;
  Panels& panels = *step.panels;
  const ops::Access& access = *step.loops.inputs[i];
  const ops::DimAccess along = ops::at(static_cast<int>(panels.factor));
  const auto found = std::ranges::find(access.dims, along);
  const std::int64_t extent = step.loops.factors[panels.factor].extent;
  if (found == access.dims.end()) return false;
  const auto touches = [&](const ops::DimAccess& each) {
    return std::ranges::find(each.terms, static_cast<int>(panels.factor), &Term::dim) !=
           each.terms.end();
  };
  if (std::ranges::count_if(access.dims, touches) != 1) return false;
  const auto dim = static_cast<std::size_t>(found - access.dims.begin());
  graph::TensorType type = made_.graph.values[node().inputs[i]].type;
  if (type.shape[dim] != extent) return false;
  // A panel is an operand of the same op with a shorter sum.
  ops::Loops loops = step.loops;
  loops.factors[panels.factor].extent = panels.length;
  Form form = step.work.form();
  TESSERA_TRY(form.shape, loops.iterations());
  TESSERA_TRY(const ops::WorkMap work, ops::WorkMap::make(loops, std::move(form)));
  std::vector<std::int64_t> extents = type.shape.extents();
  extents[dim] = panels.length;
  TESSERA_TRY(type.shape, Shape::make(std::move(extents)));
  TESSERA_TRY(const Layout panel, ops::layout_for_input(loops, access, type, work));
  const std::string name = cat(value_name(node().inputs[i]), " in panels");
  OperandSource made{add_buffer(name, panel, 0, 2), nullptr, dim, add_buffer(name, panel, 0, 2)};
  for (std::size_t p = 0; p < panels.bring.size(); ++p) {
    const std::int64_t start = static_cast<std::int64_t>(p) * panels.length;
    const std::int64_t count = std::min(panels.length, extent - start);
    Move move{source, p % 2 == 0 ? made.buffer : made.second};
    move.slice = Slice{dim, start, count};
    panels.bring[p].push_back(std::move(move));
  }
  panels.operands.push_back({source, whole});
  // Panels arrive while kernels run.
  read_until(source, 1);
  step.inputs[i] = made;
  return true;
}

namespace {

/// The dim of which the smallest part is read, by one factor, and that part.
std::optional<Slice> part_that_is_read(const ops::Loops& loops, const ops::Access& access,
                                       const Shape& shape) {
  std::optional<Slice> found;
  for (std::size_t d = 0; d < access.dims.size(); ++d) {
    const ops::DimAccess& dim = access.dims[d];
    if (dim.terms.size() > 1) continue;
    Checked first(dim.start);
    Checked last(dim.start);
    for (const Term& term : dim.terms) {
      const std::int64_t extent = loops.factors[static_cast<std::size_t>(term.dim)].extent;
      (term.coef < 0 ? first : last) += Checked(term.coef) * (extent - 1);
    }
    if (first.overflowed() || last.overflowed()) continue;
    const std::int64_t from = std::max<std::int64_t>(first.raw(), 0);
    const std::int64_t to = std::min(last.raw() + 1, shape[d]);
    if (from >= to || to - from == shape[d]) continue;
    const bool is_smaller =
        !found || static_cast<double>(to - from) * static_cast<double>(shape[found->dim]) <
                      static_cast<double>(found->count) * static_cast<double>(shape[d]);
    if (is_smaller) found = Slice{d, from, to - from};
  }
  return found;
}

}  // namespace

Result<bool> StepCompiler::bring_part(std::size_t i, BufferNumber source, Step& step) {
  const graph::ValueId value = node().inputs[i];
  if (!choice_.parts || is_partial(made_.buffers[source].layout)) return false;
  graph::TensorType type = made_.graph.values[value].type;
  const std::optional<Slice> part =
      part_that_is_read(step.loops, *step.loops.inputs[i], type.shape);
  if (!part) return false;
  // The part is an operand of the same op whose indices begin with it.
  ops::Loops loops = step.loops;
  loops.inputs[i]->dims[part->dim].start -= part->start;
  std::vector<std::int64_t> extents = type.shape.extents();
  extents[part->dim] = part->count;
  TESSERA_TRY(type.shape, Shape::make(std::move(extents)));
  const ops::Access& access = *loops.inputs[i];
  TESSERA_TRY(Layout layout, ops::layout_for_input(loops, access, type, step.work));
  const Result<ops::Supply> supply = ops::supplies(loops, access, layout.form(), step.work);
  if (!supply || !supply->complete || supply->has_halos()) return false;
  const BufferNumber to =
      add_buffer(cat("the part of ", value_name(value), " that is read"), std::move(layout), 0, 2);
  Move move{source, to};
  move.slice = part;
  step.bring.push_back(std::move(move));
  OperandSource brought{to};
  brought.part = part;
  step.inputs[i] = std::move(brought);
  return true;
}

Result<ops::WorkMap> StepCompiler::on_one_place(const ops::Loops& loops) const {
  Form form;
  TESSERA_TRY(form.shape, loops.iterations());
  form.mesh = made_.mesh;
  for (std::size_t a = 0; a < form.mesh.rank(); ++a) {
    form.fills.push_back(Fill::fixed(static_cast<int>(a), 0));
  }
  return ops::WorkMap::make(loops, std::move(form));
}

Result<std::vector<Layout>> StepCompiler::layouts_of_results(const ops::Loops& loops,
                                                             const graph::Types& outputs,
                                                             const ops::WorkMap& work) const {
  std::vector<Layout> layouts;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    TESSERA_TRY(Layout layout, ops::layout_for_output(loops, loops.outputs[o], outputs[o], work));
    layouts.push_back(std::move(layout));
  }
  return layouts;
}

/// Divides the work as the operands are divided; on one place where that is not possible or where
/// no layout can say what results.
Status StepCompiler::divide(const graph::Types& outputs, const ops::WorkMap* work, Step& step) {
  if (work != nullptr) {
    TESSERA_TRY(step.work, on_mesh(step.loops, *work, made_.mesh));
    TESSERA_TRY(step.iterations, ops::iterations_layout(step.work));
    TESSERA_TRY(made_here_, layouts_of_results(step.loops, outputs, step.work));
    return ok_status();
  }
  const Result<ops::WorkMap> followed = follow_operands(step.loops);
  if (followed) {
    Result<std::vector<Layout>> layouts = layouts_of_results(step.loops, outputs, *followed);
    Result<Layout> iterations = ops::iterations_layout(*followed);
    if (layouts && iterations) {
      step.work = *followed;
      step.iterations = *std::move(iterations);
      made_here_ = *std::move(layouts);
      return ok_status();
    }
  }
  TESSERA_TRY(step.work, on_one_place(step.loops));
  TESSERA_TRY(step.iterations, ops::iterations_layout(step.work));
  TESSERA_TRY(made_here_, layouts_of_results(step.loops, outputs, step.work));
  return ok_status();
}

/// Blocks with halos around them, taken from a buffer of blocks.
Status StepCompiler::extend(std::size_t i, const Layout& operand, BufferNumber from,
                            const ops::Supply& supply, Step& step) {
  TESSERA_TRY(std::vector<ops::HaloPart> parts,
              ops::halo_exchange(operand, supply.halos, supply.readers));
  if (parts.empty()) {
    step.inputs[i] = OperandSource{from};
    return ok_status();
  }
  const BufferNumber to =
      add_buffer(cat(value_name(node().inputs[i]), " with halos"), parts[0].to, 0, 2);
  for (const ops::HaloPart& part : parts) {
    step.bring.push_back({from, to, Placement(part.from), Placement(part.to)});
    Box& places = made_.buffers[to].places;
    places = around_both(std::move(places), places_around(part.to.form()));
  }
  step.inputs[i] = OperandSource{
      to, std::make_shared<const Extended>(Extended{operand, supply.halos, std::move(parts)})};
  return ok_status();
}

Result<BufferNumber> StepCompiler::unpacked(graph::ValueId value, Step& step) {
  const Layout layout = made_.buffers[value].layout;
  if (!is_stored_as_other(layout)) return value;
  TESSERA_TRY(Layout own, with_type_of(layout, layout.dtype()));
  const BufferNumber to = add_buffer(cat(value_name(value), " unpacked"), std::move(own), 0, 1);
  made_.buffers[to].space = made_.buffers[value].space;
  step.unpack.push_back({value, to});
  return to;
}

Status StepCompiler::bring(std::size_t i, Step& step) {
  const graph::ValueId value = node().inputs[i];
  const graph::TensorType& type = made_.graph.values[value].type;
  const Layout layout = made_.buffers[value].layout;
  const ops::Access& access = *step.loops.inputs[i];
  const bool is_near =
      made_.buffers[value].space == made_.machine.data_space && !is_partial(layout);
  if (is_near) {
    const Result<ops::Supply> supply = ops::supplies(step.loops, access, layout.form(), step.work);
    if (supply && supply->complete && !supply->has_halos()) {
      step.inputs[i] = OperandSource{value};
      read_until(value, 1);
      return ok_status();
    }
    const bool can_extend =
        supply && supply->complete && !is_stored_as_other(layout) && kernels_have_own_memory();
    if (can_extend && extend(i, layout, value, *supply, step)) {
      read_until(value, 0);
      return ok_status();
    }
  }
  read_until(value, 0);
  TESSERA_TRY(const BufferNumber source, unpacked(value, step));
  TESSERA_TRY(const bool is_part, bring_part(i, source, step));
  if (is_part) return ok_status();
  TESSERA_TRY(Layout wanted, ops::layout_for_input(step.loops, access, type, step.work));
  const Result<ops::Supply> supply = ops::supplies(step.loops, access, wanted.form(), step.work);
  const bool is_complete = supply && supply->complete;
  if (is_complete && supply->has_halos() && kernels_have_own_memory()) {
    const BufferNumber blocks = made_.buffers.size();
    const std::size_t moves = step.bring.size();
    add_buffer(cat(value_name(value), " in blocks"), wanted, 0, 1);
    step.bring.push_back({source, blocks});
    if (extend(i, wanted, blocks, *supply, step)) return ok_status();
    made_.buffers.erase(made_.buffers.begin() + static_cast<std::ptrdiff_t>(blocks),
                        made_.buffers.end());
    step.bring.resize(moves);
  }
  if (is_complete && !supply->has_halos()) {
    TESSERA_TRY(const bool in_panels, bring_panels(i, source, wanted, step));
    if (in_panels) return ok_status();
  }
  if (!is_complete || supply->has_halos()) {
    TESSERA_TRY(wanted, everywhere(type, step.work));
  }
  const BufferNumber to =
      add_buffer(cat(value_name(value), " where it is read"), std::move(wanted), 0, 2);
  step.bring.push_back({source, to});
  step.inputs[i] = OperandSource{to};
  return ok_status();
}

Status StepCompiler::settle(std::size_t o, Step& step) {
  const Layout& result = made_here_[o];
  const graph::ValueId value = node().outputs[o];
  const Layout wanted = made_.buffers[value].layout;
  TESSERA_TRY(const Comparison same, same_function(result.form(), wanted.form()));
  const bool is_near = made_.buffers[value].space == made_.machine.data_space;
  const auto begins = [&](std::int64_t moment) {
    made_.buffers[value].from = 4 * number_ + moment;
    read_until(value, 3);
  };
  const DType dtype = wanted.dtype();
  const DType kept = is_partial(result) || step.panels ? share_type(dtype) : dtype;
  const bool is_as_kept = kept == dtype && !is_stored_as_other(wanted);
  if (same.equal && is_near && (is_as_kept || !step.panels)) {
    step.results.push_back(value);
    begins(1);
    return ok_status();
  }
  TESSERA_TRY(Layout shares, with_type_of(result, kept));
  const BufferNumber from =
      add_buffer(cat(value_name(value), " as computed"), std::move(shares), 1, 3);
  step.results.push_back(from);
  if (same.equal && is_near) {
    made_.buffers[from].to = 4 * number_ + 4;
    step.retype.push_back({from, value});
    begins(3);
    return ok_status();
  }
  if (is_as_kept) {
    step.settle.push_back({from, value});
    begins(2);
    return ok_status();
  }
  TESSERA_TRY(Layout combined, with_type_of(wanted, kept));
  const BufferNumber to =
      add_buffer(cat(value_name(value), " combined"), std::move(combined), 2, 4);
  step.settle.push_back({from, to});
  BufferNumber rounded = value;
  if (is_stored_as_other(wanted)) {
    made_.buffers[to].space = made_.buffers[value].space;  // packed where it stays
  } else if (!is_near) {
    rounded = add_buffer(cat(value_name(value), " rounded"), wanted, 3, 4);
    step.deliver.push_back({rounded, value});
  }
  step.retype.push_back({to, rounded});
  begins(3);
  return ok_status();
}

Result<Step> StepCompiler::begin(const ops::WorkMap* work) {
  if (!has_kernel(node().op.name())) {
    return in_node({ErrorCode::kNotSupported, "the op has no kernel", std::nullopt,
                    "replace it by ops of the table (tessera graph --ops)"});
  }
  std::vector<const graph::TensorType*> types;
  for (const graph::ValueId v : node().inputs) {
    types.push_back(v == graph::kAbsent ? nullptr : &made_.graph.values[v].type);
  }
  graph::Types outputs;
  for (const graph::ValueId v : node().outputs) outputs.push_back(made_.graph.values[v].type);
  const graph::Call call(node().op, types, node().attributes, outputs.size());
  Result<ops::Loops> loops = ops::loops_of(call, outputs);
  if (!loops) return in_node(loops.error());
  Result<ops::WorkMap> anywhere = ops::WorkMap::repeated(*loops, made_.mesh);
  if (!anywhere) return in_node(anywhere.error());
  Step step{.node = node_,
            .loops = *loops,
            .work = *anywhere,
            .iterations = made_.buffers[node().outputs[0]].layout};
  if (Status status = divide(outputs, work, step); !status) return in_node(status.error());
  step.panels = panels_of(step);
  step.inputs.resize(node().inputs.size());
  return step;
}

Result<Step> StepCompiler::step(const ops::WorkMap* work) {
  TESSERA_TRY(Step step, begin(work));
  for (std::size_t i = 0; i < node().inputs.size(); ++i) {
    if (node().inputs[i] == graph::kAbsent || !step.loops.inputs[i]) continue;
    if (Status status = bring(i, step); !status) return in_node(status.error());
  }
  for (std::size_t o = 0; o < node().outputs.size(); ++o) {
    if (Status status = settle(o, step); !status) return in_node(status.error());
  }
  return step;
}

}  // namespace tessera::run

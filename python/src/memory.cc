// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "interrupts.h"
#include "native.h"
#include "tessera/base/text.h"
#include "tessera/memory/advice.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/validate.h"
#include "tools/alloc/alloc_print.h"

namespace tessera::python {
namespace {

using Column = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

/// Buffers as columns; -1 stands for none in `fixed`, `hint` and `alias`.
struct Columns {
  Column lower, upper, size, alignment, fixed, hint, alias, delta;
};

tools::BufferFile file_of(const Columns& columns, const std::vector<std::string>& ids,
                          const std::vector<std::vector<std::int64_t>>& gaps) {
  tools::BufferFile file;
  const auto count = static_cast<std::size_t>(columns.lower.size());
  for (const Column* const column :
       {&columns.upper, &columns.size, &columns.alignment, &columns.fixed, &columns.hint,
        &columns.alias, &columns.delta}) {
    if (static_cast<std::size_t>(column->size()) != count) {
      raise(ErrorCode::kShapeMismatch, "the columns of the buffers have different lengths");
    }
  }
  file.ids = ids;
  file.rows.resize(count);
  file.problem.buffers.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    memory::Buffer& buffer = file.problem.buffers[i];
    buffer.lower = columns.lower.data()[i];
    buffer.upper = columns.upper.data()[i];
    buffer.size = columns.size.data()[i];
    buffer.alignment = columns.alignment.data()[i];
    if (columns.fixed.data()[i] != -1) buffer.fixed = columns.fixed.data()[i];
    if (columns.hint.data()[i] != -1) buffer.hint = columns.hint.data()[i];
    if (columns.alias.data()[i] != -1) {
      buffer.alias =
          memory::Alias{static_cast<std::size_t>(columns.alias.data()[i]), columns.delta.data()[i]};
    }
  }
  for (const std::vector<std::int64_t>& gap : gaps) {
    if (gap.size() != 5 || gap[0] < 0 || gap[0] >= static_cast<std::int64_t>(count)) {
      raise(ErrorCode::kBadBuffer, "a gap is (buffer, lower, upper, kept_from, kept_to)");
    }
    file.problem.buffers[static_cast<std::size_t>(gap[0])].gaps.push_back(
        {gap[1], gap[2], gap[3], gap[4]});
  }
  return file;
}

struct PyMemoryPlan {
  tools::BufferFile file;
  memory::Solution solution;
  std::optional<std::int64_t> capacity;

  std::span<const std::int64_t> offsets() const {
    return {solution.offsets.begin(), solution.offsets.end()};
  }
  tools::AllocAnswer answer() const {
    tools::AllocAnswer answer{file, solution, capacity, false, {}, {}, {}};
    if (solution.offsets.size() == file.problem.buffers.size()) {
      answer.blocks = unwrap(tools::placed_blocks(file.problem, offsets()));
      answer.ranges = tools::time_ranges_of(answer.blocks);
    }
    return answer;
  }
};

std::unique_ptr<PyMemoryPlan> solve(const Column& lower, const Column& upper, const Column& size,
                                    const Column& alignment, const Column& fixed,
                                    const Column& hint, const Column& alias, const Column& delta,
                                    const std::vector<std::string>& ids,
                                    const std::vector<std::vector<std::int64_t>>& gaps,
                                    std::optional<std::int64_t> capacity, bool minimize,
                                    double seconds, std::optional<std::int64_t> nodes) {
  auto plan = std::make_unique<PyMemoryPlan>();
  plan->file = file_of({lower, upper, size, alignment, fixed, hint, alias, delta}, ids, gaps);
  plan->capacity = capacity;
  memory::SolveOptions options;
  options.capacity = capacity;
  options.minimize = minimize;
  options.seconds = seconds;
  if (nodes) options.nodes = *nodes;
  Interrupts interrupts;
  options.progress_context = &interrupts;
  options.progress = [](void* context, const memory::Progress&) {
    return static_cast<Interrupts*>(context)->go_on();
  };
  {
    const Unlocked unlocked;
    unwrap(memory::check(plan->file.problem, ids));
    plan->solution = unwrap(memory::solve(plan->file.problem, options));
  }
  interrupts.rethrow();
  return plan;
}

py::list findings(const PyMemoryPlan& plan, const Column& offsets) {
  py::list list;
  const std::span<const std::int64_t> all(offsets.data(), static_cast<std::size_t>(offsets.size()));
  for (const memory::Finding& finding : memory::validate(plan.file.problem, all, plan.capacity)) {
    list.append(
        py::make_tuple(std::string(flaw_name(finding.flaw)), finding.buffer, finding.message));
  }
  return list;
}

}  // namespace

void bind_memory(py::module_& module) {
  py::class_<PyMemoryPlan>(module, "MemoryPlan")
      .def_property_readonly(
          "outcome",
          [](const PyMemoryPlan& p) { return std::string(outcome_name(p.solution.outcome)); })
      .def_property_readonly("offsets",
                             [](const PyMemoryPlan& p) {
                               return py::array_t<std::int64_t>(std::ssize(p.offsets()),
                                                                p.offsets().data());
                             })
      .def_property_readonly("peak", [](const PyMemoryPlan& p) { return p.solution.peak; })
      .def_property_readonly("lower_bound",
                             [](const PyMemoryPlan& p) { return p.solution.lower_bound; })
      .def_property_readonly("proven_bound",
                             [](const PyMemoryPlan& p) { return p.solution.proven_bound; })
      .def_property_readonly("optimal", [](const PyMemoryPlan& p) { return p.solution.optimal; })
      .def_property_readonly("nodes", [](const PyMemoryPlan& p) { return p.solution.nodes; })
      .def_property_readonly("seconds", [](const PyMemoryPlan& p) { return p.solution.seconds; })
      .def_property_readonly("found_by",
                             [](const PyMemoryPlan& p) { return std::string(p.solution.found_by); })
      .def("text", [](const PyMemoryPlan& p) { return alloc_text(p.answer(), tools::Terminal{}); })
      .def("svg", [](const PyMemoryPlan& p) { return alloc_svg(p.answer()); })
      .def("validate", &findings, py::arg("offsets"));
  module.def("solve_memory", &solve, py::arg("lower"), py::arg("upper"), py::arg("size"),
             py::arg("alignment"), py::arg("fixed"), py::arg("hint"), py::arg("alias"),
             py::arg("delta"), py::arg("ids"), py::arg("gaps"), py::arg("capacity"),
             py::arg("minimize"), py::arg("seconds"), py::arg("nodes"));
}

}  // namespace tessera::python

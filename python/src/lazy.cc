// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>

#include "buffers.h"
#include "interrupts.h"
#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/frontend/eval.h"
#include "tessera/frontend/tensor.h"
#include "tessera/graph/data.h"
#include "tessera/graph/graph_json.h"

/// The lazy tensors of frontend/, which the package pyflame wraps.
namespace tessera::python {
namespace {

using frontend::Extents;
using Lazy = frontend::Tensor;

DType dtype_named(const std::string& name) {
  const std::optional<DType> dtype = parse_dtype(name);
  if (!dtype) {
    raise(ErrorCode::kBadDType, cat("there is no element type '", name, "'"),
          "tessera.dtypes lists them all");
  }
  return *dtype;
}

std::optional<Layout> layout_in(const TensorPtr& placed) {
  if (placed == nullptr) return std::nullopt;
  return placed->layout();
}

/// A value of Python as the kind that the op's rule wants.
graph::Attribute attribute_of(const py::handle& value, graph::AttributeKind kind) {
  using Kind = graph::AttributeKind;
  switch (kind) {
    case Kind::kReal:
      return value.cast<double>();
    case Kind::kText:
      return value.cast<std::string>();
    case Kind::kIntegers:
      return integers(value, "a list of integers");
    case Kind::kReals:
      return value.cast<std::vector<double>>();
    case Kind::kInteger:
      break;
  }
  return value.cast<std::int64_t>();
}

/// The attributes of a call; unknown names are left to `apply`, which refuses them.
graph::Attributes attributes_of(const std::string& op, const py::dict& given) {
  graph::Attributes attributes;
  const std::optional<graph::Op> found = graph::Op::find(op);
  if (!found) return attributes;
  for (const auto& [key, value] : given) {
    const auto name = key.cast<std::string>();
    const auto& rules = found->rule().attributes;
    const auto rule = std::ranges::find(rules, name, &graph::AttributeRule::name);
    if (rule == rules.end()) {
      attributes.set(name, std::string());
      continue;
    }
    try {
      attributes.set(name, attribute_of(value, rule->kind));
    } catch (const py::cast_error&) {
      throw py::type_error(cat("attribute ", name, " of ", op, " is ",
                               std::string(graph::kind_text(rule->kind)), ", not ",
                               std::string(Py_TYPE(value.ptr())->tp_name)));
    }
  }
  return attributes;
}

Lazy apply(const std::string& op, const std::vector<Lazy>& operands, const py::dict& given) {
  const graph::Attributes attributes = attributes_of(op, given);
  return unwrap(frontend::apply(op, {operands.begin(), operands.end()}, attributes));
}

/// A tensor with the elements of an array, which are taken as they are: row-major, and of this type
/// or, without one, of the array's own.
Lazy from_array(const py::object& array, const std::string& dtype, const TensorPtr& placed) {
  const Memory memory = Memory::of(array, false);
  if (dtype.empty() && !memory.dtype()) {
    raise(ErrorCode::kBadDType, cat("arrays of '", memory.type_name(), "' have no element type"),
          "name the type of the elements");
  }
  const DType type = dtype.empty() ? *memory.dtype() : dtype_named(dtype);
  if (!memory.is_contiguous()) {
    raise(ErrorCode::kNotSupported, "the array is not contiguous", "copy it first");
  }
  const std::span<const std::byte> bytes = memory.bytes();
  const std::string elements(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return unwrap(frontend::from_bytes(memory.shape(), type, elements, layout_in(placed)));
}

/// Copies the elements of an evaluated tensor into an array of as many bytes.
void read(const Lazy& tensor, const py::object& array) {
  const Memory memory = Memory::of(array, true);
  const std::span<const std::byte> from = tensor.bytes();
  const std::span<std::byte> to = memory.bytes();
  if (!tensor.is_evaluated() || !memory.is_contiguous() || from.size() != to.size()) {
    raise(ErrorCode::kShapeMismatch, cat("an array of ", to.size(), " bytes for ", from.size()));
  }
  if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
}

frontend::Planning planning_named(const std::string& name) {
  if (name == "never") return frontend::Planning::kNever;
  if (name == "always") return frontend::Planning::kAlways;
  if (name == "where_needed") return frontend::Planning::kWhereNeeded;
  raise(ErrorCode::kUsage, cat("planning is '", name, "'"), "where_needed, never or always");
}

py::dict eval(const std::vector<Lazy>& tensors, const Machine& machine, const std::string& planning,
              double plan_seconds, int threads, bool checked, bool predict) {
  Interrupts interrupts;
  frontend::EvalOptions options;
  options.machine = &machine;
  options.planning = planning_named(planning);
  options.plan_seconds = plan_seconds;
  options.threads = std::clamp(threads, 0, ThreadPool::kMostThreads);
  options.checked = checked;
  options.predict = predict;
  options.stops = [&interrupts] { return !interrupts.go_on(); };
  std::optional<Result<frontend::Evaluation>> made;
  {
    const Unlocked unlocked;
    made = frontend::eval(tensors, options);
  }
  interrupts.rethrow();
  const frontend::Evaluation done = unwrap(*std::move(made));
  py::dict memory;
  for (const frontend::Evaluation::Memory& each : done.memory) {
    memory[py::str(each.space)] = each.peak_bytes;
  }
  py::dict answer;
  answer["target"] = done.machine;
  answer["planned"] = done.is_planned;
  answer["ops"] = done.ops;
  answer["parts"] = done.parts;
  answer["seconds"] = done.seconds;
  answer["cycles"] = done.cycles;
  answer["crossing_bytes"] = done.crossing_bytes;
  answer["peak_bytes"] = memory;
  return answer;
}

void bind_machine(py::module_& module) {
  py::class_<Machine, std::shared_ptr<Machine>> machine(
      module, "Machine", "A machine, made ready to evaluate on: Machine(name or JSON text).");
  machine.def(py::init([](const std::string& text) {
                if (text.starts_with('{')) {
                  return std::make_shared<Machine>(unwrap(parse_machine(text), text));
                }
                return std::make_shared<Machine>(*unwrap(find_machine(text), text));
              }),
              py::arg("name_or_text"));
  machine.def_property_readonly("name", [](const Machine& m) { return m.name; });
  machine.def_property_readonly("mesh",
                                [](const Machine& m) { return to_tuple(m.shape().extents()); });
}

}  // namespace

void bind_lazy(py::module_& module) {
  bind_machine(module);
  py::class_<Lazy> lazy(module, "LazyTensor",
                        "A tensor that is computed when it is asked for. Use pyflame.Tensor.");
  lazy.def_property_readonly("shape", [](const Lazy& t) { return to_tuple(t.shape().extents()); });
  lazy.def_property_readonly("dtype",
                             [](const Lazy& t) { return std::string(dtype_name(t.dtype())); });
  lazy.def_property_readonly("is_evaluated", &Lazy::is_evaluated);
  lazy.def_property_readonly("layout", [](const Lazy& t) -> TensorPtr {
    if (!t.layout()) return nullptr;
    return make_tensor(unwrap(parse_tensor(print_native(Placement(*t.layout())))));
  });
  lazy.def("read", &read, py::arg("out"));
  lazy.def(
      "to_layout",
      [](const Lazy& t, const TensorPtr& placed) {
        return unwrap(frontend::to_layout(t, placed->layout()));
      },
      py::arg("placed").none(false));
  module.def("lazy_apply", &apply, py::arg("op"), py::arg("operands"), py::arg("attributes"));
  module.def("lazy_from", &from_array, py::arg("array"), py::arg("dtype"),
             py::arg("placed").none(true));
  module.def(
      "lazy_full",
      [](const py::handle& shape, double number, const std::string& dtype,
         const TensorPtr& placed) {
        return unwrap(frontend::full(integers(shape, "shape"), number, dtype_named(dtype),
                                     layout_in(placed)));
      },
      py::arg("shape"), py::arg("number"), py::arg("dtype"), py::arg("placed").none(true));
  module.def(
      "lazy_randn",
      [](const py::handle& shape, std::uint64_t seed, const std::string& dtype,
         const TensorPtr& placed) {
        return unwrap(
            frontend::randn(integers(shape, "shape"), seed, dtype_named(dtype), layout_in(placed)));
      },
      py::arg("shape"), py::arg("seed"), py::arg("dtype"), py::arg("placed").none(true));
  module.def(
      "lazy_arange",
      [](double start, double limit, double step, const std::string& dtype) {
        return unwrap(frontend::arange(start, limit, step, dtype_named(dtype)));
      },
      py::arg("start"), py::arg("limit"), py::arg("step"), py::arg("dtype"));
  module.def(
      "lazy_reshape",
      [](const Lazy& t, const py::handle& shape) {
        return unwrap(frontend::reshape(t, integers(shape, "shape")));
      },
      py::arg("tensor"), py::arg("shape"));
  module.def("lazy_eval", &eval, py::arg("tensors"), py::arg("machine"), py::arg("planning"),
             py::arg("plan_seconds"), py::arg("threads"), py::arg("checked"), py::arg("predict"));
  module.def(
      "lazy_graph",
      [](const std::vector<Lazy>& tensors, const std::string& name) {
        return graph::to_json(unwrap(frontend::graph_of(tensors, name)));
      },
      py::arg("tensors"), py::arg("name"));
}

}  // namespace tessera::python

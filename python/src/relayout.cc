// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <array>

#include "buffers.h"
#include "native.h"
#include "pools.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/relayout/plan.h"
#include "tessera/relayout/program.h"
#include "tessera/relayout/verify.h"

namespace tessera::python {
namespace {

using relayout::PaddingRule;
using relayout::Plan;
using relayout::Program;
using relayout::Rounding;

/// One of a few words; a TypeError that lists them for any other.
template <typename T, std::size_t N>
T word(const std::string& given, const char* what,
       const std::array<std::pair<std::string_view, T>, N>& words) {
  std::string all;
  for (const auto& [name, value] : words) {
    if (name == given) return value;
    all += cat(all.empty() ? "'" : ", '", name, "'");
  }
  raise(ErrorCode::kUnknownName, cat(what, " '", given, "' does not exist"),
        cat("use one of ", all));
}

PaddingRule padding_rule(const std::string& name) {
  return word<PaddingRule, 3>(name, "the padding rule",
                              {{{"promised", PaddingRule::kPromised},
                                {"zero", PaddingRule::kZero},
                                {"leave", PaddingRule::kLeave}}});
}

Rounding rounding_rule(const std::string& name) {
  return word<Rounding, 3>(name, "the rounding",
                           {{{"checked", Rounding::kChecked},
                             {"round", Rounding::kRound},
                             {"saturate", Rounding::kSaturate}}});
}

/// A program and the tensors that it was made for.
struct PyProgram {
  TensorPtr source;
  TensorPtr destination;
  PaddingRule rule = PaddingRule::kPromised;
  Program program;
};

PyProgram make_program(py::handle source, py::handle destination, const std::string& padding) {
  PyProgram made{tensor_from(source), tensor_from(destination), padding_rule(padding), {}};
  const Unlocked unlocked;
  const Work work(kQuestionSteps);
  made.program = unwrap(
      relayout::make_program(made.source->placement(), made.destination->placement(), made.rule));
  return made;
}

/// What makes new arrays of one kind: numpy.empty or numpy.zeros, with its arguments.
struct ArrayMaker {
  py::object function;
  py::tuple arguments;

  py::object operator()() const {
    PyObject* const made = PyObject_CallObject(function.ptr(), arguments.ptr());
    if (made == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(made);
  }
};

struct PyPlan {
  PyPlan(TensorPtr a, TensorPtr b, Plan made)
      : source(std::move(a)), destination(std::move(b)), plan(std::move(made)) {}

  TensorPtr source;
  TensorPtr destination;
  Plan plan;

  /// A new array for the result.
  py::object new_destination() const;

 private:
  mutable std::optional<ArrayMaker> maker_;  ///< made once, under the interpreter's lock
};

PyPlan make_plan(const PyProgram& program, const std::string& rounding) {
  const relayout::PlanOptions options{.rounding = rounding_rule(rounding)};
  const Unlocked unlocked;
  return PyPlan(program.source, program.destination, unwrap(Plan::make(program.program, options)));
}

py::list verified(const PyProgram& made) {
  std::vector<relayout::Finding> findings;
  {
    const Unlocked unlocked;
    findings = unwrap(relayout::verify(made.program, made.source->placement(),
                                       made.destination->placement(), made.rule));
  }
  py::list list;
  for (const relayout::Finding& finding : findings) {
    list.append(
        py::make_tuple(std::string(flaw_name(finding.flaw)), finding.position, finding.message));
  }
  return list;
}

std::string emitted(const PyProgram& made, const std::string& name) {
  const std::string title = cat(made.source->text(), "\nto ", made.destination->text());
  const Unlocked unlocked;
  return unwrap(relayout::emit_c(made.program, name, title));
}

/// The nests as plain data: (elements, source, destination, loops of (extent, source step,
/// destination step)), in elements of the whole memory of each side.
py::list nests_of(const PyProgram& made, std::int64_t limit) {
  const Program& program = made.program;
  py::list list;
  for (std::int64_t i = 0; i < std::min(limit, program.nests()); ++i) {
    const Nest nest = program.nest(i);
    py::list loops;
    for (const Loop& loop : nest.loops) {
      loops.append(py::make_tuple(loop.extent, program.from.flat(loop.move.a),
                                  program.to.flat(loop.move.b)));
    }
    list.append(py::make_tuple(nest.elements(), program.from.flat(nest.at.a),
                               program.to.flat(nest.at.b), loops));
  }
  return list;
}

/// NumPy's name of the type whose items hold the storage: bytes where an element has no address.
std::string numpy_name(DType storage) {
  const std::optional<std::int64_t> bits = dtype_bits(storage);
  if (!bits || *bits < 8) return "uint8";
  switch (storage) {
    case DType::kF64:
      return "float64";
    case DType::kF32:
      return "float32";
    case DType::kF16:
      return "float16";
    case DType::kBF16:
      return "uint16";
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return "uint8";
    case DType::kBool:
      return "bool";
    default:
      break;
  }
  const bool is_unsigned = dtype_name(storage).starts_with("ui");
  return cat(is_unsigned ? "uint" : "int", *bits);
}

bool is_row_major(const Layout& layout) {
  const Result<Layout> rows = Layout::row_major(layout.shape(), layout.dtype());
  if (!rows) return false;
  const auto same = same_function(layout, *rows);
  return same && same->equal;
}

/// The shape of an array with the memory of a tensor: the tensor's own where its memory is just the
/// row-major tensor, else the mesh and the slots (bytes where elements have no address).
std::vector<py::ssize_t> array_shape(const Placement& placement) {
  const std::optional<std::int64_t> bits = dtype_bits(placement.atom().storage);
  std::vector<std::int64_t> shape = placement.mesh().extents();
  if (!bits || *bits < 8) {
    shape.push_back(placement.shard_bytes());
  } else if (const Layout* const layout = placement.layout();
             layout != nullptr && shape.empty() && !placement.atom().is_tile() &&
             placement.slots() == placement.shape().elements() && is_row_major(*layout)) {
    shape = placement.shape().extents();
  } else {
    shape.push_back(placement.slots());
  }
  return {shape.begin(), shape.end()};
}

/// `how` is the name of the function of NumPy that makes them.
ArrayMaker array_maker(const PyTensor& tensor, const char* how) {
  return {py::module_::import("numpy").attr(how),
          py::make_tuple(py::tuple(py::cast(array_shape(tensor.placement()))),
                         py::dtype(numpy_name(tensor.placement().atom().storage)))};
}

py::object PyPlan::new_destination() const {
  if (!maker_) {
    // Padding that nothing fills is not left to chance.
    const Program& program = plan.program();
    const bool has_padding = program.elements() < program.to.elements();
    maker_ = array_maker(*destination, has_padding ? "zeros" : "empty");
  }
  return (*maker_)();
}

/// Checks that an object's memory is the memory of `tensor`, and gives its bytes.
std::span<std::byte> checked_bytes(const Memory& memory, const PyTensor& tensor,
                                   const relayout::Memory& expected, std::string_view side) {
  if (memory.is_contiguous()) {
    const std::optional<std::int64_t> bits = dtype_bits(expected.storage());
    const bool is_bytes = memory.item_bytes() == 1;
    // bf16 and the like are any items of their size.
    const bool has_type = memory.dtype() && bits && *bits >= 8 &&
                          (*memory.dtype() == expected.storage() ||
                           numpy_name(*memory.dtype()) == numpy_name(expected.storage()));
    if (!is_bytes && !has_type) {
      raise(ErrorCode::kBadDType,
            cat("the ", side, " has items of '", memory.type_name(), "', but elements are ",
                std::string(dtype_name(expected.storage()))),
            cat("use an array of ", numpy_name(expected.storage()), ", or view it as bytes"));
    }
    const std::span<std::byte> bytes = memory.bytes();
    if (std::ssize(bytes) != expected.bytes) {
      raise(ErrorCode::kOutOfRange, cat("the ", side, " has ", std::ssize(bytes), " bytes"),
            cat("its memory must be that of ", tensor.text(), ": ", expected.bytes, " bytes"));
    }
    return bytes;
  }
  // The array as it lies may be just what the layout says.
  const Tensor lies = strided_tensor(memory);
  const Layout* const layout = tensor.placement().layout();
  if (layout == nullptr || lies.placement.layout() == nullptr ||
      lies.placement.atom() != expected.atom || lies.shape() != tensor.placement().shape() ||
      !unwrap(same_function(lies.layout(), *layout)).equal ||
      std::ssize(memory.bytes()) != expected.bytes) {
    raise(ErrorCode::kNotSupported,
          cat("the ", side, " is not contiguous, and not laid out as ", tensor.text()),
          "describe it with tessera.layout_of(array), which needs no copy");
  }
  return memory.bytes();
}

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  return !a.empty() && !b.empty() && a.data() < b.data() + b.size() &&
         b.data() < a.data() + a.size();
}

py::object run(const PyPlan& made, py::handle source, py::object out,
               std::optional<std::int64_t> threads) {
  const Program& program = made.plan.program();
  const Memory from = Memory::of(source, /*writable=*/false);
  if (out.is_none()) out = made.new_destination();
  const Memory to = Memory::of(out, /*writable=*/true);
  const auto from_bytes = checked_bytes(from, *made.source, program.from, "source");
  const auto to_bytes = checked_bytes(to, *made.destination, program.to, "destination");
  if (overlap(from_bytes, to_bytes)) {
    raise(ErrorCode::kNotSupported, "source and destination share memory",
          "a relayout in place is not possible: give another `out`");
  }
  {
    const Unlocked unlocked;
    PoolLease pool(threads, program.to.bytes);
    unwrap(made.plan.run(from_bytes, to_bytes, pool.pool()));
  }
  return out;
}

}  // namespace

void bind_relayout(py::module_& module) {
  py::class_<PyProgram>(module, "Program",
                        R"(What moves where between two layouts: loops, without data.

>>> p = tessera.Program("tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, strided<[1, 4]>>")
>>> p.nests()
[(24, 0, 0, [(4, 6, 1), (6, 1, 4)])]
>>> p.verify()
[]
)")
      .def(py::init(&make_program), py::arg("source"), py::arg("destination"),
           py::arg("padding") = "promised")
      .def_readonly("source", &PyProgram::source)
      .def_readonly("destination", &PyProgram::destination)
      .def_property_readonly(
          "elements", [](const PyProgram& p) { return p.program.elements(); },
          "Elements that are written, copies counted.")
      .def_property_readonly("source_bytes",
                             [](const PyProgram& p) { return p.program.from.bytes; })
      .def_property_readonly("destination_bytes",
                             [](const PyProgram& p) { return p.program.to.bytes; })
      .def("nests", &nests_of, py::arg("limit") = 1000,
           "The copies as (elements, source, destination, loops), each loop as (extent, source "
           "step, destination step), in elements of the memory of all places.")
      .def("emit_c", &emitted, py::arg("name") = "relayout",
           "The program as a C99 function void name(const void *src, void *dst).")
      .def("verify", &verified,
           "What is wrong with the program, slot by slot; [] where it is right.")
      .def("plan", &make_plan, py::arg("rounding") = "checked", "The program made ready to run.");
  py::class_<PyPlan>(module, "Plan", R"(A program made ready to run, as often as needed.

Immutable; several threads may run one plan at the same time.

>>> p = tessera.plan("tensor<4x6xf32, strided<[6, 1]>>", "tensor<4x6xf32, strided<[1, 4]>>")
>>> p(np.arange(24, dtype=np.float32).reshape(4, 6))[:5]
array([ 0.,  6., 12., 18.,  1.], dtype=float32)
)")
      .def_readonly("source", &PyPlan::source)
      .def_readonly("destination", &PyPlan::destination)
      .def("__call__", &run, py::arg("source"), py::arg("out") = py::none(), py::kw_only(),
           py::arg("threads") = py::none(), R"(Moves the data of `source`, and returns `out`.

Both are NumPy arrays, or other objects with the buffer protocol or DLPack, whose memory is that
of the layouts: place after place in row-major order, and the slots of each. Nothing is copied
besides. Without `out` an array is made, in which padding without a promised value is 0. The
interpreter's lock is released.)")
      .def(
          "describe", [](const PyPlan& p) { return p.plan.describe(); },
          "One line for each copy: its kernel, and its blocks.")
      .def(
          "clipped",
          [](const PyPlan& p, py::handle source) {
            const Memory from = Memory::of(source, false);
            const auto bytes = checked_bytes(from, *p.source, p.plan.program().from, "source");
            const Unlocked unlocked;
            return p.plan.clipped(bytes);
          },
          py::arg("source"),
          "How many numbers of the source are too large for the type of the destination.");
  module.def(
      "layout_of",
      [](py::handle array) { return make_tensor(strided_tensor(Memory::of(array, false))); },
      py::arg("array"), R"(The layout of an array as it is in memory, without a copy.

Slot 0 is the lowest address of the array.

>>> tessera.layout_of(np.zeros((4, 6), np.float32)[:, ::-2])
tessera.parse('tensor<4x3xf32, strided<[6, -2], offset: 4>>')
)");
  module.def(
      "empty", [](py::handle tensor) { return array_maker(*tensor_from(tensor), "empty")(); },
      py::arg("tensor"), R"(A new NumPy array with room for the memory of a tensor.

Its shape is the mesh and the slots of a place; the tensor's own shape where the memory is just
the row-major tensor. Types that NumPy lacks are unsigned integers (bf16) or bytes (i4, tiles of
block floats).

>>> tessera.empty("tensor<53x63xf32, pyflame.Grid(3, 2)>").shape
(3, 2, 576)
)");
}

}  // namespace tessera::python

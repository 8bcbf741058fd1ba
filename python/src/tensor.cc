// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/tensor.h"

#include <pybind11/stl.h>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/notation/convert.h"

namespace tessera::python {
namespace {

TensorPtr parse(const std::string& text) {
  const Unlocked unlocked;
  const Work work(kQuestionSteps);
  return make_tensor(unwrap(parse_tensor(text), text));
}

/// The tensor, and what conversion lost.
py::object converted(const PyTensor& tensor, const std::string& notation) {
  std::optional<Conversion> conversion;
  TensorPtr made;
  {
    const Unlocked unlocked;
    const Work work(kQuestionSteps);
    conversion = unwrap(convert(tensor.tensor, notation), notation);
    made = make_tensor(unwrap(parse_tensor(conversion->text), conversion->text));
  }
  return py::module_::import("tessera.results").attr("Conversion")(made, conversion->lost);
}

std::string space_of(const PyTensor& tensor) {
  const Layout* const layout = tensor.placement().layout();
  return layout != nullptr ? layout->spec().space : std::string();
}

std::string kind_of(const PyTensor& tensor) {
  if (tensor.placement().layout() != nullptr) return "layout";
  return tensor.placement().view() != nullptr ? "view" : "pieces";
}

void bind_dtypes(py::module_& module) {
  py::list names;
  for (const DType dtype : all_dtypes()) names.append(std::string(dtype_name(dtype)));
  module.attr("dtypes") = py::tuple(names);
  module.def(
      "dtype_bits",
      [](const std::string& name) -> std::optional<std::int64_t> {
        const std::optional<DType> dtype = parse_dtype(name);
        if (!dtype) {
          raise(ErrorCode::kBadDType, cat("there is no element type '", name, "'"),
                "tessera.dtypes lists them all");
        }
        return dtype_bits(*dtype);
      },
      py::arg("name"),
      "The bits of one element in memory; None for block floats, whose elements have no address.");
  module.def(
      "dtype_name",
      [](const std::string& name) -> std::string {
        const std::optional<DType> dtype = parse_dtype(name);
        if (!dtype) {
          raise(ErrorCode::kBadDType, cat("there is no element type '", name, "'"),
                "tessera.dtypes lists them all");
        }
        return std::string(tessera::dtype_name(*dtype));
      },
      py::arg("name"), "The usual spelling of an element type: 'f32' for 'f32', 'ui8' for 'u8'.");
}

}  // namespace

PyTensor::PyTensor(Tensor made) : tensor(std::move(made)), names(PlaceNames::of(tensor)) {}

const Layout& PyTensor::layout() const {
  if (const Layout* const layout = tensor.placement.layout()) return *layout;
  raise(ErrorCode::kNotSupported,
        tensor.placement.view() != nullptr
            ? "this tensor is a view: elements may share slots, so it owns no memory to ask about"
            : "this tensor consists of pieces that each have a layout of their own",
        "ask about a tensor that one layout describes (Tensor.kind is 'layout')");
}

const std::string& PyTensor::text() const {
  if (!text_) text_ = print_tensor(tensor);
  return *text_;
}

TensorPtr make_tensor(Tensor tensor) { return std::make_shared<PyTensor>(std::move(tensor)); }

TensorPtr tensor_from(py::handle tensor_or_text) {
  if (py::isinstance<py::str>(tensor_or_text)) return parse(tensor_or_text.cast<std::string>());
  if (py::isinstance<PyTensor>(tensor_or_text)) return tensor_or_text.cast<TensorPtr>();
  throw py::type_error(cat("a tessera.Tensor or the text of one is needed, not ",
                           std::string(Py_TYPE(tensor_or_text.ptr())->tp_name)));
}

py::tuple to_tuple(const std::vector<std::int64_t>& numbers) {
  py::tuple tuple(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(numbers[i]));
  }
  return tuple;
}

std::optional<std::vector<std::int64_t>> integers(py::handle sequence) {
  const bool plain = PyTuple_Check(sequence.ptr()) || PyList_Check(sequence.ptr());
  if (!plain && (!PySequence_Check(sequence.ptr()) || PyUnicode_Check(sequence.ptr()))) {
    return std::nullopt;
  }
  const auto items = py::reinterpret_steal<py::object>(PySequence_Fast(sequence.ptr(), ""));
  if (!items) {
    PyErr_Clear();
    return std::nullopt;
  }
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const item = PySequence_Fast_GET_ITEM(items.ptr(), i);
    const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(item));
    const long long number = index ? PyLong_AsLongLong(index.ptr()) : -1;
    if (number == -1 && PyErr_Occurred() != nullptr) {
      const bool is_overflow = PyErr_ExceptionMatches(PyExc_OverflowError) != 0;
      PyErr_Clear();
      if (is_overflow) raise(ErrorCode::kOverflow, "a number does not fit 64 bits");
      return std::nullopt;
    }
    numbers[static_cast<std::size_t>(i)] = number;
  }
  return numbers;
}

std::vector<std::int64_t> integers(py::handle sequence, const char* what) {
  if (auto numbers = integers(sequence)) return *std::move(numbers);
  throw py::type_error(cat(what, " must be a sequence of integers, not ",
                           std::string(Py_TYPE(sequence.ptr())->tp_name)));
}

void bind_tensor(py::module_& module) {
  bind_dtypes(module);
  py::class_<PyTensor, TensorPtr> tensor(module, "Tensor", R"(A tensor and where its elements are.

Made by tessera.parse() from a text in any notation, or by a maker such as
tessera.pyflame.grid(). Immutable. str() is the text in its own notation.

>>> t = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
>>> t.shape, t.dtype, t.mesh, t.slots
((53, 63), 'f32', (3, 2), 576)
)");
  tensor.def_property_readonly(
      "shape", [](const PyTensor& t) { return to_tuple(t.placement().shape().extents()); },
      "The logical extents.");
  tensor.def_property_readonly(
      "dtype", [](const PyTensor& t) { return std::string(dtype_name(t.placement().dtype())); },
      "The element type, as MLIR spells it.");
  tensor.def_property_readonly(
      "storage",
      [](const PyTensor& t) { return std::string(dtype_name(t.placement().atom().storage)); },
      "The element type in memory, which may differ from dtype (f32 kept as bfp_bf8).");
  tensor.def_property_readonly(
      "tile",
      [](const PyTensor& t) -> py::object {
        const Atom& atom = t.placement().atom();
        if (!atom.is_tile()) return py::none();
        return py::make_tuple(atom.rows, atom.cols);
      },
      "Rows and columns of a tile, the unit of storage; None where that is a single element.");
  tensor.def_property_readonly(
      "notation", [](const PyTensor& t) { return t.tensor.notation; },
      "The notation in which it was written.");
  tensor.def_property_readonly("kind", &kind_of,
                               "'layout': one rule, a slot for every element; 'view': elements may "
                               "share slots; 'pieces': boxes with a layout each.");
  tensor.def_property_readonly(
      "mesh", [](const PyTensor& t) { return to_tuple(t.placement().mesh().extents()); },
      "The extents of the mesh of places; () is a single place.");
  tensor.def_property_readonly(
      "places", [](const PyTensor& t) { return t.placement().places(); }, "How many places.");
  tensor.def_property_readonly(
      "slots", [](const PyTensor& t) { return t.placement().slots(); },
      "Slots that are allocated on every place; a slot holds one element.");
  tensor.def_property_readonly(
      "shard_bytes", [](const PyTensor& t) { return t.placement().shard_bytes(); },
      "Bytes that are allocated on every place.");
  tensor.def_property_readonly(
      "nbytes", [](const PyTensor& t) { return t.placement().allocated_bytes(); },
      "Bytes that are allocated on all places together.");
  tensor.def_property_readonly(
      "size", [](const PyTensor& t) { return t.placement().shape().elements(); },
      "How many elements the tensor has.");
  tensor.def_property_readonly("space", &space_of,
                               "The memory space that the layout names, or ''.");
  tensor.def_property_readonly(
      "native", [](const PyTensor& t) { return print_native(t.placement()); },
      "The text in the native notation, which expresses every layout exactly.");
  tensor.def("__str__", &PyTensor::text);
  tensor.def("__repr__", [](const PyTensor& t) {
    return cat("tessera.parse(", std::string(py::str(py::repr(py::str(t.text())))), ")");
  });
  tensor.def(
      "__eq__",
      [](const PyTensor& a, const py::object& b) {
        if (!py::isinstance<PyTensor>(b)) return false;
        return a.text() == b.cast<TensorPtr>()->text();
      },
      "Whether both have the same text. For the same function: Tensor.diff().");
  tensor.def("__hash__", [](const PyTensor& t) { return py::hash(py::str(t.text())); });
  tensor.def("__reduce__", [](const PyTensor& t) {
    return py::make_tuple(py::module_::import("tessera._display").attr("parsed"),
                          py::make_tuple(t.text()));
  });
  tensor.def("convert", &converted, py::arg("notation"), R"(The same tensor in another notation.

The answer has the tensor, and facts that its text no longer states. Where the notation has no
words for the layout, the TesseraError not_supported has the reasons.

>>> tessera.parse("tensor<64x64xf16, pyflame.Grid(2, 2)>").convert("dtensor")
Conversion(tensor=tessera.parse('tensor<64x64xf16, dtensor<mesh=[2,2], [Shard(0), Shard(1)]>>'), lost=[])
)");
  const auto displayed = [](const char* name) {
    return [name](const py::object& self) {
      return py::module_::import("tessera._display").attr(name)(self);
    };
  };
  tensor.def("show", displayed("show"),
             R"(What the layout does, as text: the same as `tessera show` prints.)");
  tensor.def("facts", displayed("facts"), R"(The figures of `tessera show --json`, as a dict.)");
  tensor.def("_repr_svg_", displayed("svg"));
  bind_locate(tensor, module);
  bind_padding(tensor, module);
  bind_views(tensor);
  bind_compare(tensor, module);

  module.def(
      "parse", [](const py::str& text) { return parse(text.cast<std::string>()); }, py::arg("text"),
      R"(Reads `tensor<SHAPExTYPE, LAYOUT>` in any notation.

>>> t = tessera.parse("tensor<4x6xf32, strided<[6, 1]>>")
>>> t.locate((1, 2)).slot
8

A text that is not right raises a TesseraError that shows where:

>>> tessera.parse("tensor<4x6xf32, strided<[6, x]>>")
Traceback (most recent call last):
tessera.errors.TesseraError: error[syntax]: ...
)");
  py::list names;
  for (const std::string_view name : notation_names()) names.append(std::string(name));
  module.attr("notation_names") = py::tuple(names);
}

}  // namespace tessera::python

// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/mesh_layout.h"

#include <pybind11/stl.h>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/pyflame/layout_planner.h"

/// PyFlame's layouts, which name no tensor: the facade of pyflame/.
namespace tessera::python {
namespace {

using pyflame::MeshLayout;
using pyflame::PECoord;

constexpr std::string_view kPrefix = "pyflame.";

std::string text_of(const MeshLayout& layout) {
  return notation::write(layout.terms()).substr(kPrefix.size());
}

PECoord pe_of(const py::handle& pe) {
  const std::vector<std::int64_t> pair = integers(pe, "pe_coord");
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  if (pair.size() != 2 || pair[0] < 0 || pair[1] < 0 || pair[0] > kMost || pair[1] > kMost) {
    raise(ErrorCode::kOutOfRange, cat(bracketed(pair), " is no PE"), "a row and a column");
  }
  return {static_cast<std::int32_t>(pair[0]), static_cast<std::int32_t>(pair[1])};
}

/// The tensor of this shape and type on a layout.
TensorPtr placed(const MeshLayout& layout, const py::handle& shape, const std::string& dtype) {
  std::string text = "tensor<";
  for (const std::int64_t extent : integers(shape, "shape")) text += cat(extent, "x");
  text += cat(dtype, ", ", notation::write(layout.terms()), ">");
  return make_tensor(unwrap(parse_tensor(text), text));
}

/// The PE axis of each dim: a number, or (0, 1) for all PEs, row by row.
std::vector<int> axes_of(const py::sequence& dim_to_pe) {
  std::vector<int> axes;
  for (const py::handle dim : dim_to_pe) {
    if (py::isinstance<py::int_>(dim)) {
      axes.push_back(dim.cast<int>());
      continue;
    }
    const std::vector<std::int64_t> pair = integers(dim, "an item of dim_to_pe");
    if (pair != std::vector<std::int64_t>{0, 1}) {
      raise(ErrorCode::kOutOfRange, cat("dim_to_pe has ", bracketed(pair)),
            "0 (rows), 1 (columns), -1 (none) or (0, 1) (all PEs, row by row)");
    }
    axes.push_back(MeshLayout::kBothAxes);
  }
  return axes;
}

MeshLayout with_options(MeshLayout layout, const std::optional<py::sequence>& dim_to_pe,
                        const py::object& origin,
                        const std::optional<std::vector<int>>& replicate) {
  if (dim_to_pe) layout.dim_to_pe = axes_of(*dim_to_pe);
  if (!origin.is_none()) layout.origin = pe_of(origin);
  if (replicate) layout.replicate = *replicate;
  return layout;
}

MeshLayout planned(const py::handle& shape, const std::string& dtype, const Machine& machine,
                   std::optional<std::int64_t> max_memory_per_pe) {
  const std::optional<DType> type = parse_dtype(dtype);
  if (!type) raise(ErrorCode::kBadDType, cat("there is no element type '", dtype, "'"));
  const std::vector<std::int64_t> extents = integers(shape, "tensor_shape");
  pyflame::LayoutConstraints constraints;
  if (max_memory_per_pe) {
    if (*max_memory_per_pe < 0) {
      raise(ErrorCode::kOutOfRange, cat("max_memory_per_pe is ", *max_memory_per_pe),
            "a number of bytes");
    }
    constraints.max_memory_per_pe = static_cast<std::size_t>(*max_memory_per_pe);
  }
  const Unlocked unlocked;
  const pyflame::LayoutPlanner planner(constraints, machine);
  return unwrap(planner.plan_layout(extents, *type));
}

void bind_makers(py::class_<MeshLayout>& layout) {
  layout.def_static("SinglePE", &MeshLayout::SinglePE);
  layout.def_static("RowPartition", &MeshLayout::RowPartition, py::arg("num_pes"));
  layout.def_static("ColPartition", &MeshLayout::ColPartition, py::arg("num_pes"));
  layout.def_static("Grid", &MeshLayout::Grid, py::arg("rows"), py::arg("cols"));
  layout.def_static("BlockCyclic", &MeshLayout::BlockCyclic, py::arg("rows"), py::arg("cols"),
                    py::arg("block_rows"), py::arg("block_cols"));
  layout.def_static(
      "Custom",
      [](std::int32_t rows, std::int32_t cols, const py::list& pes) {
        std::vector<PECoord> listed;
        for (const py::handle pe : pes) listed.push_back(pe_of(pe));
        return MeshLayout::Custom(rows, cols, std::move(listed));
      },
      py::arg("rows"), py::arg("cols"), py::arg("pes"));
}

void bind_questions(py::class_<MeshLayout>& layout) {
  layout.def(
      "tile_shape",
      [](const MeshLayout& self, const py::handle& pe, const py::handle& shape) {
        return to_tuple(unwrap(self.tile_shape(pe_of(pe), integers(shape, "tensor_shape"))));
      },
      py::arg("pe"), py::arg("tensor_shape"));
  layout.def(
      "pe_for_element",
      [](const MeshLayout& self, const py::handle& indices, const py::handle& shape) {
        const PECoord pe = unwrap(
            self.pe_for_element(integers(indices, "indices"), integers(shape, "tensor_shape")));
        return py::make_tuple(pe.row, pe.col);
      },
      py::arg("indices"), py::arg("tensor_shape"));
  layout.def(
      "local_indices",
      [](const MeshLayout& self, const py::handle& indices, const py::handle& shape) {
        return to_tuple(unwrap(
            self.local_indices(integers(indices, "indices"), integers(shape, "tensor_shape"))));
      },
      py::arg("indices"), py::arg("tensor_shape"));
  layout.def(
      "memory_per_pe",
      [](const MeshLayout& self, const py::handle& shape, std::size_t element_size) {
        return unwrap(self.memory_per_pe(integers(shape, "tensor_shape"), element_size));
      },
      py::arg("tensor_shape"), py::arg("element_size"));
  layout.def("compatible_with", &MeshLayout::compatible_with, py::arg("other"));
  layout.def("total_pes", &MeshLayout::total_pes);
  layout.def("tensor", &placed, py::arg("shape"), py::arg("dtype"));
}

}  // namespace

void bind_mesh_layout(py::module_& module) {
  py::class_<MeshLayout> layout(
      module, "MeshLayout",
      "How tensors of any shape are divided over PEs. Made by pyflame.Layout.");
  bind_makers(layout);
  bind_questions(layout);
  layout.def_readonly("pe_rows", &MeshLayout::pe_rows);
  layout.def_readonly("pe_cols", &MeshLayout::pe_cols);
  layout.def_property_readonly(
      "origin", [](const MeshLayout& l) { return py::make_tuple(l.origin.row, l.origin.col); });
  layout.def("replace", &with_options, py::arg("dim_to_pe") = py::none(),
             py::arg("origin") = py::none(), py::arg("replicate") = py::none());
  layout.def("__str__", &text_of);
  layout.def("__repr__", &text_of);
  layout.def("__eq__", [](const MeshLayout& a, const py::object& b) {
    if (!py::isinstance<MeshLayout>(b)) return false;
    const auto& other = b.cast<const MeshLayout&>();
    return a == other || a.compatible_with(other);
  });
  layout.attr("__hash__") = py::none();  // layouts that are equal have nothing simple in common
  module.def("plan_layout", &planned, py::arg("shape"), py::arg("dtype"), py::arg("machine"),
             py::arg("max_memory_per_pe") = py::none());
  module.def(
      "dtype_bytes",
      [](const std::string& dtype, std::int64_t elements) -> std::int64_t {
        const std::optional<DType> type = parse_dtype(dtype);
        const std::optional<std::int64_t> bytes =
            type && elements >= 0 ? dtype_bytes(*type, elements) : std::nullopt;
        if (bytes) return *bytes;
        raise(ErrorCode::kOutOfRange, cat("the bytes of ", elements, " elements of ", dtype));
      },
      py::arg("dtype"), py::arg("elements"), "The bytes that so many elements take, packed.");
}

}  // namespace tessera::python

// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/notation/metal/metal.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/spyre/nests.h"
#include "tessera/notation/spyre/restickify.h"
#include "tessera/notation/spyre/spyre.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/ttnn/ttnn.h"

/// What only one notation has: device tensors of Spyre, grids and tiles of Tenstorrent, expressions
/// of Morello. Makers that only put a text together are in python/tessera/notations/.
namespace tessera::python {
namespace {

using notation::MetalLayout;
using notation::MorelloLayout;
using notation::SpyreLayout;
using notation::TtnnLayout;

/// The terms of a tensor in a notation: as it was written, or as `raise` expresses its layout.
template <typename Words, typename Raise>
Words words_of(const PyTensor& tensor, const Raise& raise_words) {
  if (const auto* words = std::get_if<Words>(&notation::terms_of(tensor.tensor))) return *words;
  return unwrap(raise_words(tensor.layout()));
}
SpyreLayout spyre_of(const PyTensor& tensor) {
  return words_of<SpyreLayout>(tensor, notation::raise_spyre);
}
MorelloLayout morello_of(const PyTensor& tensor) {
  return words_of<MorelloLayout>(tensor, notation::raise_morello);
}
MetalLayout metal_of(const PyTensor& tensor) {
  return words_of<MetalLayout>(tensor, notation::raise_metal);
}

TensorPtr written(const Shape& shape, DType dtype, const std::string& layout) {
  std::string text = "tensor<";
  for (const std::int64_t extent : shape.extents()) text += cat(extent, "x");
  text += cat(dtype_name(dtype), ", ", layout, ">");
  return make_tensor(unwrap(parse_tensor(text), text));
}

DType dtype_from(const std::string& name) {
  if (const std::optional<DType> dtype = parse_dtype(name)) return *dtype;
  raise(ErrorCode::kBadDType, cat("there is no element type '", name, "'"),
        "tessera.dtypes lists them all");
}

Atom atom_from(const std::optional<std::vector<std::int64_t>>& tile, DType storage) {
  if (!tile) return Atom::scalar(storage);
  if (tile->size() != 2) raise(ErrorCode::kBadAtom, "a tile is (rows, columns)");
  return Atom::tile((*tile)[0], (*tile)[1], storage);
}

py::list nests(const PyTensor& tensor,
               const std::optional<std::vector<std::vector<std::int64_t>>>& part) {
  const py::object make = py::module_::import("tessera.results").attr("TransferNest");
  const Work work(kQuestionSteps);
  const Placement& placement = tensor.placement();
  const SpyreLayout words = spyre_of(tensor);
  std::vector<notation::SpyreNest> found;
  if (part) {
    std::vector<notation::SpyreRange> ranges;
    for (const std::vector<std::int64_t>& range : *part) {
      if (range.size() < 2 || range.size() > 3) {
        raise(ErrorCode::kOutOfRange, "a range is (start, stop) or (start, stop, step)");
      }
      ranges.push_back({range[0], range[1], range.size() == 3 ? range[2] : 1});
    }
    found = unwrap(transfer_nests(words, placement.shape(), placement.dtype(), ranges));
  } else {
    found = unwrap(transfer_nests(words, placement.shape(), placement.dtype()));
  }
  py::list list;
  for (const notation::SpyreNest& nest : found) {
    list.append(make(to_tuple(nest.extent), to_tuple(nest.host_stride),
                     to_tuple(nest.device_stride), nest.host_offset, nest.device_offset));
  }
  return list;
}

py::object restickified(const PyTensor& from, const PyTensor& to) {
  const Work work(kQuestionSteps);
  if (from.placement().shape() != to.placement().shape()) {
    raise(ErrorCode::kShapeMismatch, cat("the shapes ", from.placement().shape().to_string(),
                                         " and ", to.placement().shape().to_string(), " differ"));
  }
  const notation::Restickify done = unwrap(notation::restickify(
      spyre_of(from), spyre_of(to), from.placement().shape(), from.placement().dtype()));
  constexpr const char* kKinds[] = {"nothing", "move", "transpose", "spread"};
  return py::module_::import("tessera.results")
      .attr("Restickify")(kKinds[static_cast<int>(done.kind)], done.sticks_read,
                          done.sticks_written, done.bytes_read, done.bytes_written,
                          done.storage_bytes);
}

void bind_spyre(py::module_& module) {
  module.def("spyre_nests", &nests, py::arg("tensor"), py::arg("part") = py::none());
  module.def("spyre_restickify", &restickified, py::arg("source"), py::arg("destination"));
  module.def("spyre_spelled_out", [](const PyTensor& t) {
    const Placement& placement = t.placement();
    const SpyreLayout words =
        unwrap(spelled_out(spyre_of(t), placement.shape(), placement.dtype()));
    return written(placement.shape(), placement.dtype(), write(words));
  });
  module.def("spyre_device_size", [](const PyTensor& t) {
    const Placement& placement = t.placement();
    return to_tuple(
        unwrap(spelled_out(spyre_of(t), placement.shape(), placement.dtype())).device_size);
  });
  module.def("spyre_stride_map", [](const PyTensor& t) {
    return to_tuple(
        unwrap(stride_map_of(spyre_of(t), t.placement().shape(), t.placement().dtype())));
  });
  module.def("spyre_dim_map", [](const PyTensor& t) {
    return to_tuple(unwrap(dim_map_of(spyre_of(t), t.placement().shape(), t.placement().dtype())));
  });
  module.def("spyre_covered_sticks", [](const PyTensor& t) {
    const Work work(kQuestionSteps);
    return unwrap(covered_sticks(spyre_of(t), t.placement().shape(), t.placement().dtype()));
  });
  module.def("spyre_elements_per_stick", [](const std::string& dtype) {
    return unwrap(notation::elements_per_stick(dtype_from(dtype)));
  });
}

void bind_metal(py::module_& module) {
  module.def("metal_make",
             [](const std::vector<std::int64_t>& shape, const std::string& dtype,
                const notation::CollapseIntervals& intervals, const std::vector<std::int64_t>& grid,
                const std::optional<std::vector<std::int64_t>>& tile, const std::string& storage,
                const std::string& space) {
               const Shape extents = unwrap(Shape::make(shape));
               const MetalLayout words = unwrap(notation::make_metal(
                   extents, intervals, grid, atom_from(tile, dtype_from(storage)), space));
               return written(extents, dtype_from(dtype), write(words));
             });
  module.def("metal_with_grid", [](const PyTensor& t, const std::vector<std::int64_t>& grid) {
    const MetalLayout words = unwrap(with_grid(metal_of(t), t.placement().shape(), grid));
    return written(t.placement().shape(), t.placement().dtype(), write(words));
  });
  module.def("metal_with_element",
             [](const PyTensor& t, const std::optional<std::vector<std::int64_t>>& tile,
                const std::string& storage) {
               const MetalLayout words = unwrap(with_element(metal_of(t), t.placement().shape(),
                                                             atom_from(tile, dtype_from(storage))));
               return written(t.placement().shape(), t.placement().dtype(), write(words));
             });
  module.def("metal_collapse", [](const PyTensor& t, const notation::CollapseIntervals& intervals) {
    const Shape& shape = t.placement().shape();
    const MetalLayout words =
        unwrap(with_linear(metal_of(t), shape, unwrap(notation::collapse(shape, intervals))));
    return written(shape, t.placement().dtype(), write(words));
  });
  module.def("ttnn_make", [](const std::vector<std::int64_t>& shape, const std::string& dtype,
                             const std::optional<std::vector<std::int64_t>>& tile,
                             const std::string& storage, const std::string& space,
                             const std::string& memory, const std::vector<std::int64_t>& grid,
                             std::int64_t device_width) {
    using Memory = TtnnLayout::Memory;
    constexpr std::pair<std::string_view, Memory> kMemories[] = {
        {"", Memory::kUnsaid},
        {"interleaved", Memory::kInterleaved},
        {"height_sharded", Memory::kHeightSharded},
        {"width_sharded", Memory::kWidthSharded},
        {"block_sharded", Memory::kBlockSharded}};
    const Shape extents = unwrap(Shape::make(shape));
    for (const auto& [name, value] : kMemories) {
      if (name != memory) continue;
      const TtnnLayout words = unwrap(notation::make_ttnn(
          extents, atom_from(tile, dtype_from(storage)), space, value, grid, device_width));
      return written(extents, dtype_from(dtype), write(words));
    }
    raise(ErrorCode::kUnknownName, cat("there is no memory layout '", memory, "'"),
          "use interleaved, height_sharded, width_sharded or block_sharded");
  });
}

}  // namespace

void bind_notations(py::module_& module) {
  bind_spyre(module);
  bind_metal(module);
  module.def("morello_expression", [](const PyTensor& t) {
    return unwrap(index_expression(morello_of(t), t.placement().shape()));
  });
  module.def("morello_sizes", [](const PyTensor& t) {
    return to_tuple(unwrap(physical_sizes(morello_of(t), t.placement().shape())));
  });
}

}  // namespace tessera::python

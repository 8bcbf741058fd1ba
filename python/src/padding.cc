// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/runs.h"

namespace tessera::python {
namespace {

py::dict counted(const PaddingCount& count) {
  py::dict dict;
  for (std::size_t i = 0; i < kCauses; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (count[cause] > 0) dict[py::str(std::string(cause_name(cause)))] = count[cause];
  }
  return dict;
}

py::dict padding_of(const PyTensor& tensor, const py::object& place) {
  const Work work(kQuestionSteps);
  if (place.is_none()) return counted(unwrap(padding(tensor.layout())));
  return counted(
      unwrap(padding_at(tensor.layout(), tensor.names.place_of(integers(place, "the place")))));
}

py::list loops_of(const PlaceSet& set) {
  py::list loops;
  for (const PlaceLoop& loop : set.loops) {
    loops.append(py::make_tuple(loop.axis, loop.count, loop.stride));
  }
  return loops;
}

py::list regions_of(const PyTensor& tensor, std::int64_t limit) {
  const py::object make = py::module_::import("tessera.results").attr("PaddingRegion");
  std::vector<PaddingRegion> regions;
  {
    const Unlocked unlocked;
    const Work work(kQuestionSteps);
    unwrap(padding_regions(tensor.layout(), [&](const PaddingRegion& region) {
      if (std::ssize(regions) >= limit) return false;
      regions.push_back(region);
      return true;
    }));
  }
  py::list list;
  for (const PaddingRegion& region : regions) {
    py::list slots;
    for (const Stride& stride : region.slots) {
      slots.append(py::make_tuple(stride.count, stride.stride));
    }
    list.append(make(std::string(cause_name(region.cause)), to_tuple(region.places.first),
                     loops_of(region.places), region.first_slot, slots));
  }
  return list;
}

py::list classes_of(const PyTensor& tensor) {
  const py::object make = py::module_::import("tessera.results").attr("PlaceClass");
  const Work work(kQuestionSteps);
  py::list list;
  for (const PlaceClass& one : unwrap(place_classes(tensor.layout()))) {
    py::list sets;
    for (const PlaceSet& set : one.sets) {
      sets.append(py::make_tuple(to_tuple(set.first), loops_of(set)));
    }
    list.append(make(one.places, one.elements, one.needed_slots, sets));
  }
  return list;
}

/// The boxes of a place as tuples of slices, so that array[box] is what it holds.
py::list tile_at(const PyTensor& tensor, py::handle place) {
  const Work work(kQuestionSteps);
  const Place asked = tensor.names.place_of(integers(place, "the place"));
  py::list boxes;
  const auto add = [&](const Layout& layout, const Index& corner) {
    for (const Box& box : unwrap(tile_of(layout, asked)).boxes) {
      py::tuple slices(corner.size());
      for (std::size_t dim = 0; dim < corner.size(); ++dim) {
        const py::int_ from(corner[dim] + box.from[dim]);
        const py::int_ to(corner[dim] + box.to[dim]);
        slices[dim] = py::reinterpret_steal<py::object>(PySlice_New(from.ptr(), to.ptr(), nullptr));
      }
      boxes.append(slices);
    }
  };
  if (const Piecewise* const pieces = tensor.placement().pieces()) {
    for (const LayoutPiece& piece : pieces->pieces()) add(piece.layout, piece.box.from);
  } else {
    add(tensor.layout(), Index(tensor.placement().shape().rank(), 0));
  }
  return boxes;
}

/// The form of a tensor that one rule places.
const Form& form_of(const PyTensor& tensor) {
  if (const View* const view = tensor.placement().view()) return view->form();
  return tensor.layout().form();
}

std::int64_t run_of(const PyTensor& tensor, const py::object& order) {
  const Work work(kQuestionSteps);
  if (order.is_none()) return unwrap(contiguous_run(form_of(tensor)));
  std::vector<int> dims;
  for (const std::int64_t dim : integers(order, "the order")) {
    if (dim < 0 || dim >= std::ssize(tensor.placement().shape().extents())) {
      raise(ErrorCode::kOutOfRange, cat("the tensor has no dim ", dim));
    }
    dims.push_back(static_cast<int>(dim));
  }
  return unwrap(contiguous_run(form_of(tensor), dims));
}

std::optional<py::tuple> strides(const PyTensor& tensor) {
  const Work work(kQuestionSteps);
  if (!unwrap(is_strided(form_of(tensor)))) return std::nullopt;
  return to_tuple(unwrap(strides_of(form_of(tensor))));
}

}  // namespace

void bind_padding(py::class_<PyTensor, TensorPtr>& tensor, py::module_& module) {
  py::list causes;
  for (std::size_t i = 0; i < kCauses; ++i) {
    causes.append(std::string(cause_name(static_cast<Cause>(i))));
  }
  module.attr("padding_causes") = py::tuple(causes);
  tensor.def("padding", &padding_of, py::arg("place") = py::none(),
             R"(How many slots hold no element, by cause; on all places, or on one.

>>> t = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
>>> t.padding(), t.padding((2, 1))
({'grid': 117}, {'grid': 49})
)");
  tensor.def("padding_regions", &regions_of, py::arg("limit") = 1000,
             R"(The padding as disjoint boxes of slots, at most `limit` of them.

>>> t = tessera.parse("tensor<3x4xf32, pyflame.Grid(2, 1)>")
>>> [region] = t.padding_regions()
>>> region.cause, region.places(), region.slots()
('grid', [(1, 0)], array([4, 5, 6, 7]))
)");
  tensor.def("place_classes", &classes_of,
             R"(Places that hold data in exactly the same slots, as classes.

>>> t = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
>>> [(c.places, c.elements) for c in t.place_classes()]
[(2, 576), (2, 558), (1, 544), (1, 527)]
)");
  tensor.def(
      "held_at", &tile_at, py::arg("place"),
      R"(What a place holds: disjoint boxes as tuples of slices, so that array[box] is a part.

>>> tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>").held_at((2, 1))
[(slice(36, 53, None), slice(32, 63, None))]
)");
  tensor.def(
      "contiguous_run", &run_of, py::arg("order") = py::none(),
      R"(The largest R such that elements kR .. (k+1)R, in row-major order, follow each other.

`order` visits the dims in another order, from slowest to fastest.

>>> t = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
>>> t.contiguous_run()
1
>>> tessera.parse("tensor<4x6xf32, strided<[8, 1]>>").contiguous_run()
6
)");
  tensor.def_property_readonly(
      "is_contiguous",
      [](const PyTensor& t) {
        const Work work(kQuestionSteps);
        return unwrap(is_contiguous(form_of(t)));
      },
      "Whether all elements, in row-major order, are in consecutive slots of one place.");
  tensor.def(
      "vector_width",
      [](const PyTensor& t, std::int64_t max_bytes) {
        const Work work(kQuestionSteps);
        return unwrap(vector_width(form_of(t), t.placement().atom(), max_bytes));
      },
      py::arg("max_bytes") = 64,
      "The widest power of two of elements that one aligned vector access can move.");
  tensor.def_property_readonly(
      "strides", &strides,
      "The stride of every dim in elements, as torch counts them; None where the layout has none.");
}

}  // namespace tessera::python

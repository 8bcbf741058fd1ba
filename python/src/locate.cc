// SPDX-License-Identifier: Apache-2.0
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/layout/form.h"
#include "tessera/layout/locator.h"

namespace tessera::python {

/// Fast random access: a locator for each box, and what is added to a place for each replica.
struct PyTensor::Finder {
  struct Part {
    Box box;
    Locator locator;
  };
  std::vector<Part> parts;
};

namespace {

using Numbers = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;
constexpr std::size_t kBatch = 2048;
constexpr std::int64_t kMostPlaces = std::int64_t{1} << 20;

const PyTensor::Finder& finder_of(const PyTensor& tensor) {
  if (!tensor.finder) {
    const Work work(kQuestionSteps);
    auto made = std::make_shared<PyTensor::Finder>();
    for (const FormPiece& piece : form_pieces(tensor.placement())) {
      made->parts.push_back({piece.box, Locator(unwrap(canonical(*piece.form)))});
    }
    tensor.finder = std::move(made);
  }
  return *tensor.finder;
}

/// Where one element is. Its places are listed only when they are asked for.
struct PyLocation {
  TensorPtr tensor;
  Index index;
  Place first;
  std::int64_t slot = 0;

  std::optional<std::int64_t> byte() const { return tensor->placement().atom().byte_of(slot); }
  std::int64_t copies() const { return tensor->placement().form_at(index).first->replicas(); }
  py::list places() const {
    if (copies() > kMostPlaces) {
      raise(ErrorCode::kTooLarge,
            cat("the element has ", copies(), " copies, more than the ", kMostPlaces,
                " places that are listed"),
            "ask for `place`, the first of them");
    }
    py::list list;
    for (const Place& place : replica_places(*tensor->placement().form_at(index).first, first)) {
      list.append(to_tuple(tensor->names.name_of(place)));
    }
    return list;
  }
  std::string repr() const {
    const std::optional<std::int64_t> at = byte();
    const std::int64_t more = copies() - 1;
    return cat("Location(place=", std::string(py::str(to_tuple(tensor->names.name_of(first)))),
               ", slot=", slot, ", byte=", at ? std::to_string(*at) : "None",
               more > 0 ? cat(", and ", more, more == 1 ? " copy" : " copies") : std::string(),
               ")");
  }
};

PyLocation locate_one(const TensorPtr& tensor, Index index) {
  const Placement& placement = tensor->placement();
  if (!placement.shape().contains(index)) {
    unwrap(placement.locate(index));  // it has the error
  }
  PyLocation location;
  if (placement.pieces() == nullptr) {
    const Form& form =
        placement.layout() != nullptr ? placement.layout()->form() : placement.view()->form();
    form.evaluate(index, location.first, location.slot);
  } else {
    const auto [form, local] = placement.form_at(index);
    form->evaluate(local, location.first, location.slot);
  }
  location.tensor = tensor;
  location.index = std::move(index);
  return location;
}

/// Integers of any array, C-contiguous; a TypeError for other numbers.
Numbers integer_array(py::handle object) {
  const auto array = py::reinterpret_steal<py::array>(py::detail::npy_api::get().PyArray_FromAny_(
      object.inc_ref().ptr(), nullptr, 0, 0, 0, nullptr));
  object.dec_ref();
  if (!array) throw py::error_already_set();
  const char kind = array.dtype().kind();
  if (kind != 'i' && kind != 'u' && !(array.size() == 0)) {
    throw py::type_error(
        cat("indices must be integers, not an array of ", std::string(py::str(array.dtype()))));
  }
  return Numbers(array);
}

/// The indices as one array whose last axis is the dims.
Numbers index_array(py::handle indices) {
  if (!PyTuple_Check(indices.ptr())) return integer_array(indices);
  const py::module_ numpy = py::module_::import("numpy");
  const py::object dims =
      numpy.attr("broadcast_arrays")(*py::reinterpret_borrow<py::tuple>(indices));
  return integer_array(numpy.attr("stack")(dims, py::arg("axis") = -1));
}

/// The first index that is not inside the shape, or `count`.
std::size_t first_outside(const std::int64_t* indices, std::size_t count, const Shape& shape) {
  const std::size_t rank = shape.rank();
  for (std::size_t begin = 0; begin < count; begin += kBatch) {
    const std::size_t end = std::min(count, begin + kBatch);
    std::uint64_t outside = 0;
    for (std::size_t dim = 0; dim < rank; ++dim) {
      const auto extent = static_cast<std::uint64_t>(shape[dim]);
      const std::int64_t* at = indices + begin * rank + dim;
      for (std::size_t i = begin; i < end; ++i, at += rank) {
        outside |= static_cast<std::uint64_t>(static_cast<std::uint64_t>(*at) >= extent);
      }
    }
    if (outside == 0) continue;
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t dim = 0; dim < rank; ++dim) {
        const std::int64_t x = indices[i * rank + dim];
        if (x < 0 || x >= shape[dim]) return i;
      }
    }
  }
  return count;
}

void locate_batches(const PyTensor& tensor, const PyTensor::Finder& finder,
                    std::span<const std::int64_t> indices, std::size_t rank, std::int64_t* places,
                    std::int64_t* slots, std::size_t count) {
  std::array<Position, kBatch> found;
  const Locator& locator = finder.parts.front().locator;
  const bool renamed = !tensor.names.are_places();
  for (std::size_t begin = 0; begin < count; begin += kBatch) {
    const std::size_t some = std::min(kBatch, count - begin);
    locator.at_many(indices.subspan(begin * rank, some * rank), std::span(found).first(some));
    for (std::size_t i = 0; i < some; ++i) {
      places[begin + i] = renamed ? tensor.names.number_of(found[i].place) : found[i].place;
      slots[begin + i] = found[i].slot;
    }
  }
}

/// Boxes with a locator each.
void locate_pieces(const PyTensor& tensor, const PyTensor::Finder& finder,
                   std::span<const std::int64_t> indices, std::size_t rank, std::int64_t* places,
                   std::int64_t* slots, std::size_t count) {
  Index index(rank);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(indices.data() + i * rank, rank, index.begin());
    for (const PyTensor::Finder::Part& part : finder.parts) {
      if (!part.box.contains(index)) continue;
      const Index local = minus(index, part.box.from);
      const Position found = part.locator.at(local.data());
      places[i] = tensor.names.number_of(found.place);
      slots[i] = found.slot;
      break;
    }
  }
}

py::tuple locate_many(const TensorPtr& tensor, py::handle given) {
  const Numbers indices = index_array(given);
  const Shape& shape = tensor->placement().shape();
  const std::size_t rank = shape.rank();
  if (indices.ndim() == 0 || static_cast<std::size_t>(indices.shape(indices.ndim() - 1)) != rank) {
    raise(ErrorCode::kOutOfRange,
          indices.ndim() == 0 ? std::string("a single number is not an index")
                              : cat("the last axis of the indices has length ",
                                    static_cast<std::int64_t>(indices.shape(indices.ndim() - 1)),
                                    ", but the tensor has rank ", static_cast<std::int64_t>(rank)),
          "give an array of shape (.., rank), or a tuple with one array per dim");
  }
  const std::vector<py::ssize_t> outer(indices.shape(), indices.shape() + indices.ndim() - 1);
  py::array_t<std::int64_t> places(outer);
  py::array_t<std::int64_t> slots(outer);
  const auto count = static_cast<std::size_t>(places.size());
  const std::span<const std::int64_t> all(indices.data(), count * rank);
  const PyTensor::Finder& finder = finder_of(*tensor);
  std::int64_t* const to_places = places.mutable_data();
  std::int64_t* const to_slots = slots.mutable_data();
  std::size_t outside = count;
  {
    const Unlocked unlocked;
    outside = first_outside(all.data(), count, shape);
    if (outside == count && count > 0) {
      const auto& locate = finder.parts.size() == 1 ? locate_batches : locate_pieces;
      locate(*tensor, finder, all, rank, to_places, to_slots, count);
    }
  }
  if (outside < count) {
    const std::int64_t* const at = all.data() + outside * rank;
    unwrap(tensor->placement().locate(Index(at, at + rank)));  // it has the error
  }
  return py::make_tuple(places, slots);
}

py::object locate(const TensorPtr& tensor, const py::object& index) {
  const bool is_many = py::isinstance<py::array>(index) && py::array(index).ndim() != 1;
  if (auto one = is_many ? std::nullopt : integers(index))
    return py::cast(locate_one(tensor, *std::move(one)));
  return py::module_::import("tessera.results").attr("Locations")(*locate_many(tensor, index));
}

SlotContent content_at(const PyTensor& tensor, py::handle place, std::int64_t slot) {
  const Work work(kQuestionSteps);
  return unwrap(
      tensor.placement().contents_at(tensor.names.place_of(integers(place, "the place")), slot));
}

py::object element_at(const PyTensor& tensor, py::handle place, std::int64_t slot) {
  const SlotContent content = content_at(tensor, place, slot);
  if (const auto* padding = std::get_if<Padding>(&content)) {
    return py::module_::import("tessera.results")
        .attr("Padding")(std::string(cause_name(padding->cause)));
  }
  const auto& held = std::get<std::vector<Index>>(content);
  if (held.size() > 1) {
    raise(ErrorCode::kNotInjective,
          cat("slot ", slot, " holds ", static_cast<std::int64_t>(held.size()), " elements"),
          "elements_at() lists them");
  }
  return to_tuple(held.front());
}

py::list elements_at(const PyTensor& tensor, py::handle place, std::int64_t slot) {
  const SlotContent content = content_at(tensor, place, slot);
  py::list list;
  if (const auto* held = std::get_if<std::vector<Index>>(&content)) {
    for (const Index& index : *held) list.append(to_tuple(index));
  }
  return list;
}

}  // namespace

void bind_locate(py::class_<PyTensor, TensorPtr>& tensor, py::module_& module) {
  py::class_<PyLocation>(module, "Location", "Where one element is.")
      .def_property_readonly(
          "place", [](const PyLocation& l) { return to_tuple(l.tensor->names.name_of(l.first)); },
          "The place; the first one where there are copies.")
      .def_property_readonly("places", &PyLocation::places, "All places that hold a copy.")
      .def_property_readonly("copies", &PyLocation::copies, "How many places hold a copy.")
      .def_readonly("slot", &PyLocation::slot, "The position inside the place, in elements.")
      .def_property_readonly("byte", &PyLocation::byte,
                             "The byte inside the place; None inside block-float tiles.")
      .def("__repr__", &PyLocation::repr);
  tensor.def("locate", &locate, py::arg("index"), R"(Where elements are.

With one index (a sequence of integers) the answer is a Location:

>>> t = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
>>> t.locate((40, 33))
Location(place=(2, 1), slot=129, byte=516)

With many, the answer has arrays of places and slots. They are given as an array whose last axis
is the dims, or like NumPy's fancy indices as a tuple with one array per dim (np.nonzero() makes
such tuples); these broadcast. Places are row-major numbers on the mesh, the first one where
there are copies:

>>> where = t.locate((np.arange(38, 42), 33))
>>> where.places, where.slots
(array([5, 5, 5, 5]), array([ 65,  97, 129, 161]))
>>> np.unravel_index(where.places, t.mesh)[0]
array([2, 2, 2, 2])
)");
  tensor.def("element_at", &element_at, py::arg("place"), py::arg("slot"),
             R"(The index of the element in a slot of a place, or why it is padding.

>>> t = tessera.parse("tensor<53x63xf32, pyflame.Grid(3, 2)>")
>>> t.element_at((2, 1), 129)
(40, 33)
>>> t.element_at((2, 1), 575)
Padding(cause='grid')
)");
  tensor.def("elements_at", &elements_at, py::arg("place"), py::arg("slot"),
             R"(The indices of all elements in a slot, in row-major order; [] for padding.

>>> tessera.parse("tensor<2x3xf32, strided<[0, 1]>>").elements_at((), 1)
[(0, 1), (1, 1)]
)");
}

}  // namespace tessera::python

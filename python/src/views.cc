// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/layout/view.h"

namespace tessera::python {
namespace {

View view_of(const PyTensor& tensor) {
  if (const View* const view = tensor.placement().view()) return *view;
  return View::of(tensor.layout());
}

TensorPtr made_of(View view) { return make_tensor(Tensor{Placement(std::move(view)), "native"}); }

TensorPtr transposed(const PyTensor& tensor, const py::object& axes) {
  const Work work(kQuestionSteps);
  std::vector<int> dims;
  const auto rank = static_cast<std::int64_t>(tensor.placement().shape().rank());
  if (axes.is_none()) {
    for (std::int64_t dim = rank - 1; dim >= 0; --dim) dims.push_back(static_cast<int>(dim));
  } else {
    for (const std::int64_t axis : integers(axes, "the axes")) {
      if (axis < -rank || axis >= rank) {
        raise(ErrorCode::kBadView, cat("the tensor has no dim ", axis));
      }
      dims.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
    }
  }
  return made_of(unwrap(view_of(tensor).transpose(dims)));
}

TensorPtr reshaped(const PyTensor& tensor, const py::args& shape) {
  const Work work(kQuestionSteps);
  std::vector<std::int64_t> extents = shape.size() == 1 && py::isinstance<py::sequence>(shape[0])
                                          ? integers(shape[0], "the shape")
                                          : integers(shape, "the shape");
  std::int64_t known = 1;
  std::int64_t* open = nullptr;
  for (std::int64_t& extent : extents) {
    if (extent == -1 && open == nullptr) {
      open = &extent;
    } else if (extent > 0 && known <= INT64_MAX / extent) {
      known *= extent;
    }
  }
  if (open != nullptr && known > 0) *open = tensor.placement().shape().elements() / known;
  return made_of(unwrap(view_of(tensor).reshape(extents)));
}

/// NumPy's basic indexing: integers, slices, an ellipsis and None.
TensorPtr indexed(const PyTensor& tensor, const py::object& key) {
  const Work work(kQuestionSteps);
  const py::tuple items = py::isinstance<py::tuple>(key) ? py::tuple(key) : py::make_tuple(key);
  const auto rank = static_cast<std::int64_t>(tensor.placement().shape().rank());
  std::int64_t used = 0;
  for (const py::handle item : items) {
    used += !item.is_none() && item.ptr() != Py_Ellipsis ? 1 : 0;
  }
  if (used > rank) {
    raise(ErrorCode::kBadView, cat("there are ", used, " indices for a tensor of rank ", rank));
  }
  View view = view_of(tensor);
  std::vector<std::int64_t> kept;  // extents without the dims of integers
  int dim = 0;
  bool reshapes = false;
  const auto keep_rest = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i, ++dim) {
      kept.push_back(view.shape()[static_cast<std::size_t>(dim)]);
    }
  };
  for (const py::handle item : items) {
    if (item.is_none()) {
      kept.push_back(1);
      reshapes = true;
      continue;
    }
    if (item.ptr() == Py_Ellipsis) {
      keep_rest(rank - used);
      used = rank;  // a second one stands for nothing
      continue;
    }
    const std::int64_t extent = view.shape()[static_cast<std::size_t>(dim)];
    if (PySlice_Check(item.ptr()) != 0) {
      Py_ssize_t start = 0;
      Py_ssize_t stop = 0;
      Py_ssize_t step = 0;
      if (PySlice_Unpack(item.ptr(), &start, &stop, &step) < 0) throw py::error_already_set();
      const Py_ssize_t count = PySlice_AdjustIndices(extent, &start, &stop, step);
      if (count == 0) {
        raise(ErrorCode::kBadView, cat("the slice of dim ", dim, " is empty"),
              "a view of no elements has no memory to describe");
      }
      view = unwrap(view.slice(dim, start, count, step));
      kept.push_back(count);
    } else {
      const auto index = py::reinterpret_steal<py::object>(PyNumber_Index(item.ptr()));
      if (!index) throw py::error_already_set();
      std::int64_t at = index.cast<std::int64_t>();
      if (at < -extent || at >= extent) {
        raise(ErrorCode::kOutOfRange,
              cat("index ", at, " is outside dim ", dim, " of ", extent, " elements"));
      }
      if (at < 0) at += extent;
      view = unwrap(view.slice(dim, at, 1));
      reshapes = true;
    }
    ++dim;
  }
  keep_rest(rank - dim);
  if (reshapes) view = unwrap(view.reshape(kept));
  return made_of(std::move(view));
}

TensorPtr broadcasted(const PyTensor& tensor, py::handle shape) {
  const Work work(kQuestionSteps);
  const std::vector<std::int64_t> extents = integers(shape, "the shape");
  View view = view_of(tensor);
  const std::size_t rank = view.shape().rank();
  if (extents.size() < rank) {
    raise(ErrorCode::kShapeMismatch,
          cat("a tensor of rank ", static_cast<std::int64_t>(rank), " does not broadcast to ",
              static_cast<std::int64_t>(extents.size()), " dims"));
  }
  const std::size_t added = extents.size() - rank;
  for (std::size_t i = 0; i < added; ++i) {
    view = unwrap(view.broadcast(static_cast<int>(i), extents[i]));
  }
  for (std::size_t i = added; i < extents.size(); ++i) {
    const std::int64_t extent = view.shape()[i];
    if (extent == extents[i]) continue;
    if (extent != 1) {
      raise(ErrorCode::kShapeMismatch, cat("dim ", static_cast<std::int64_t>(i - added), " of ",
                                           extent, " elements does not broadcast to ", extents[i]));
    }
    view = unwrap(view.slice(static_cast<int>(i), 0, extents[i], 0));
  }
  return made_of(std::move(view));
}

}  // namespace

void bind_views(py::class_<PyTensor, TensorPtr>& tensor) {
  tensor.def("transpose", &transposed, py::arg("axes") = py::none(),
             R"(The same memory with its dims in another order, as numpy.transpose() does.

>>> t = tessera.parse("tensor<4x6xf32, strided<[6, 1]>>").transpose()
>>> t.shape, t.strides
((6, 4), (1, 6))
)");
  tensor.def_property_readonly(
      "T", [](const PyTensor& t) { return transposed(t, py::none()); }, "transpose()");
  tensor.def("reshape", &reshaped,
             R"(The same memory indexed by another shape, row-major; -1 stands for what is left.

>>> tessera.parse("tensor<4x6xf32, strided<[6, 1]>>").reshape(4, 2, -1).strides
(6, 3, 1)
)");
  tensor.def("broadcast_to", &broadcasted, py::arg("shape"),
             "The same memory indexed by a larger shape, as numpy.broadcast_to() does.");
  tensor.def("__getitem__", &indexed, py::arg("key"),
             R"(NumPy's basic indexing: integers, slices, an ellipsis and None.

>>> t = tessera.parse("tensor<4x6xf32, strided<[6, 1]>>")
>>> t[1:, ::-2].locate((0, 0)).slot
11
)");
}

}  // namespace tessera::python

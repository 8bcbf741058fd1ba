// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/shape.h"
#include "tessera/notation/same_places.h"
#include "tessera/notation/tensor.h"

/// python/src/: the module tessera._native. Calls come in from Python, the library answers, and
/// answers go back as Python objects. Nothing here decides about layouts, and nothing here is text
/// for people: that is in python/tessera/.
///
/// The library is compiled without exceptions; this folder has them, because a Python error is
/// one. Everything that may take longer than some microseconds runs without the interpreter's
/// lock (Unlocked), so other threads of the program go on.
namespace tessera::python {

namespace py = pybind11;
using Unlocked = py::gil_scoped_release;

/// An Error on its way to Python, where it becomes a tessera.TesseraError (errors.cc). `source` is
/// the text that its span refers to; it may be empty.
struct Raised {
  Error error;
  std::string source;
};

[[noreturn]] void raise(Error error, std::string_view source = {});
[[noreturn]] void raise(ErrorCode code, std::string message, std::string help = {});

/// The value of a Result, or its error as an exception.
template <typename T>
T unwrap(Result<T> result, std::string_view source = {}) {
  if (!result.ok()) raise(result.error(), source);
  return std::move(result).value();
}

/// A parsed tensor as Python sees it. Immutable, apart from what is computed once when it is asked
/// for, which happens only under the interpreter's lock.
struct PyTensor {
  explicit PyTensor(Tensor made);
  Tensor tensor;
  PlaceNames names;  ///< what the notation calls its places

  const Placement& placement() const { return tensor.placement; }
  /// The layout, or an exception where one rule does not describe the tensor.
  const Layout& layout() const;
  const std::string& text() const;  ///< printed once

  struct Finder;  // locate.cc
  mutable std::shared_ptr<const Finder> finder;

 private:
  mutable std::optional<std::string> text_;
};
using TensorPtr = std::shared_ptr<PyTensor>;

TensorPtr make_tensor(Tensor tensor);
/// A tensor from a Tensor object or from the text of one; anything else is a TypeError.
TensorPtr tensor_from(py::handle tensor_or_text);

/// Integers as a tuple.
py::tuple to_tuple(const std::vector<std::int64_t>& numbers);
/// A sequence of integers (also NumPy's), or nullopt where an item is not one. No exception is
/// left behind.
std::optional<std::vector<std::int64_t>> integers(py::handle sequence);
/// The same; a TypeError that names `what` where it is none.
std::vector<std::int64_t> integers(py::handle sequence, const char* what);

// One function per file; module.cc calls them.
void bind_errors(py::module_& module);
void bind_tensor(py::module_& module);
void bind_locate(py::class_<PyTensor, TensorPtr>& tensor, py::module_& module);
void bind_padding(py::class_<PyTensor, TensorPtr>& tensor, py::module_& module);
void bind_views(py::class_<PyTensor, TensorPtr>& tensor);
void bind_compare(py::class_<PyTensor, TensorPtr>& tensor, py::module_& module);
void bind_relayout(py::module_& module);
void bind_reshard(py::module_& module);
void bind_memory(py::module_& module);
void bind_choose(py::module_& module);
void bind_notations(py::module_& module);
void bind_lazy(py::module_& module);
void bind_mesh_layout(py::module_& module);
void bind_command(py::module_& module);

}  // namespace tessera::python

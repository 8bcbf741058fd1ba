// SPDX-License-Identifier: Apache-2.0
#include <pybind11/stl.h>

#include "native.h"
#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/same_places.h"

namespace tessera::python {
namespace {

py::object diff(const PyTensor& tensor, const py::object& other_or_text) {
  const TensorPtr other = tensor_from(other_or_text);
  Comparison comparison;
  std::optional<std::int64_t> moved = 0;
  std::optional<bool> stays = true;
  {
    const Unlocked unlocked;
    const Work work(kQuestionSteps);
    const SamePlaces places = unwrap(same_places(tensor.tensor, other->tensor));
    comparison = unwrap(same_on_device(places.a, places.b));
    if (!comparison.equal) {
      const Result<std::int64_t> count = moved_on_device(places.a, places.b);
      if (!count && count.error().code != ErrorCode::kTooLarge) raise(count.error());
      moved = count ? std::optional(*count) : std::nullopt;
      const Result<bool> local = compatible_on_device(places.a, places.b);
      stays = local ? std::optional(*local) : std::nullopt;
    }
  }
  const std::optional<std::int64_t> bytes =
      moved ? dtype_bytes(other->placement().atom().storage, *moved) : std::nullopt;
  py::object first = py::none();
  if (comparison.first_difference) first = to_tuple(*comparison.first_difference);
  const py::object answer = py::module_::import("tessera.results")
                                .attr("Difference")(comparison.equal, first, moved, bytes, stays);
  answer.attr("_pair") = py::make_tuple(tensor.text(), other->text());  // its picture shows both
  return answer;
}

}  // namespace

void bind_compare(py::class_<PyTensor, TensorPtr>& tensor, py::module_& module) {
  tensor.def("diff", &diff, py::arg("other"),
             R"(Whether two layouts put every element in the same slot of the same places.

Notations, padding and element types play no part. The answer is true where they are equal.

>>> rows = tessera.parse("tensor<4x6xf32, strided<[6, 1]>>")
>>> rows.diff("tensor<4x6xf32, strided<[1, 4]>>")
Difference(equal=False, first=(0, 1), moved_elements=22, moved_bytes=88, stays_on_place=True)
>>> bool(rows.diff("tensor<4x6xf32, morello.row_major()>"))
True
)");
  tensor.def(
      "function_hash",
      [](const PyTensor& t) {
        const Work work(kQuestionSteps);
        if (const View* const view = t.placement().view()) {
          return unwrap(function_hash(view->form()));
        }
        return unwrap(function_hash(t.layout().form()));
      },
      "Equal for layouts that are the same function, however they are written.");
  (void)module;
}

}  // namespace tessera::python

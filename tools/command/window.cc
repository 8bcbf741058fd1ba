// SPDX-License-Identifier: Apache-2.0
#include "tools/command/window.h"

#include <array>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

Error outside_window(std::string message) {
  return Error{ErrorCode::kOutOfRange, std::move(message), std::nullopt,
               "ask for a part of the tensor"};
}

}  // namespace

Index Window::element(std::int64_t number) const {
  Index index = counts.delinear(number);
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    index[dim] = from[dim] + index[dim] * steps[dim];
  }
  return index;
}

Result<Window> read_window(const Request& request, const Shape& shape) {
  Window window;
  window.from = request.numbers("from");
  const std::vector<std::int64_t>& counts = request.numbers("counts");
  window.steps = request.numbers("steps");
  if (window.steps.empty()) window.steps.assign(shape.rank(), 1);
  using List = std::pair<std::string_view, const std::vector<std::int64_t>*>;
  const std::array<List, 3> lists = {List("from", &window.from), List("counts", &counts),
                                     List("steps", &window.steps)};
  for (const auto& [flag, list] : lists) {
    if (list->size() == shape.rank()) continue;
    return outside_window(cat("--", flag, " ", bracketed(*list), " has ",
                              count_of(std::ssize(*list), "number"), ", the tensor ",
                              count_of(static_cast<std::int64_t>(shape.rank()), "dim")));
  }
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (counts[dim] < 0 || window.steps[dim] < 1 || window.from[dim] < 0) {
      return outside_window(cat("dim ", dim, " is asked for ", counts[dim], " times from ",
                                window.from[dim], " in steps of ", window.steps[dim]));
    }
    const Checked last = Checked(window.from[dim]) + Checked(counts[dim] - 1) * window.steps[dim];
    if (counts[dim] > 0 && (last.overflowed() || last.saturated() >= shape[dim])) {
      return outside_window(cat("the last of ", counts[dim], " indices is outside dim ", dim,
                                ", which is ", shape[dim], " long"));
    }
  }
  TESSERA_TRY(window.counts, Shape::make(counts));
  if (window.counts.elements() <= kMostInWindow) return window;
  return Error{ErrorCode::kTooLarge,
               cat("a window of ", window.counts.elements(), " elements; at most ", kMostInWindow),
               std::nullopt, "take larger steps"};
}

}  // namespace tessera::tools

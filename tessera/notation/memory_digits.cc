// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/memory_digits.h"

#include <algorithm>
#include <cstdlib>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/layout/lines.h"

namespace tessera {

namespace {

Error cannot(std::string_view what) {
  return Error{ErrorCode::kNotSupported, std::string(what), std::nullopt, {}};
}

/// The dims of a line that joins them row-major without gaps.
Result<std::vector<int>> joined_dims(const Line& line, const Shape& shape) {
  std::vector<int> dims;
  Checked coef = 1;
  for (auto term = line.terms.rbegin(); term != line.terms.rend(); ++term) {
    if (line.start != 0 || coef.overflowed() || term->coef != coef.raw()) {
      return cannot("gaps between elements, or dims that run downward");
    }
    coef *= shape[static_cast<std::size_t>(term->dim)];
    dims.insert(dims.begin(), term->dim);
  }
  return dims;
}

/// The lines and their digits, line by line, widths falling.
Result<MemoryDigits> unsorted_digits(const Layout& layout) {
  if (layout.places() != 1) return cannot(cat("a mesh of ", layout.places(), " places"));
  const Shape& shape = layout.shape();
  MemoryDigits memory;
  if (shape.empty()) return memory;
  TESSERA_TRY(const Lines lines, canonical(layout.form()));
  for (const Line& line : lines.lines) {
    TESSERA_TRY(std::vector<int> dims, joined_dims(line, shape));
    std::int64_t above = 1;
    for (const int dim : dims) above *= shape[static_cast<std::size_t>(dim)];
    const int number = static_cast<int>(memory.lines.size());
    memory.lines.push_back(std::move(dims));
    for (const LineCut& cut : line.cuts) {
      const std::int64_t extent = ceil_div(above, cut.width);
      if (cut.move.slot < 0) return cannot("strides that run downward");
      if (extent > 1) memory.digits.push_back({number, cut.width, extent, cut.move.slot, extent});
      above = std::min(above, cut.width);
    }
  }
  return memory;
}

}  // namespace

Result<MemoryDigits> memory_digits(const Layout& layout) {
  TESSERA_TRY(MemoryDigits memory, unsorted_digits(layout));
  std::sort(memory.digits.begin(), memory.digits.end(),
            [](const MemoryDigit& a, const MemoryDigit& b) { return a.stride > b.stride; });
  std::int64_t above = layout.slots();
  for (MemoryDigit& digit : memory.digits) {
    if (digit.stride == 0) return cannot("elements that share a slot");
    if (above % digit.stride != 0 || above / digit.stride < digit.extent) {
      return cannot(cat("a stride of ", digit.stride, " slots inside one of ", above));
    }
    digit.count = above / digit.stride;
    above = digit.stride;
  }
  return memory;
}

Result<std::vector<std::vector<MemoryDigit>>> digits_by_dim(const Layout& layout) {
  TESSERA_TRY(const MemoryDigits memory, unsorted_digits(layout));
  std::vector<std::vector<MemoryDigit>> by_dim(layout.shape().rank());
  for (const MemoryDigit& digit : memory.digits) {
    const std::vector<int>& dims = memory.lines[static_cast<std::size_t>(digit.line)];
    if (dims.size() != 1) return cannot("dims that are tied together in one line");
    by_dim[static_cast<std::size_t>(dims.front())].push_back(digit);
  }
  return by_dim;
}

}  // namespace tessera

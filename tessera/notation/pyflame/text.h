// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/notation/text/cursor.h"

/// `pyflame.Factory(..)` as read from the text, with spans, so that errors in its meaning point at
/// the text.
namespace tessera::notation {

/// The span of each item. Lists have one span per entry.
struct PyflameSpans {
  Span rows;
  Span cols;
  Span block_rows;
  Span block_cols;
  Span pe_list;
  Span dim_list;
  Span origin;
  std::vector<Span> pes;
  std::vector<Span> dim_to_pe;
  std::vector<Span> replicate;
  std::vector<Span> partial;
};

struct PyflameText {
  PyflameLayout words;
  PyflameSpans spans;
};

Result<PyflameText> read_pyflame(std::string_view source);

/// "rows" and "columns".
std::string_view pe_axis_name(int axis);

/// Gives the span of an item for errors; without a text (a layout made by a program) it gives none.
class PyflameBlame {
 public:
  PyflameBlame() = default;
  explicit PyflameBlame(const PyflameSpans& spans) : spans_(&spans) {}

  using Item = Span PyflameSpans::*;
  using Items = std::vector<Span> PyflameSpans::*;
  std::optional<Span> at(Item item) const;
  std::optional<Span> at(Items items, std::size_t entry) const;
  /// From the start of the first to the end of the second.
  static std::optional<Span> both(std::optional<Span> a, std::optional<Span> b);

 private:
  const PyflameSpans* spans_ = nullptr;
};

/// Checks the rules that do not depend on the tensor: PEs and blocks must be positive, a factory
/// must not have fields of another one, no PE axis and no PE may be listed twice.
Status check_pyflame(const PyflameLayout& words, const PyflameBlame& blame);

/// Like `lower`, but errors point into the text.
Result<Layout> lower_pyflame(const PyflameLayout& words, const Shape& shape, DType dtype,
                             const PyflameBlame& blame);

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/notation/pyflame/pyflame.h"
#include "tessera/notation/text/cursor.h"

/// `pyflame.Factory(..)` as it stands in the text, so that what is wrong with its meaning is told
/// where it was said.
namespace tessera::notation {

/// Where each item stood. Lists have a span an entry, as many as the words have.
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

/// Points errors at items; without a text (words that a program made) it points nowhere.
class PyflameBlame {
 public:
  PyflameBlame() = default;
  explicit PyflameBlame(const PyflameSpans& spans) : spans_(&spans) {}

  using Item = Span PyflameSpans::*;
  using Items = std::vector<Span> PyflameSpans::*;
  std::optional<Span> at(Item item) const;
  std::optional<Span> at(Items items, std::size_t entry) const;
  /// From the first of the two to the end of the other.
  static std::optional<Span> both(std::optional<Span> a, std::optional<Span> b);

 private:
  const PyflameSpans* spans_ = nullptr;
};

/// What is wrong with words on their own, whatever the tensor: PEs and blocks that are not
/// positive, a factory with fields it does not have, PE axes named twice, PEs listed twice.
Status check_pyflame(const PyflameLayout& words, const PyflameBlame& blame);

/// `lower`, with errors that point into the text.
Result<Layout> lower_pyflame(const PyflameLayout& words, const Shape& shape, DType dtype,
                             const PyflameBlame& blame);

}  // namespace tessera::notation

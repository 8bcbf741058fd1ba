// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/strided.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/runs.h"
#include "tessera/notation/cursor.h"
#include "tessera/notation/plain_memory.h"
#include "tessera/notation/registry.h"

namespace tessera {
namespace {

/// A negative stride runs downward from the slot of index 0, which must be high enough for it.
Status check_lowest(const StridedLayout& words, const Shape& shape) {
  Checked lowest = words.offset;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (words.strides[dim] < 0 && shape[dim] > 1) {
      lowest += Checked(words.strides[dim]) * (shape[dim] - 1);
    }
  }
  TESSERA_TRY(const std::int64_t slot, lowest.value("the lowest slot"));
  if (slot >= 0) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("an element would live in slot ", slot), std::nullopt,
               cat("slots count from 0: an offset of ", (Checked(words.offset) - slot).saturated(),
                   " or more")};
}

Status check_rank(const StridedLayout& words, const Shape& shape) {
  const std::size_t rank = words.strides.size();
  if (rank == shape.rank()) return ok_status();
  return Error{
      ErrorCode::kContradiction,
      cat(rank, rank == 1 ? " stride" : " strides", " for a tensor of rank ", shape.rank()),
      std::nullopt, cat("row-major is strided<", bracketed(shape.row_major_strides()), ">")};
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  constexpr std::string_view kHelp = "such as strided<[256, 1]> or strided<[256, 1], offset: 5>";
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("strided", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  StridedLayout words;
  const std::int64_t list_from = cursor.position();
  TESSERA_TRY(words.strides, cursor.integers("a stride", kMaxRank));
  const Span list = cursor.since(list_from);
  std::optional<Span> offset;
  if (cursor.accept(",")) {
    TESSERA_CHECK_OK(cursor.expect_word("offset", kHelp));
    TESSERA_CHECK_OK(cursor.expect(":", kHelp));
    const std::int64_t offset_from = cursor.position();
    TESSERA_TRY(words.offset, cursor.integer("an offset"));
    offset = cursor.since(offset_from);
  }
  if (!cursor.accept(">")) return cursor.expected(offset ? "'>'" : "',' or '>'", kHelp);
  TESSERA_CHECK_OK(cursor.expect_end());
  Result<Layout> layout = lower(words, type.shape, type.dtype());
  if (layout) return Tensor{*std::move(layout), "strided", std::move(words)};
  const bool too_low = layout.error().code == ErrorCode::kOutOfRange;
  return layout.error().at(too_low ? offset.value_or(list) : list);
}

Error cannot_say(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("strided<> cannot say ", what), std::nullopt,
               "the native notation can"};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const StridedLayout words, raise_strided(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout.shape(), tensor.layout.dtype()),
          write(std::get<StridedLayout>(tensor.words))};
}

}  // namespace

Result<Layout> lower(const StridedLayout& words, const Shape& shape, DType dtype) {
  TESSERA_CHECK_OK(check_rank(words, shape));
  TESSERA_CHECK_OK(check_lowest(words, shape));
  return Layout::strided(shape, dtype, words.strides, words.offset);
}

Result<StridedLayout> raise_strided(const Layout& layout) {
  if (const auto what = beyond_plain_memory(layout.spec())) return cannot_say(*what);
  const Shape& shape = layout.shape();
  // Steps that no element takes are row-major: all of an empty tensor, and dims of extent 1.
  StridedLayout words{shape.row_major_strides(), layout.form().offset};
  if (!shape.empty()) {
    TESSERA_TRY(const std::vector<std::int64_t> strides, strides_of(layout.form()));
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      if (shape[dim] > 1) words.strides[dim] = strides[dim];
    }
    Place place;
    layout.form().evaluate(Index(shape.rank(), 0), place, words.offset);
  }
  TESSERA_TRY(const Layout again, lower(words, shape, layout.dtype()));
  if (again.slots() != layout.slots()) {
    return cannot_say(
        cat("an allocation of ", layout.slots(), " slots where the strides reach ", again.slots()));
  }
  return words;
}

std::string write(const StridedLayout& words) {
  const std::string offset = words.offset == 0 ? "" : cat(", offset: ", words.offset);
  return cat("strided<", bracketed(words.strides), offset, ">");
}

Notation strided_notation() {
  return {"strided", {"strided"}, "tensor<53x63xf32, strided<[63, 1]>>", read, raise, write_tensor};
}

}  // namespace tessera

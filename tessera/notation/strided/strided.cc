// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/strided/strided.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/runs.h"
#include "tessera/notation/raising/plain_memory.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {
namespace {

/// A negative stride runs downward from the slot of index 0, which must therefore be high enough.
Status check_lowest(const StridedLayout& words, const Shape& shape) {
  Checked lowest = words.offset;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    if (words.strides[dim] < 0 && shape[dim] > 1) {
      lowest += Checked(words.strides[dim]) * (shape[dim] - 1);
    }
  }
  TESSERA_TRY(const std::int64_t slot, lowest.value("the lowest slot"));
  if (slot >= 0) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("an element would be in slot ", slot), std::nullopt,
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
  Result<Placement> placed = lower(words, type.shape, type.dtype());
  if (placed) return Tensor{*std::move(placed), "strided", make_terms(std::move(words))};
  const bool too_low = placed.error().code == ErrorCode::kOutOfRange;
  return placed.error().at(too_low ? offset.value_or(list) : list);
}

constexpr std::string_view kName = "strided<>";

Error many_strides() {
  return cannot_express(kName, obstacle(why::kManyStrides, "more than one stride along a dim"));
}

template <typename LayoutOrView>
Result<WrittenTensor> raise(const LayoutOrView& placed) {
  TESSERA_TRY(const StridedLayout words, raise_strided(placed));
  return WrittenTensor{TensorType::of(placed.shape(), placed.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.shape(), tensor.dtype()),
          write(std::get<StridedLayout>(terms_of(tensor)))};
}

/// The first element that is not where the first step along each dim predicts.
Error why_not_straight(const Form& form) {
  const Result<Lines> lines = canonical(form);
  if (!lines) return many_strides();
  const Index first(form.shape.rank(), 0);
  const Position origin = lines->position(first);
  Lines straight{lines->shape, lines->mesh, origin, {}};
  for (std::size_t dim = 0; dim < first.size(); ++dim) {
    if (form.shape[dim] < 2) continue;
    Index next = first;
    next[dim] = 1;
    const Position step = lines->position(next) - origin;
    straight.lines.push_back({{{static_cast<int>(dim), 1}}, 0, {{1, step}}});
  }
  const Result<std::optional<Index>> index = first_difference(*lines, straight);
  // The form is known to have no single strides; finding an element that shows it may take too
  // long.
  if (!index || !*index) return many_strides();
  return cannot_express(
      kName, obstacle(why::kElementElsewhere,
                      "that element {index} is in slot {slot}, not in slot {expected_slot}",
                      {fact("index", **index), fact("slot", lines->position(**index).slot),
                       fact("expected_slot", straight.position(**index).slot)}));
}

/// The strided layout of a form on a single place, whose memory has `slots` slots.
Result<StridedLayout> strides_and_offset(const Form& form, DType dtype, std::int64_t slots) {
  const Shape& shape = form.shape;
  // Steps that no element takes are row-major: all of an empty tensor, and dims of extent 1.
  StridedLayout words{shape.row_major_strides(), form.offset};
  if (!shape.empty()) {
    const Result<std::vector<std::int64_t>> strides = strides_of(form);
    if (!strides) return why_not_straight(form);
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      if (shape[dim] > 1) words.strides[dim] = (*strides)[dim];
    }
    Place place;
    form.evaluate(Index(shape.rank(), 0), place, words.offset);
  }
  TESSERA_TRY(const Placement again, lower(words, shape, dtype));
  if (again.slots() != slots) {
    return cannot_express(kName,
                          obstacle(why::kBeyondReach,
                                   "an allocation of {slots} slots where the strides reach {reach}",
                                   {fact("slots", slots), fact("reach", again.slots())}));
  }
  return words;
}

}  // namespace

Result<Placement> lower(const StridedLayout& words, const Shape& shape, DType dtype) {
  TESSERA_CHECK_OK(check_rank(words, shape));
  TESSERA_CHECK_OK(check_lowest(words, shape));
  // An empty tensor has no elements that could share slots, for any strides.
  Result<Layout> layout = Layout::strided(
      shape, dtype, shape.empty() ? shape.row_major_strides() : words.strides, words.offset);
  if (layout) return Placement(*std::move(layout));
  // All allocated slots are elements here, so both kinds of overlap mean elements that share slots.
  const ErrorCode code = layout.error().code;
  if (code != ErrorCode::kNotInjective && code != ErrorCode::kPaddingOverlap) {
    return layout.error();
  }
  TESSERA_TRY(Form form, strided_form(shape, words.strides, words.offset));
  TESSERA_TRY(View view, View::make(std::move(form), dtype, Atom::scalar(dtype)));
  return Placement(std::move(view));
}

Result<StridedLayout> raise_strided(const Layout& layout) {
  if (const auto what = beyond_plain_memory(layout.spec())) return cannot_express(kName, *what);
  return strides_and_offset(layout.form(), layout.dtype(), layout.slots());
}

Result<StridedLayout> raise_strided(const View& view) {
  if (const auto what = beyond_plain_memory(view)) return cannot_express(kName, *what);
  return strides_and_offset(view.form(), view.dtype(), view.slots());
}

std::string write(const StridedLayout& words) {
  const std::string offset = words.offset == 0 ? "" : cat(", offset: ", words.offset);
  return cat("strided<", bracketed(words.strides), offset, ">");
}

Notation strided_notation() {
  return {.name = "strided",
          .keywords = {"strided"},
          .example = "tensor<53x63xf32, strided<[63, 1]>>",
          .read = read,
          .raise = raise<Layout>,
          .write = write_tensor,
          .raise_view = raise<View>,
          .scope = {.shares = true}};
}

}  // namespace tessera::notation

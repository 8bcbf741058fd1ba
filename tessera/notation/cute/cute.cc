// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/cute/cute.h"

#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/notation/cute/text.h"
#include "tessera/notation/raising/plain_memory.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"

namespace tessera::notation {
namespace {

struct Pair {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
};

void flatten(const IntTuple& shape, const IntTuple& stride, std::vector<Pair>& pairs) {
  if (!shape.is_tuple) {
    pairs.push_back({shape.number, stride.number});
    return;
  }
  for (std::size_t i = 0; i < shape.items.size(); ++i) {
    flatten(shape.items[i], stride.items[i], pairs);
  }
}

/// The fold of one mode; `dim` is the number of its dim.
Result<Fold> lower_mode(const std::vector<Pair>& pairs, std::size_t dim, std::int64_t extent) {
  Fold fold;
  fold.terms = {{static_cast<int>(dim), 1}};
  Checked width = 1;
  for (const Pair& pair : pairs) {
    if (pair.extent < 0) {
      return Error{ErrorCode::kBadShape, cat("mode ", dim, " has the extent ", pair.extent),
                   std::nullopt, "extents are 0 or more"};
    }
    if (pair.stride < 0) {
      return Error{ErrorCode::kNotSupported, cat("mode ", dim, " has the stride ", pair.stride),
                   std::nullopt, "strides are 0 or more; strided<> has negative ones"};
    }
    TESSERA_TRY(const std::int64_t step, width.value("the extent of a mode"));
    if (pair.extent > 1 && step > 0) {
      const bool repeats = pair.stride == 0;
      fold.cuts.insert(fold.cuts.begin(),
                       {step, pair.extent, repeats ? Target::nothing() : Target::memory(),
                        repeats ? 0 : pair.stride, Cause::kGap});
    }
    width *= pair.extent;
  }
  if (width.overflowed() || width.raw() != extent) {
    return mode_mismatch(dim, width.saturated(), extent);
  }
  if (extent == 0) fold.cuts = {{1, 0, Target::memory(), 1, Cause::kGap}};
  if (extent == 1) fold.cuts = {{1, 1, Target::nothing(), 0, Cause::kGap}};
  return fold;
}

Error cannot(std::string_view reason, std::string_view words, std::vector<Fact> facts) {
  return cannot_express("cute", obstacle(reason, words, std::move(facts)));
}

/// A mode from its digits: one of them is a number, several are a tuple.
struct Mode {
  IntTuple extent;
  IntTuple stride;
};

Mode mode_of(const std::vector<Pair>& pairs) {
  if (pairs.size() == 1) {
    return {{false, pairs.front().extent, {}}, {false, pairs.front().stride, {}}};
  }
  Mode mode{{true, 0, {}}, {true, 0, {}}};
  for (const Pair& pair : pairs) {
    mode.extent.items.push_back({false, pair.extent, {}});
    mode.stride.items.push_back({false, pair.stride, {}});
  }
  return mode;
}

/// The digits of a line over one dim of `extent` elements, the fastest first.
Result<std::vector<Pair>> digits_of(const Line& line, std::int64_t extent) {
  if (line.terms.size() > 1) {
    return cannot(why::kJoinedDims, "dims {dims:and} that are combined in one line",
                  {fact("dims", line.terms[0].dim, line.terms[1].dim)});
  }
  const std::size_t dim = static_cast<std::size_t>(line.terms.front().dim);
  if (line.start != 0 || line.terms.front().coef != 1) {
    return cannot(
        why::kCutFrom, "dim {dim} cut from position {start} by steps of {step}",
        {fact("dim", dim), fact("start", line.start), fact("step", line.terms.front().coef)});
  }
  std::vector<Pair> pairs;
  std::int64_t above = extent;
  for (const LineCut& cut : line.cuts) {
    if (above % cut.width != 0) {
      return cannot(why::kCutLeavesRest,
                    "dim {dim} with {elements} elements cut by {width}, which leaves a remainder",
                    {fact("dim", dim), fact("elements", above), fact("width", cut.width)});
    }
    if (cut.move.slot < 0) {
      return cannot(why::kRunsDownward, "dim {dim} running downward", {fact("dim", dim)});
    }
    pairs.insert(pairs.begin(), {above / cut.width, cut.move.slot});
    above = cut.width;
  }
  return pairs;
}

Result<CuteLayout> modes_of(const Form& form) {
  const Shape& shape = form.shape;
  std::vector<std::optional<std::vector<Pair>>> digits(shape.rank());
  if (shape.empty()) {
    // No element takes a step: any strides are correct.
    std::int64_t below = 1;
    for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
      digits[dim] = {{shape[dim], below}};
      below = shape[dim] == 0 ? 0 : (Checked(below) * shape[dim]).saturated();
    }
  }
  TESSERA_TRY(const Lines lines, canonical(form));
  const std::int64_t first =
      shape.empty() ? lines.base.slot : lines.position(Index(shape.rank(), 0)).slot;
  if (first != 0) {
    return cannot(why::kFirstSlot, "an offset of {slot} slots", {fact("slot", first)});
  }
  for (const Line& line : lines.lines) {
    const auto dim = static_cast<std::size_t>(line.terms.front().dim);
    if (digits[dim]) {
      return cannot(why::kCutInWays, "dim {dim} cut in two ways at once",
                    {fact("dim", dim), fact("ways", 2)});
    }
    TESSERA_TRY(digits[dim], digits_of(line, shape[dim]));
  }
  CuteLayout words;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    // A dim that is in no line repeats one slot.
    Mode mode = mode_of(digits[dim].value_or(std::vector<Pair>{{shape[dim], 0}}));
    words.shape.push_back(std::move(mode.extent));
    words.stride.push_back(std::move(mode.stride));
  }
  return words;
}

Result<CuteLayout> raise_modes(const Form& form, DType dtype, const Placement& placement) {
  TESSERA_TRY(CuteLayout words, modes_of(form));
  TESSERA_TRY(const Placement again, lower(words, form.shape, dtype));
  if (again.slots() != placement.slots()) {
    return cannot(why::kBeyondReach,
                  "an allocation of {slots} slots where the strides reach {reach}",
                  {fact("slots", placement.slots()), fact("reach", again.slots())});
  }
  return words;
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  TESSERA_TRY(CuteText text, read_cute(source, type.shape));
  Result<Placement> placed = lower(text.words, type.shape, type.dtype());
  if (!placed) return placed.error().at(text.whole);
  return Tensor{*std::move(placed), "cute", make_terms(std::move(text.words))};
}

template <typename LayoutOrView>
Result<WrittenTensor> raise(const LayoutOrView& placed) {
  TESSERA_TRY(const CuteLayout words, raise_cute(placed));
  return WrittenTensor{TensorType::of(placed.shape(), placed.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.shape(), tensor.dtype()),
          write(std::get<CuteLayout>(terms_of(tensor)))};
}

}  // namespace

Result<Placement> lower(const CuteLayout& words, const Shape& shape, DType dtype) {
  if (words.shape.size() != shape.rank()) {
    return Error{ErrorCode::kContradiction,
                 cat(words.shape.size(), words.shape.size() == 1 ? " mode" : " modes",
                     " for a tensor of rank ", shape.rank()),
                 std::nullopt,
                 "one top-level mode per dim; a nested mode of one dim is ((3,3)):((1,5))"};
  }
  Form form;
  form.shape = shape;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    std::vector<Pair> pairs;
    flatten(words.shape[dim], words.stride[dim], pairs);
    TESSERA_TRY(Fold fold, lower_mode(pairs, dim, shape[dim]));
    form.folds.push_back(std::move(fold));
  }
  LayoutSpec spec;
  spec.form = form;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  // An empty tensor has no elements that could share slots, for any strides.
  Result<Layout> layout = shape.empty() ? Layout::strided(shape, dtype, shape.row_major_strides())
                                        : Layout::make(std::move(spec));
  if (layout) return Placement(*std::move(layout));
  // All allocated slots are elements here, so both kinds of overlap mean elements that share slots.
  const ErrorCode code = layout.error().code;
  if (code != ErrorCode::kNotInjective && code != ErrorCode::kPaddingOverlap) {
    return layout.error();
  }
  TESSERA_TRY(View view, View::make(std::move(form), dtype, Atom::scalar(dtype)));
  return Placement(std::move(view));
}

Result<CuteLayout> raise_cute(const Layout& layout) {
  if (const auto what = beyond_plain_memory(layout.spec())) return cannot_express("cute", *what);
  return raise_modes(layout.form(), layout.dtype(), layout);
}

Result<CuteLayout> raise_cute(const View& view) {
  if (const auto what = beyond_plain_memory(view)) return cannot_express("cute", *what);
  return raise_modes(view.form(), view.dtype(), view);
}

std::string tuple_text(const IntTuple& tuple) {
  if (!tuple.is_tuple) return std::to_string(tuple.number);
  std::string text;
  for (const IntTuple& item : tuple.items) {
    text += cat(text.empty() ? "" : ",", tuple_text(item));
  }
  return cat("(", text, ")");
}

std::string write(const CuteLayout& words) {
  if (words.bare) {
    return cat("cute<", tuple_text(words.shape.front()), ":", tuple_text(words.stride.front()),
               ">");
  }
  return cat("cute<", tuple_text({true, 0, words.shape}), ":", tuple_text({true, 0, words.stride}),
             ">");
}

Notation cute_notation() {
  return {.name = "cute",
          .keywords = {"cute"},
          .example = "tensor<4x8xf32, cute<(4,8):(8,1)>>",
          .read = read,
          .raise = raise<Layout>,
          .write = write_tensor,
          .raise_view = raise<View>,
          .scope = {.shares = true}};
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/cute.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/compare.h"
#include "tessera/notation/cursor.h"
#include "tessera/notation/memory_digits.h"
#include "tessera/notation/plain_memory.h"
#include "tessera/notation/registry.h"

namespace tessera {
namespace {

constexpr std::string_view kHelp = "shape:stride of one structure, such as cute<(4,8):(8,1)>";
constexpr int kMaxDepth = 16;
constexpr std::size_t kMaxNumbers = 256;

Result<IntTuple> read_tuple(Cursor& cursor, int depth, std::size_t& numbers) {
  if (!cursor.accept("(")) {
    IntTuple leaf;
    if (++numbers > kMaxNumbers) {
      return Error{ErrorCode::kRankTooLarge, cat("more than ", kMaxNumbers, " numbers"),
                   cursor.next().span, "use fewer modes"};
    }
    TESSERA_TRY(leaf.number, cursor.integer("a number or '('", kHelp));
    return leaf;
  }
  if (depth == kMaxDepth) {
    return Error{ErrorCode::kRankTooLarge, cat("modes nest deeper than ", kMaxDepth),
                 cursor.next().span, "flatten the modes"};
  }
  IntTuple tuple;
  tuple.is_tuple = true;
  if (cursor.accept(")")) return tuple;
  do {
    TESSERA_TRY(IntTuple item, read_tuple(cursor, depth + 1, numbers));
    tuple.items.push_back(std::move(item));
  } while (cursor.accept(","));
  TESSERA_CHECK_OK(cursor.expect(")", kHelp));
  return tuple;
}

bool congruent(const IntTuple& a, const IntTuple& b) {
  if (a.is_tuple != b.is_tuple || a.items.size() != b.items.size()) return false;
  for (std::size_t i = 0; i < a.items.size(); ++i) {
    if (!congruent(a.items[i], b.items[i])) return false;
  }
  return true;
}

std::string tuple_text(const IntTuple& tuple) {
  if (!tuple.is_tuple) return std::to_string(tuple.number);
  std::string text;
  for (const IntTuple& item : tuple.items) {
    text += cat(text.empty() ? "" : ",", tuple_text(item));
  }
  return cat("(", text, ")");
}

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

/// The fold of one mode; `dim` is its place among the dims.
Result<Fold> lower_mode(const std::vector<Pair>& pairs, int dim, std::int64_t extent) {
  Fold fold;
  fold.terms = {{dim, 1}};
  Checked width = 1;
  for (const Pair& pair : pairs) {
    if (pair.extent < 1 && extent != 0) {
      return Error{ErrorCode::kBadShape, cat("mode ", dim, " has the extent ", pair.extent),
                   std::nullopt, "extents are 1 or more"};
    }
    if (pair.stride < 0) {
      return Error{ErrorCode::kNotSupported, cat("mode ", dim, " has the stride ", pair.stride),
                   std::nullopt, "strides are 0 or more"};
    }
    TESSERA_TRY(const std::int64_t step, width.value("the extent of a mode"));
    if (pair.extent > 1 && pair.stride == 0) {
      return Error{ErrorCode::kNotInjective,
                   cat("mode ", dim, " has ", pair.extent, " elements 0 slots apart"), std::nullopt,
                   "a layout gives every element a slot of its own; a view may share"};
    }
    if (pair.extent > 1) {
      fold.cuts.insert(fold.cuts.begin(),
                       {step, pair.extent, Target::memory(), pair.stride, Cause::kGap});
    }
    width *= pair.extent;
  }
  if (width.overflowed() || width.raw() != extent) {
    return Error{
        ErrorCode::kContradiction,
        cat("mode ", dim, " has ", width.saturated(), " elements where the dim has ", extent),
        std::nullopt, "each top-level mode is one dim of the tensor"};
  }
  if (fold.cuts.empty() || fold.cuts.back().width != 1) {
    fold.cuts.push_back({1, 1, Target::nothing(), 0, Cause::kGap});
  }
  if (extent == 0) fold.cuts = {{1, 0, Target::memory(), 1, Cause::kGap}};
  return fold;
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("cute", kHelp));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  const std::int64_t from = cursor.position();
  std::size_t numbers = 0;
  TESSERA_TRY(IntTuple shape, read_tuple(cursor, 0, numbers));
  TESSERA_CHECK_OK(cursor.expect(":", kHelp));
  TESSERA_TRY(IntTuple stride, read_tuple(cursor, 0, numbers));
  const Span both = cursor.since(from);
  TESSERA_CHECK_OK(cursor.expect(">", kHelp));
  TESSERA_CHECK_OK(cursor.expect_end());
  if (!congruent(shape, stride)) {
    return Error{ErrorCode::kContradiction,
                 cat("shape ", tuple_text(shape), " and stride ", tuple_text(stride),
                     " are not of one structure"),
                 both, std::string(kHelp)};
  }
  CuteLayout words;
  words.bare = !shape.is_tuple;
  words.shape = words.bare ? std::vector{shape} : shape.items;
  words.stride = words.bare ? std::vector{stride} : stride.items;
  Result<Layout> layout = lower(words, type.shape, type.dtype());
  if (!layout) return layout.error().at(both);
  return Tensor{*std::move(layout), "cute", std::move(words)};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const CuteLayout words, raise_cute(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout().shape(), tensor.layout().dtype()),
          write(std::get<CuteLayout>(tensor.words))};
}

Error cannot_say(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("cute<> cannot say ", what), std::nullopt,
               "the native notation can"};
}

}  // namespace

Result<Layout> lower(const CuteLayout& words, const Shape& shape, DType dtype) {
  if (words.shape.size() != shape.rank()) {
    return Error{ErrorCode::kContradiction,
                 cat(words.shape.size(), words.shape.size() == 1 ? " mode" : " modes",
                     " for a tensor of rank ", shape.rank()),
                 std::nullopt,
                 "one top-level mode a dim; a nested mode of one dim is ((3,3)):((1,5))"};
  }
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    std::vector<Pair> pairs;
    flatten(words.shape[dim], words.stride[dim], pairs);
    TESSERA_TRY(Fold fold, lower_mode(pairs, static_cast<int>(dim), shape[dim]));
    spec.form.folds.push_back(std::move(fold));
  }
  return Layout::make(std::move(spec));
}

Result<CuteLayout> raise_cute(const Layout& layout) {
  if (const auto what = beyond_plain_memory(layout.spec())) return cannot_say(*what);
  const Shape& shape = layout.shape();
  if (shape.empty()) return cannot_say("an empty tensor");
  TESSERA_TRY(const std::vector<std::vector<MemoryDigit>> modes, digits_by_dim(layout));
  CuteLayout words;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    IntTuple extents;
    IntTuple strides;
    extents.is_tuple = strides.is_tuple = true;
    std::int64_t covered = 1;
    for (auto digit = modes[dim].rbegin(); digit != modes[dim].rend(); ++digit) {
      if (digit->width != covered || shape[dim] % (digit->width * digit->extent) != 0) {
        return cannot_say(cat("dim ", dim, " of ", shape[dim], " cut by ", digit->width,
                              ", which leaves a part over"));
      }
      covered = digit->width * digit->extent;
      extents.items.push_back({false, digit->extent, {}});
      strides.items.push_back({false, digit->stride, {}});
    }
    const bool plain = extents.items.size() <= 1;
    if (extents.items.empty()) {
      words.shape.push_back({false, 1, {}});
      words.stride.push_back({false, 0, {}});
    } else {
      words.shape.push_back(plain ? extents.items.front() : extents);
      words.stride.push_back(plain ? strides.items.front() : strides);
    }
  }
  const Result<Layout> lowered = lower(words, shape, layout.dtype());
  if (!lowered || layout.form().offset != 0) return cannot_say("elements away from slot 0");
  if (lowered->slots() != layout.slots()) {
    return cannot_say(cat("an allocation of ", layout.slots(), " slots where the strides reach ",
                          lowered->slots()));
  }
  TESSERA_TRY(const Comparison same, same_function(*lowered, layout));
  if (!same.equal) return cannot_say("this order of digits");
  return words;
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
  return {"cute", {"cute"}, "tensor<4x8xf32, cute<(4,8):(8,1)>>", read, raise, write_tensor};
}

}  // namespace tessera

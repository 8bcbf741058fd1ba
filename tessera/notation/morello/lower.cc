// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/morello/fit.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/morello/text.h"

namespace tessera::notation {

Result<MorelloLayout> morello_builder(MorelloLayout::Builder builder, std::size_t rank) {
  using Builder = MorelloLayout::Builder;
  MorelloLayout words;
  words.builder = builder;
  if (builder == Builder::kNhwc && rank != 4) {
    return Error{ErrorCode::kInvalidShape, cat("nhwc is for tensors of rank 4, found rank ", rank),
                 std::nullopt, "write the order of the dims: morello[(0, Dynamic), ..]"};
  }
  const auto last = static_cast<std::int64_t>(rank) - 1;
  for (std::int64_t i = 0; i <= last; ++i) {
    std::int64_t dim = i;
    if (builder == Builder::kColMajor) dim = last - i;
    if (builder == Builder::kNhwc && i > 0) dim = i == last ? 1 : i + 1;
    words.dims.push_back({dim, MorelloDim::Kind::kDynamic, 0});
  }
  return words;
}

Result<Layout> lower(const MorelloLayout& words, const Shape& shape, DType dtype) {
  return lower_said(words, shape, dtype, {});
}

Result<Layout> lower_said(const MorelloLayout& words, const Shape& shape, DType dtype,
                          std::span<const Span> spans) {
  TESSERA_TRY(const std::vector<PhysicalDim> physical, fit(words, shape, spans));
  LayoutSpec spec;
  spec.form.shape = shape;
  spec.dtype = dtype;
  spec.atom = Atom::scalar(dtype);
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    Fold fold;
    fold.terms = {{static_cast<int>(dim), 1}};
    for (const MorelloDigit& digit : digits_of(physical, dim)) {
      fold.cuts.push_back(Cut{digit.width, digit.count, Target::memory(), digit.stride});
    }
    if (fold.cuts.empty()) fold.cuts = {Cut{1, 1, Target::nothing(), 1}};  // an extent of 1
    spec.form.folds.push_back(std::move(fold));
  }
  return Layout::make(std::move(spec));
}

Result<std::vector<std::int64_t>> physical_sizes(const MorelloLayout& words, const Shape& shape) {
  TESSERA_TRY(const std::vector<PhysicalDim> physical, fit(words, shape));
  std::vector<std::int64_t> sizes;
  for (const PhysicalDim& part : physical) sizes.push_back(part.size);
  return sizes;
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/onednn/onednn.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/raising/physical_dims.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"
#include "tessera/notation/text/cursor.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kHelp =
    "a tag is the order of dims, then blocks: onednn.aBcd16b, onednn.nhwc, onednn.OIhw4i16o4i";

Result<Tensor> read(std::string_view source, const TensorType& type) {
  Cursor cursor(source, "the end of the layout");
  TESSERA_CHECK_OK(cursor.expect_word("onednn", kHelp));
  TESSERA_CHECK_OK(cursor.expect(".", kHelp));
  TESSERA_TRY(const Word tag, cursor.identifier("a format tag", kHelp));
  TESSERA_TRY(OnednnLayout words, read_onednn_tag(tag.text, tag.span.from));
  TESSERA_CHECK_OK(cursor.expect_end());
  Result<Layout> layout = lower(words, type.shape, type.dtype());
  if (!layout) return layout.error().at(tag.span);
  return Tensor{*std::move(layout), "onednn", make_terms(std::move(words))};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const OnednnLayout words, raise_onednn(layout));
  return WrittenTensor{TensorType::of(layout.shape(), layout.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout().shape(), tensor.layout().dtype()),
          write(std::get<OnednnLayout>(terms_of(tensor)))};
}

}  // namespace

Result<Layout> lower(const OnednnLayout& words, const Shape& shape, DType dtype) {
  const std::size_t rank = words.letters.size();
  if (rank != shape.rank()) {
    return Error{ErrorCode::kContradiction,
                 cat("a tag of ", rank, rank == 1 ? " dim" : " dims", " for a tensor of rank ",
                     shape.rank()),
                 std::nullopt,
                 shape.rank() == 0 || shape.rank() > kMaxOnednnDims
                     ? cat("tags have 1 to ", kMaxOnednnDims, " dims")
                     : cat("row-major is onednn.",
                           std::string_view("abcdefghijkl").substr(0, shape.rank()))};
  }
  std::vector<std::vector<Term>> lines;
  for (std::size_t dim = 0; dim < rank; ++dim) lines.push_back({{static_cast<int>(dim), 1}});
  std::vector<Checked> inside(rank, Checked(1));  // points of the blocks seen so far
  std::vector<TiledDim> dims;                     // fastest first
  const auto push = [&](int number, std::int64_t count, std::uint8_t depth) -> Status {
    TESSERA_TRY(const std::int64_t width,
                inside[static_cast<std::size_t>(number)].value("the product of a dim's blocks"));
    dims.push_back({number, width, count, Cause::kAlignment, {depth}});
    return ok_status();
  };
  auto depth = static_cast<std::uint8_t>(words.blocks.size());
  for (const OnednnLayout::Block& block : std::views::reverse(words.blocks)) {
    TESSERA_CHECK_OK(push(block.dim, block.size, depth--));
    inside[static_cast<std::size_t>(block.dim)] *= block.size;
  }
  for (const int number : std::views::reverse(words.order)) {
    const auto dim = static_cast<std::size_t>(number);
    TESSERA_TRY(const std::int64_t width, inside[dim].value("the product of a dim's blocks"));
    TESSERA_CHECK_OK(push(number, ceil_div(shape[dim], width), 0));
  }
  std::reverse(dims.begin(), dims.end());
  return lower_physical(shape, dtype, lines, dims);
}

std::string write(const OnednnLayout& words) {
  if (!words.misnomer.empty()) return cat("onednn.", words.misnomer);
  std::string tag;
  for (const int dim : words.order) {
    const char letter = words.letters[static_cast<std::size_t>(dim)];
    const bool blocked = std::any_of(words.blocks.begin(), words.blocks.end(),
                                     [&](const auto& block) { return block.dim == dim; });
    tag += blocked ? static_cast<char>(letter - 'a' + 'A') : letter;
  }
  for (const OnednnLayout::Block& block : words.blocks) {
    tag += cat(block.size, words.letters[static_cast<std::size_t>(block.dim)]);
  }
  return cat("onednn.", tag);
}

Notation onednn_notation() {
  return {.name = "onednn",
          .keywords = {"onednn."},
          .example = "tensor<2x33x7x7xf32, onednn.aBcd16b>",
          .read = read,
          .raise = raise,
          .write = write_tensor};
}

}  // namespace tessera::notation

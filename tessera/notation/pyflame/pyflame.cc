// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/pyflame/pyflame.h"

#include <array>

#include "tessera/base/text.h"
#include "tessera/notation/pyflame/raise.h"
#include "tessera/notation/pyflame/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"

namespace tessera::notation {
namespace {

using Kind = PyflameLayout::Kind;
constexpr std::size_t kLongestText = std::size_t{15} << 20;  // of a text that can be read again

std::string pe_text(const PyflameLayout::Pe& pe) { return cat("(", pe[0], ", ", pe[1], ")"); }

/// "[a, b]", each item written by `write_item`.
template <typename Items, typename WriteItem>
std::string list_text(const Items& items, WriteItem write_item) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ", ";
    out += write_item(item);
  }
  return out + "]";
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  TESSERA_TRY(PyflameText text, read_pyflame(source));
  TESSERA_TRY(Layout layout,
              lower_pyflame(text.words, type.shape, type.dtype(), PyflameBlame(text.spans)));
  return Tensor{std::move(layout), "pyflame", make_terms(std::move(text.words))};
}

Result<WrittenTensor> raise(const Layout& layout) {
  TESSERA_TRY(const PyflameLayout words, raise_pyflame(layout));
  WrittenTensor written{TensorType::of(layout.shape(), layout.dtype()), write(words)};
  if (written.layout.size() <= kLongestText) return written;
  return pyflame_cannot(why::kTextTooLong, "the PEs of {tiles} tiles in one text",
                        {fact("tiles", words.pes.size())});
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.layout().shape(), tensor.layout().dtype()),
          write(std::get<PyflameLayout>(terms_of(tensor)))};
}

}  // namespace

std::string_view pyflame_factory(PyflameLayout::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"SinglePE", "RowPartition", "ColPartition",
                                                      "Grid",     "BlockCyclic",  "Custom"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string write(const PyflameLayout& words) {
  std::vector<std::string> items;
  if (words.kind == Kind::kRowPartition) items = {cat(words.rows)};
  if (words.kind == Kind::kColPartition) items = {cat(words.cols)};
  if (words.kind == Kind::kGrid || words.kind == Kind::kBlockCyclic ||
      words.kind == Kind::kCustom) {
    items = {cat(words.rows), cat(words.cols)};
  }
  if (words.kind == Kind::kBlockCyclic) {
    items.push_back(cat(words.block_rows));
    items.push_back(cat(words.block_cols));
  }
  if (words.kind == Kind::kCustom) items.push_back(list_text(words.pes, pe_text));
  if (words.dim_to_pe) {
    items.push_back(cat("dim_to_pe=", list_text(*words.dim_to_pe, [](std::int64_t axis) {
                          return axis == PyflameLayout::kBothAxes ? "[0, 1]" : cat(axis);
                        })));
  }
  if (words.origin) items.push_back(cat("origin=", pe_text(*words.origin)));
  if (!words.replicate.empty()) {
    items.push_back(
        cat("replicate=", list_text(words.replicate, [](int axis) { return cat(axis); })));
  }
  if (!words.partial.empty()) {
    items.push_back(cat("partial=", list_text(words.partial, [](const auto& item) {
                          return cat(item.first, ":", reduction_name(item.second));
                        })));
  }
  std::string out = cat("pyflame.", pyflame_factory(words.kind), "(");
  for (std::size_t i = 0; i < items.size(); ++i) out += cat(i == 0 ? "" : ", ", items[i]);
  return out + ")";
}

Notation pyflame_notation() {
  return {.name = "pyflame",
          .keywords = {"pyflame."},
          .example = "tensor<53x63xf32, pyflame.Grid(3, 2)>",
          .read = read,
          .raise = raise,
          .write = write_tensor,
          .scope = {.least_axes = 2, .most_axes = 2, .replicates = true, .partial = true}};
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/gspmd/gspmd.h"

#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/gspmd/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"

namespace tessera::notation {
namespace {

using Kind = GspmdLayout::Kind;
using Copies = GspmdLayout::Copies;

std::string tiled_text(const GspmdLayout& words) {
  std::string text = cat("devices=[", join(words.tiles, ","), "]");
  if (words.devices.empty()) {
    text += cat("<=[", join(words.reshape, ","), "]");
    if (!words.transpose.empty()) text += cat("T(", join(words.transpose, ","), ")");
  } else {
    text += join(words.devices, ",");
  }
  if (words.copies == std::vector{Copies::kReplicated}) return text + " last_tile_dim_replicate";
  if (words.copies.empty()) return text;
  std::vector<std::string> names;
  for (const Copies copies : words.copies) {
    names.emplace_back(copies == Copies::kReplicated ? "replicated" : "unreduced");
  }
  return cat(text, " last_tile_dims={", join(names, ", "), "}");
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  TESSERA_TRY(GspmdText text, read_gspmd(source));
  Result<Placement> placed = lower(text.words, type.shape, type.dtype());
  if (!placed) return placed.error().at(text.devices.to > 0 ? text.devices : text.whole);
  return Tensor{*std::move(placed), "gspmd", make_terms(std::move(text.words))};
}

template <typename Rule>
Result<WrittenTensor> raise(const Rule& rule) {
  TESSERA_TRY(const GspmdLayout words, raise_gspmd(rule));
  return WrittenTensor{TensorType::of(rule.shape(), rule.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.shape(), tensor.dtype()),
          write(std::get<GspmdLayout>(terms_of(tensor)))};
}

}  // namespace

std::string write(const GspmdLayout& words) {
  const std::string partitions = cat(" num_partitions=", words.partitions);
  switch (words.kind) {
    case Kind::kTiled:
      return cat("gspmd{", tiled_text(words), "}");
    case Kind::kReplicated:
      return cat("gspmd{replicated", partitions, "}");
    case Kind::kMaximal:
      return cat("gspmd{maximal device=", words.device, partitions, "}");
    case Kind::kUnreduced:
      return cat("gspmd{unreduced", partitions, "}");
  }
  return {};
}

Notation gspmd_notation() {
  return {.name = "gspmd",
          .keywords = {"gspmd"},
          .example = "tensor<8x6xf32, gspmd{devices=[4,2]<=[8]}>",
          .read = read,
          .raise = raise<Layout>,
          .write = write_tensor,
          .raise_pieces = raise<Piecewise>,
          .scope = {.least_axes = 1,
                    .most_axes = 1,
                    .replicates = true,
                    .partial = true,
                    .pieces = true},
          .numbers_places = true};
}

}  // namespace tessera::notation

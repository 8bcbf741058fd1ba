// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/dtensor/dtensor.h"

#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/dtensor/text.h"
#include "tessera/notation/registry.h"
#include "tessera/notation/terms.h"

namespace tessera::notation {
namespace {

std::string placement_text(const DtensorPlacement& placement) {
  switch (placement.kind) {
    case DtensorPlacement::Kind::kReplicate:
      return "Replicate()";
    case DtensorPlacement::Kind::kShard:
      return cat("Shard(", placement.dim, ")");
    case DtensorPlacement::Kind::kStridedShard:
      return cat("_StridedShard(", placement.dim, ", split_factor=", placement.split_factor, ")");
    case DtensorPlacement::Kind::kPartial:
      return cat("Partial(", reduction_name(placement.reduction), ")");
  }
  return {};
}

Result<Tensor> read(std::string_view source, const TensorType& type) {
  TESSERA_TRY(DtensorText text, read_dtensor(source, type.shape));
  Result<Placement> placed = lower(text.words, type.shape, type.dtype());
  if (!placed) return placed.error().at(Span{text.mesh.from, text.placements.to});
  return Tensor{*std::move(placed), "dtensor", make_terms(std::move(text.words))};
}

template <typename Rule>
Result<WrittenTensor> raise(const Rule& rule) {
  TESSERA_TRY(const DtensorLayout words, raise_dtensor(rule));
  return WrittenTensor{TensorType::of(rule.shape(), rule.dtype()), write(words)};
}

WrittenTensor write_tensor(const Tensor& tensor) {
  return {TensorType::of(tensor.shape(), tensor.dtype()),
          write(std::get<DtensorLayout>(terms_of(tensor)))};
}

}  // namespace

std::string write(const DtensorLayout& words) {
  std::vector<std::string> placements;
  for (const DtensorPlacement& placement : words.placements) {
    placements.push_back(placement_text(placement));
  }
  return cat("dtensor<mesh=[", join(words.mesh, ","), "], [", join(placements, ", "), "]>");
}

Notation dtensor_notation() {
  return {.name = "dtensor",
          .keywords = {"dtensor"},
          .example = "tensor<5x6xf32, dtensor<mesh=[2,2], [Shard(0), Replicate()]>>",
          .read = read,
          .raise = raise<Layout>,
          .write = write_tensor,
          .raise_pieces = raise<Piecewise>,
          .scope = {.least_axes = 1,
                    .most_axes = kMaxRank,
                    .replicates = true,
                    .partial = true,
                    .pieces = true},
          .numbers_places = true};
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#include "tessera/pyflame/layout_transform.h"

#include <limits>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/reshard.h"

namespace tessera::pyflame {
namespace {

constexpr std::size_t kMaxTransfers = std::size_t{1} << 22;

TransformType type_of(reshard::ReshardKind kind) {
  switch (kind) {
    case reshard::ReshardKind::kIdentity:
      return TransformType::IDENTITY;
    case reshard::ReshardKind::kReduce:
      return TransformType::REDUCE;
    case reshard::ReshardKind::kScatter:
      return TransformType::SCATTER;
    case reshard::ReshardKind::kGather:
      return TransformType::GATHER;
    case reshard::ReshardKind::kReplicate:
      return TransformType::REPLICATE;
    case reshard::ReshardKind::kTranspose:
      return TransformType::TRANSPOSE;
    case reshard::ReshardKind::kRedistribute:
      return TransformType::REDISTRIBUTE;
    case reshard::ReshardKind::kReshard:
      break;
  }
  return TransformType::RESHARD;
}

PECoord pe_at(std::int64_t number, const Shape& physical) {
  return {static_cast<std::int32_t>(number / physical[1]),
          static_cast<std::int32_t>(number % physical[1])};
}

}  // namespace

Result<reshard::Reshard> LayoutTransform::reshard() const {
  TESSERA_TRY(const Layout from, from_layout.lower(tensor_shape, dtype));
  TESSERA_TRY(const Layout to, to_layout.lower(tensor_shape, dtype));
  TESSERA_TRY(const reshard::PhysicalMesh physical, reshard::PhysicalMesh::around(from, to));
  return reshard::Reshard::make(from, to, physical);
}

Result<std::int64_t> LayoutTransform::estimated_cost() const {
  TESSERA_TRY(const reshard::Reshard change, reshard());
  TESSERA_TRY(const reshard::ReshardCost cost, reshard::cost_of(change));
  if (cost.fabric) return cost.fabric->hops;
  return Error{ErrorCode::kNotSupported, cat("hops need routes: ", change.physical().why_no_fabric),
               std::nullopt, "use layouts whose PEs fit a rectangle of 2^31 PEs"};
}

Result<LayoutTransform::CommunicationPattern> LayoutTransform::generate_pattern() const {
  TESSERA_TRY(const reshard::Reshard change, reshard());
  const std::optional<std::int64_t> bits = dtype_bits(change.from().atom().storage);
  if (!bits || *bits % 8 != 0) {
    return Error{ErrorCode::kNotSupported,
                 cat("elements of type ", dtype_name(dtype), " have no separate byte address"),
                 std::nullopt, "for_each_transfer counts offsets in elements"};
  }
  const std::int64_t bytes = *bits / 8;
  TESSERA_TRY(const reshard::ReshardKind kind, reshard::kind_of(change));
  CommunicationPattern pattern;
  if (kind == reshard::ReshardKind::kIdentity) return pattern;
  TESSERA_CHECK_OK(
      reshard::for_each_transfer(change, {}, [&](const tessera::reshard::Transfer& part) -> Status {
        if (pattern.transfers.size() == kMaxTransfers) {
          return Error{ErrorCode::kTooLarge,
                       cat("a pattern of more than ", kMaxTransfers, " transfers"), std::nullopt,
                       "for_each_transfer visits them one by one"};
        }
        CommunicationPattern::Transfer transfer;
        transfer.source = pe_at(part.source, change.physical().mesh);
        transfer.dest = pe_at(part.destination, change.physical().mesh);
        transfer.start_offset = part.source_slot * bytes;
        transfer.dest_offset = part.destination_slot * bytes;
        transfer.size = part.elements * bytes;
        transfer.combines = part.combines;
        for (const reshard::BoxLoop& loop : part.loops) {
          transfer.loops.push_back(
              {loop.extent, loop.source_stride * bytes, loop.destination_stride * bytes});
        }
        pattern.transfers.push_back(std::move(transfer));
        return ok_status();
      }));
  return pattern;
}

bool LayoutTransformer::needs_transform(const MeshLayout& from, const MeshLayout& to) {
  return !from.compatible_with(to);
}

Result<LayoutTransform> LayoutTransformer::create_transform(const MeshLayout& from,
                                                            const MeshLayout& to,
                                                            const std::vector<std::int64_t>& shape,
                                                            DType dtype) {
  LayoutTransform transform{TransformType::IDENTITY, from, to, shape, dtype};
  TESSERA_TRY(const reshard::Reshard change, transform.reshard());
  TESSERA_TRY(const reshard::ReshardKind kind, reshard::kind_of(change));
  transform.type = type_of(kind);
  return transform;
}

}  // namespace tessera::pyflame

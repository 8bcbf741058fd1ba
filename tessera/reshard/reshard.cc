// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/reshard.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/algebra/merge_dims.h"
#include "tessera/layout/placement.h"
#include "tessera/reshard/part.h"

namespace tessera::reshard {
namespace {

constexpr std::size_t kMaxMeetings = std::size_t{1} << 16;
constexpr std::int64_t kDefaultWaveletBits = 32;
constexpr std::int64_t kMaxPhysicalPlaces = std::int64_t{1} << 26;

Reshard::Rate lowest_terms(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t g = std::gcd(numerator, denominator);
  return {numerator / g, denominator / g};
}

/// Bits per element: whole bits, or the bits of a tile divided by its elements.
Reshard::Rate bits_of(DType storage) {
  if (const std::optional<std::int64_t> bits = dtype_bits(storage)) return {*bits, 1};
  constexpr std::int64_t kTileElements = 1024;
  return lowest_terms(tile_bytes_32x32(storage) * 8, kTileElements);
}

Status check_types(const Placement& from, const Placement& to) {
  if (from.dtype() == to.dtype() && from.atom().storage == to.atom().storage) return ok_status();
  const bool same_logical = from.dtype() == to.dtype();
  const DType a = same_logical ? from.atom().storage : from.dtype();
  const DType b = same_logical ? to.atom().storage : to.dtype();
  return Error{ErrorCode::kBadDType,
               cat("A stores elements of type ", dtype_name(a), " and B of type ", dtype_name(b)),
               std::nullopt, "a reshard moves bits; convert them with a relayout first"};
}

/// The shares of a form: how many, and with which reductions.
struct FormShares {
  std::vector<std::pair<std::int64_t, Reduction>> fills;  // those of more than one share
  std::int64_t count = 1;
};

FormShares shares_of(const Form& form) {
  FormShares shares;
  for (const Fill& fill : form.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
    shares.fills.emplace_back(fill.count, fill.reduction);
    shares.count *= fill.count;
  }
  return shares;
}

/// Checks that every later sum stays below 2^62.
Status check_sums(const Reshard& reshard) {
  Checked most = reshard.from().shape().elements();
  std::int64_t copies = 1;
  for (const ReshardPart& part : reshard.parts()) {
    const Checked here =
        Checked(part.b.replicas()) * (part.shares.reduces() ? part.shares.from : 1);
    copies = std::max(copies, here.saturated());
  }
  most *= copies;
  // Rounding up adds less than one wavelet per message, and no message is empty.
  most *= reshard.wavelet_rate().numerator + reshard.wavelet_rate().denominator;
  if (const std::optional<fabric::FabricMesh>& fabric = reshard.physical().fabric) {
    most *= std::int64_t{fabric->rows} + fabric->cols;
  }
  const Result<std::int64_t> fits =
      most.value("the number of bits that move, times the longest route,");
  if (!fits) return fits.error();
  return ok_status();
}

/// Reuses equal device maps, which the pieces of a piecewise placement often have.
class MapCache {
 public:
  Result<PlaceMap> get(const Shape& mesh, const DeviceMap* map, const PhysicalMesh& physical) {
    const DeviceMap& wanted = map != nullptr ? *map : identity_;
    if (last_ && last_->first == wanted && last_->second.mesh() == mesh) return last_->second;
    TESSERA_TRY(PlaceMap made, PlaceMap::make(mesh, wanted, physical));
    last_.emplace(wanted, made);
    return made;
  }

 private:
  DeviceMap identity_;
  std::optional<std::pair<DeviceMap, PlaceMap>> last_;
};

Error of_side(Error error, std::string_view side) {
  error.message = cat(side, ": ", error.message);
  return error;
}

}  // namespace

Result<Shares> meet_shares(const Form& a, const Form& b) {
  const FormShares of_a = shares_of(a);
  const FormShares of_b = shares_of(b);
  Shares shares{of_a.count, of_b.count, of_a.fills == of_b.fills, Reduction::kSum};
  if (shares.alike) return shares;
  // Shares of several reductions cannot be combined in one step and have no single neutral element.
  for (const FormShares* side : {&of_a, &of_b}) {
    for (const auto& [count, reduction] : side->fills) {
      const Reduction first = side->fills.front().second;
      if (reduction == first) continue;
      return Error{ErrorCode::kNotSupported,
                   cat(side == &of_a ? "A" : "B", " keeps shares of both ", reduction_name(first),
                       " and ", reduction_name(reduction), ", and ", side == &of_a ? "B" : "A",
                       " does not keep the same shares"),
                   std::nullopt, "reduce one mesh axis at a time"};
    }
  }
  if (shares.reduces()) shares.reduction = of_a.fills.front().second;
  return shares;
}

Result<Refinement> refine_joined(const Form& a, const Form& b) {
  const auto folds_dims = [](const Form& form) {
    return std::any_of(form.folds.begin(), form.folds.end(),
                       [](const Fold& fold) { return fold.terms.size() > 1; });
  };
  if (!folds_dims(a) || !folds_dims(b)) return refine(a, b);
  Form joined_a = a;
  Form joined_b = b;
  for (int dim = static_cast<int>(a.shape.rank()) - 2; dim >= 0; --dim) {
    std::optional<Form> next_a = join_dims(joined_a, dim);
    std::optional<Form> next_b = next_a ? join_dims(joined_b, dim) : std::nullopt;
    if (!next_b) continue;
    joined_a = *std::move(next_a);
    joined_b = *std::move(next_b);
  }
  return refine(joined_a, joined_b);
}

Reshard::Rate byte_rate_of(DType storage) {
  const Reshard::Rate bits = bits_of(storage);
  return lowest_terms(bits.numerator, bits.denominator * 8);
}

Result<Reshard> Reshard::make(const Placement& from, const Placement& to,
                              const PhysicalMesh& physical) {
  if (from.shape() != to.shape()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("A has the shape ", bracketed(from.shape().extents()), " and B ",
                     bracketed(to.shape().extents())),
                 std::nullopt, "a reshard moves one tensor: give A and B the same shape"};
  }
  TESSERA_CHECK_OK(check_types(from, to));
  if (physical.mesh.elements() > kMaxPhysicalPlaces) {
    return Error{
        ErrorCode::kTooLarge,
        cat("a target of ", physical.mesh.elements(), " places is more than ", kMaxPhysicalPlaces),
        std::nullopt, "describe the part of it that holds the tensors"};
  }
  if (const View* view = to.view()) TESSERA_CHECK_OK(check_writable(view->form()));
  Reshard reshard(from, to, physical);
  const Rate bits = bits_of(from.atom().storage);
  const std::int64_t wavelet_bits =
      physical.fabric ? physical.fabric->wavelet_bits : kDefaultWaveletBits;
  reshard.byte_rate_ = byte_rate_of(from.atom().storage);
  reshard.wavelet_rate_ = lowest_terms(bits.numerator, bits.denominator * wavelet_bits);
  std::vector<ReshardPart> parts;
  MapCache maps_a;
  MapCache maps_b;
  TESSERA_CHECK_OK(for_each_meeting(from, to, [&](const Meeting& meeting) -> Status {
    Result<PlaceMap> map_a = maps_a.get(meeting.a.mesh, meeting.map_a, physical);
    if (!map_a) return of_side(map_a.error(), "A");
    Result<PlaceMap> map_b = maps_b.get(meeting.b.mesh, meeting.map_b, physical);
    if (!map_b) return of_side(map_b.error(), "B");
    if (meeting.a.shape.empty()) return ok_status();
    TESSERA_TRY(const Shares shares, meet_shares(meeting.a, meeting.b));
    if (parts.size() == kMaxMeetings) {
      return Error{ErrorCode::kTooLarge,
                   cat("boxes of the two placements intersect more than ", kMaxMeetings, " times"),
                   std::nullopt, "use placements of fewer pieces"};
    }
    TESSERA_TRY(Refinement refinement, refine_joined(meeting.a, meeting.b));
    parts.push_back({meeting.box, meeting.a, meeting.b, std::move(refinement), *std::move(map_a),
                     *std::move(map_b), shares});
    return ok_status();
  }));
  reshard.parts_ = std::make_shared<const std::vector<ReshardPart>>(std::move(parts));
  TESSERA_CHECK_OK(check_sums(reshard));
  return reshard;
}

}  // namespace tessera::reshard

// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabelling/overlap.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/part.h"

namespace tessera::reshard {

namespace {

constexpr std::int64_t kMaxDisplacements = std::int64_t{1} << 22;

/// The amount by which one step along a fill changes the place number.
std::int64_t fill_step(const Form& form, const Fill& fill) {
  return form.mesh.row_major_strides()[static_cast<std::size_t>(fill.axis)] * fill.stride;
}

std::vector<Fill> fills_of(const Form& form, Fill::Kind kind) {
  std::vector<Fill> fills;
  for (const Fill& fill : form.fills) {
    if (fill.kind == kind && fill.count > 1) fills.push_back(fill);
  }
  return fills;
}

Status check_count(std::int64_t count) {
  if (count <= kMaxDisplacements) return ok_status();
  return Error{ErrorCode::kTooLarge, cat(count, " copies or shares of every element"), std::nullopt,
               cat("at most ", kMaxDisplacements, " are supported")};
}

}  // namespace

std::int64_t Overlap::choices() const {
  Checked product = 1;
  for (const OverlapFactor& factor : factors) product *= static_cast<std::int64_t>(factor.size());
  return product.saturated();
}

std::int64_t Overlap::copies() const {
  Checked product = 1;
  for (const OverlapFactor& factor : copies_a) product *= static_cast<std::int64_t>(factor.size());
  return product.saturated();
}

Result<Overlap> overlap_of(const ReshardPart& part) {
  TESSERA_TRY(VirtualFlows flows, virtual_flows(part));
  Overlap overlap;
  overlap.first_a = flows.base_a;
  overlap.first_b = flows.base_b;
  overlap.factors = std::move(flows.factors);
  if (flows.still != 1) overlap.factors.push_back({{0, 0, flows.still}});
  for (const Fill& fill : fills_of(part.b, Fill::Kind::kReplicate)) {
    TESSERA_CHECK_OK(check_count(fill.count));
    OverlapFactor factor;
    const std::int64_t step = fill_step(part.b, fill);
    for (std::int64_t i = 0; i < fill.count; ++i) factor.push_back({0, i * step, 1});
    overlap.factors.push_back(std::move(factor));
  }
  for (const Fill& fill : fills_of(part.a, Fill::Kind::kReplicate)) {
    TESSERA_CHECK_OK(check_count(fill.count));
    OverlapFactor factor;
    const std::int64_t step = fill_step(part.a, fill);
    for (std::int64_t i = 0; i < fill.count; ++i) factor.push_back({i * step, 0, 1});
    overlap.copies_a.push_back(std::move(factor));
  }
  return overlap;
}

void for_each_overlap(
    const Overlap& overlap,
    const std::function<void(std::int64_t a, std::int64_t b, std::int64_t count)>& visit) {
  const std::size_t depth = overlap.factors.size();
  std::vector<std::size_t> at(depth, 0);
  std::vector<VirtualFlow> sums(depth + 1);  // sums[f]: the choices of the factors before f
  sums[0] = {overlap.first_a, overlap.first_b, 1};
  std::size_t from = 0;
  while (true) {
    for (std::size_t f = from; f < depth; ++f) {
      const VirtualFlow& entry = overlap.factors[f][at[f]];
      sums[f + 1] = {sums[f].a + entry.a, sums[f].b + entry.b, sums[f].elements * entry.elements};
    }
    visit(sums[depth].a, sums[depth].b, sums[depth].elements);
    std::size_t f = depth;
    while (f > 0 && ++at[f - 1] == overlap.factors[f - 1].size()) at[--f] = 0;
    if (f == 0) return;
    from = f - 1;
  }
}

std::vector<std::int64_t> holders(const Overlap& overlap, const PlaceMap& map_a,
                                  std::int64_t first_a) {
  std::vector<std::int64_t> places = {first_a};
  for (const OverlapFactor& factor : overlap.copies_a) {
    std::vector<std::int64_t> more;
    more.reserve(places.size() * factor.size());
    for (const std::int64_t place : places) {
      for (const VirtualFlow& entry : factor) more.push_back(place + entry.a);
    }
    places = std::move(more);
  }
  for (std::int64_t& place : places) place = map_a.physical(place);
  if (places.size() > 1) {
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
  }
  return places;
}

std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> kept_where_exchanged(
    const ProductOverlap& product, const AxisSeats& own) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  std::unordered_map<std::int64_t, std::int64_t> role_at;  // of axis 1, by its coordinate
  for (std::size_t v = 0; v < own.coords[1].size(); ++v) {
    role_at[own.coords[1][v]] = static_cast<std::int64_t>(v);
  }
  std::map<Pair, std::int64_t> held;  // along axis 1: (role, seat)
  for (const AxisEntry& entry : product.axes[1].held) held[{entry.role, entry.seat}] = entry.count;
  std::map<Pair, std::int64_t> kept;
  for (const AxisEntry& entry : product.axes[0].held) {
    const auto role = role_at.find(entry.seat);
    if (role == role_at.end()) continue;
    const std::int64_t seat = own.coords[0][static_cast<std::size_t>(entry.role)];
    const auto other = held.find({role->second, seat});
    if (other == held.end()) continue;
    kept[{entry.role, role->second}] += product.rest * entry.count * other->second;
  }
  return kept;
}

}  // namespace tessera::reshard

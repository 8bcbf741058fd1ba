// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/overlap.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxDisplacements = std::int64_t{1} << 22;

bool before(const OverlapEntry& x, const OverlapEntry& y) {
  return x.a != y.a ? x.a < y.a : x.b < y.b;
}

/// Entries with one displacement become one.
void merge_entries(OverlapFactor& factor) {
  std::sort(factor.begin(), factor.end(), before);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < factor.size(); ++i) {
    if (factor[i].a == factor[kept].a && factor[i].b == factor[kept].b) {
      factor[kept].count += factor[i].count;
    } else {
      factor[++kept] = factor[i];
    }
  }
  if (!factor.empty()) factor.resize(kept + 1);
}

/// The displacements of one piece, each element counted.
Status add_piece(const Piece& piece, OverlapFactor& factor) {
  std::int64_t count = 1;
  std::vector<const Loop*> moving;
  Checked entries = 1;
  for (const Loop& loop : piece.loops) {
    if (loop.move.a.place == 0 && loop.move.b.place == 0) {
      count *= loop.extent;
    } else {
      moving.push_back(&loop);
      entries *= loop.extent;
    }
  }
  entries += static_cast<std::int64_t>(factor.size());
  if (entries.saturated() > kMaxDisplacements) {
    return Error{
        ErrorCode::kTooLarge,
        cat("one group of dims goes between more than ", kMaxDisplacements, " pairs of places"),
        std::nullopt, "use layouts that spread dims over fewer places"};
  }
  const std::size_t first = factor.size();
  factor.push_back({piece.at.a.place, piece.at.b.place, count});
  for (const Loop* loop : moving) {
    const std::size_t end = factor.size();
    for (std::int64_t i = 1; i < loop->extent; ++i) {
      const Spots by = {loop->move.a * i, loop->move.b * i};
      for (std::size_t e = first; e < end; ++e) {
        const OverlapEntry from = factor[e];
        const Spot a = Spot{from.a, 0} + by.a;
        const Spot b = Spot{from.b, 0} + by.b;
        factor.push_back({a.place, b.place, count});
      }
    }
  }
  return ok_status();
}

/// How far one step along a fill moves the number of a place.
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

/// The number of share `share`, relative to share 0: shares count row-major over the fills.
std::int64_t share_offset(const Form& form, const std::vector<Fill>& fills, std::int64_t share) {
  std::int64_t offset = 0;
  for (auto fill = fills.rbegin(); fill != fills.rend(); ++fill) {
    offset += share % fill->count * fill_step(form, *fill);
    share /= fill->count;
  }
  return offset;
}

Status check_count(std::int64_t count) {
  if (count <= kMaxDisplacements) return ok_status();
  return Error{ErrorCode::kTooLarge, cat(count, " copies or shares of every element"), std::nullopt,
               cat("at most ", kMaxDisplacements, " are looked at")};
}

Status add_shares(const ReshardPart& part, Overlap& overlap) {
  const std::vector<Fill> from = fills_of(part.a, Fill::Kind::kPartial);
  const std::vector<Fill> to = fills_of(part.b, Fill::Kind::kPartial);
  if (!part.shares.alike) {
    for (const Fill& fill : from) {  // every share goes to share 0, where B has shares at all
      TESSERA_CHECK_OK(check_count(fill.count));
      OverlapFactor factor;
      const std::int64_t step = fill_step(part.a, fill);
      for (std::int64_t i = 0; i < fill.count; ++i) factor.push_back({i * step, 0, 1});
      overlap.factors.push_back(std::move(factor));
    }
    return ok_status();
  }
  const bool paired = std::equal(from.begin(), from.end(), to.begin(), to.end(),
                                 [](const Fill& x, const Fill& y) { return x.count == y.count; });
  if (paired) {
    for (std::size_t f = 0; f < from.size(); ++f) {
      TESSERA_CHECK_OK(check_count(from[f].count));
      OverlapFactor factor;
      const std::int64_t step_a = fill_step(part.a, from[f]);
      const std::int64_t step_b = fill_step(part.b, to[f]);
      for (std::int64_t i = 0; i < from[f].count; ++i) {
        factor.push_back({i * step_a, i * step_b, 1});
      }
      overlap.factors.push_back(std::move(factor));
    }
    return ok_status();
  }
  TESSERA_CHECK_OK(check_count(part.shares.from));
  OverlapFactor factor;
  for (std::int64_t i = 0; i < part.shares.from; ++i) {
    factor.push_back({share_offset(part.a, from, i), share_offset(part.b, to, i), 1});
  }
  overlap.factors.push_back(std::move(factor));
  return ok_status();
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
  Overlap overlap;
  overlap.first_a = part.refinement.base().a.place;
  overlap.first_b = part.refinement.base().b.place;
  for (const Factor& dims : part.refinement.factors()) {
    OverlapFactor factor;
    for (const Piece& piece : dims.pieces) TESSERA_CHECK_OK(add_piece(piece, factor));
    merge_entries(factor);
    if (factor.empty()) continue;
    // Relative to an entry, so that a factor alone always leads from a real place to a real one.
    const OverlapEntry origin = factor.front();
    overlap.first_a += origin.a;
    overlap.first_b += origin.b;
    for (OverlapEntry& entry : factor) {
      entry.a -= origin.a;
      entry.b -= origin.b;
    }
    overlap.factors.push_back(std::move(factor));
  }
  TESSERA_CHECK_OK(add_shares(part, overlap));
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
  std::vector<OverlapEntry> sums(depth + 1);  // sums[f]: the choices of the factors before f
  sums[0] = {overlap.first_a, overlap.first_b, 1};
  std::size_t from = 0;
  while (true) {
    for (std::size_t f = from; f < depth; ++f) {
      const OverlapEntry& entry = overlap.factors[f][at[f]];
      sums[f + 1] = {sums[f].a + entry.a, sums[f].b + entry.b, sums[f].count * entry.count};
    }
    visit(sums[depth].a, sums[depth].b, sums[depth].count);
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
      for (const OverlapEntry& entry : factor) more.push_back(place + entry.a);
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

}  // namespace tessera

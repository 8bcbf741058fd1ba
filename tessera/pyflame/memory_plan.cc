// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/pyflame/pe_memory_planner.h"

namespace tessera::pyflame {

bool MemoryRegion::overlaps(const MemoryRegion& other) const {
  if (size == 0 || other.size == 0) return false;
  return offset < other.offset ? other.offset - offset < size : offset - other.offset < other.size;
}

Result<PEMemoryPlan> MemoryPlan::plan_for(PECoord pe) const {
  if (!state_) {
    return error ? *error : Error{ErrorCode::kNotSupported, "no plan has been made yet"};
  }
  const Shape& mesh = state_->sizes.mesh();
  const Place place = {pe.row, pe.col};
  if (!mesh.contains(place)) {
    return Error{ErrorCode::kOutOfRange,
                 cat("PE ", bracketed(place), " is outside the ", mesh.to_string(), " wafer"),
                 std::nullopt, "rows come first, both count from 0"};
  }
  const std::size_t c = state_->sizes.class_of(place);
  const std::vector<std::int64_t>& offsets = state_->plan.offsets_of(state_->sizes, c);
  const memory::PlaceSizes::Look sizes = state_->sizes.look(c);
  PEMemoryPlan out;
  out.pe = pe;
  out.total_available = static_cast<std::size_t>(state_->available);
  out.total_used = static_cast<std::size_t>(state_->plan.used(state_->sizes, c));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (sizes[i] == 0) continue;
    if (i < state_->tensors) out.tensor_regions[i] = out.regions.size();
    out.regions.push_back({static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(sizes[i]),
                           state_->lives.names[i]});
  }
  return out;
}

std::vector<PEClass> MemoryPlan::classes() const {
  std::vector<PEClass> list;
  if (!state_) return list;
  const std::vector<std::int64_t> used = state_->plan.used_by_class(state_->sizes);
  for (std::size_t c = 0; c < used.size(); ++c) {
    const Place place = state_->sizes.example(c);
    list.push_back({{static_cast<std::int32_t>(place[0]), static_cast<std::int32_t>(place[1])},
                    state_->sizes.places(c),
                    static_cast<std::size_t>(used[c])});
  }
  return list;
}

std::size_t MemoryPlan::total_memory_used() const {
  if (!state_) return 0;
  const std::vector<std::int64_t> used = state_->plan.used_by_class(state_->sizes);
  Checked total = 0;
  for (std::size_t c = 0; c < used.size(); ++c) total += Checked(used[c]) * state_->sizes.places(c);
  return static_cast<std::size_t>(total.saturated());
}

std::size_t MemoryPlan::max_pe_memory_used() const {
  return state_ ? static_cast<std::size_t>(state_->plan.peak) : 0;
}

double MemoryPlan::average_utilization() const {
  if (!state_ || state_->available == 0) return 0;
  const std::vector<std::int64_t> used = state_->plan.used_by_class(state_->sizes);
  double sum = 0;
  std::int64_t pes = 0;
  for (std::size_t c = 0; c < used.size(); ++c) {
    if (used[c] == 0) continue;
    sum += static_cast<double>(used[c]) * static_cast<double>(state_->sizes.places(c));
    pes += state_->sizes.places(c);
  }
  if (pes == 0) return 0;
  return sum / static_cast<double>(pes) / static_cast<double>(state_->available);
}

std::size_t MemoryPlan::bump_max_pe() const {
  return state_ ? static_cast<std::size_t>(state_->bump) : 0;
}

std::size_t MemoryPlan::saved_bytes() const {
  const std::size_t bump = bump_max_pe();
  return bump - std::min(bump, max_pe_memory_used());
}

double MemoryPlan::saved_percent() const {
  if (bump_max_pe() == 0) return 0;
  return 100.0 * static_cast<double>(saved_bytes()) / static_cast<double>(bump_max_pe());
}

std::size_t MemoryPlan::lower_bound() const {
  return state_ ? static_cast<std::size_t>(state_->plan.lower_bound) : 0;
}

const memory::PlaceSizes* MemoryPlan::sizes() const { return state_ ? &state_->sizes : nullptr; }
const memory::MeshPlan* MemoryPlan::offsets() const { return state_ ? &state_->plan : nullptr; }
const memory::Lifetimes* MemoryPlan::lifetimes() const { return state_ ? &state_->lives : nullptr; }

}  // namespace tessera::pyflame

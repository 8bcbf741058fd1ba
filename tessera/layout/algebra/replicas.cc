// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/algebra/replicas.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMin,
                                     Reduction::kMax, Reduction::kAnd,     Reduction::kOr};

OffsetSet offsets_of(std::vector<Fill> parts) {
  std::erase_if(parts, [](const Fill& fill) { return fill.count == 1; });
  std::sort(parts.begin(), parts.end(),
            [](const Fill& a, const Fill& b) { return a.stride < b.stride; });
  for (std::size_t i = 0; i + 1 < parts.size();) {
    if (parts[i + 1].stride == parts[i].count * parts[i].stride) {
      parts[i].count *= parts[i + 1].count;
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else {
      ++i;
    }
  }
  OffsetSet set;
  if (parts.empty()) return set;
  if (parts.size() == 1) {
    set.count = parts[0].count;
    set.stride = parts[0].stride;
    return set;
  }
  std::vector<std::int64_t> all = {0};
  for (const Fill& fill : parts) {
    std::vector<std::int64_t> more;
    for (const std::int64_t offset : all) {
      for (std::int64_t i = 0; i < fill.count; ++i) more.push_back(offset + i * fill.stride);
    }
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    all = std::move(more);
  }
  const std::int64_t step = all[1] - all[0];
  bool even = true;
  for (std::size_t i = 1; i < all.size(); ++i) even = even && all[i] - all[i - 1] == step;
  set.count = static_cast<std::int64_t>(all.size());
  if (even) {
    set.stride = step;
  } else {
    set.offsets = std::move(all);
  }
  return set;
}

}  // namespace

std::int64_t OffsetSet::size() const { return count; }

std::int64_t OffsetSet::at(std::int64_t i) const {
  return offsets.empty() ? i * stride : offsets[static_cast<std::size_t>(i)];
}

bool OffsetSet::contains(std::int64_t offset) const {
  if (!offsets.empty()) return std::binary_search(offsets.begin(), offsets.end(), offset);
  if (offset == 0) return true;
  return count > 1 && offset > 0 && offset % stride == 0 && offset / stride < count;
}

OffsetSet replica_offsets(const std::vector<Fill>& fills, int axis, Fill::Kind kind,
                          std::optional<Reduction> reduction) {
  std::vector<Fill> parts;
  for (const Fill& fill : fills) {
    if (fill.axis == axis && fill.kind == kind && (!reduction || fill.reduction == *reduction)) {
      parts.push_back(fill);
    }
  }
  return offsets_of(std::move(parts));
}

OffsetSet all_offsets(const std::vector<Fill>& fills, int axis) {
  std::vector<Fill> parts;
  for (const Fill& fill : fills) {
    if (fill.axis == axis && fill.kind != Fill::Kind::kFixed) parts.push_back(fill);
  }
  return offsets_of(std::move(parts));
}

bool same_partials(const Form& a, const Form& b) {
  const std::size_t rank = std::max(a.mesh.rank(), b.mesh.rank());
  for (int axis = 0; axis < static_cast<int>(rank); ++axis) {
    for (const Reduction reduction : kReductions) {
      if (replica_offsets(a.fills, axis, Fill::Kind::kPartial, reduction) !=
          replica_offsets(b.fills, axis, Fill::Kind::kPartial, reduction)) {
        return false;
      }
    }
  }
  return true;
}

bool same_replicas(const Form& a, const Form& b) {
  if (a.fills == b.fills) return true;
  if (!same_partials(a, b)) return false;
  const std::size_t rank = std::max(a.mesh.rank(), b.mesh.rank());
  for (int axis = 0; axis < static_cast<int>(rank); ++axis) {
    if (replica_offsets(a.fills, axis, Fill::Kind::kReplicate) !=
        replica_offsets(b.fills, axis, Fill::Kind::kReplicate)) {
      return false;
    }
  }
  return true;
}

}  // namespace tessera

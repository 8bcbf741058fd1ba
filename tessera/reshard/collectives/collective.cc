// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/collectives/collective.h"

#include "tessera/base/text.h"
#include "tessera/reshard/collectives/step_sizes.h"

namespace tessera::reshard {
namespace {

/// The offset of a number that counts row-major over the axes.
std::int64_t offset_of(std::int64_t number, const std::vector<GridAxis>& axes) {
  std::int64_t sum = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    sum += number % axes[i].count * axes[i].stride;
    number /= axes[i].count;
  }
  return sum;
}

}  // namespace

std::string_view collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kSlice:
      return "slice";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
    case CollectiveKind::kScatter:
      return "scatter";
    case CollectiveKind::kGather:
      return "gather";
    case CollectiveKind::kPermute:
      return "permute";
  }
  return "slice";
}

std::int64_t Collective::place(std::int64_t group, std::int64_t member) const {
  return grid.physical(first + offset_of(group, group_axes) + offset_of(member, member_axes));
}

std::int64_t Collective::elements_before(std::int64_t group, std::int64_t member) const {
  return sizes->elements(false, group, member);
}

std::int64_t Collective::elements_after(std::int64_t group, std::int64_t member) const {
  return sizes->elements(true, group, member);
}

std::int64_t Collective::elements_between(std::int64_t group, std::int64_t from,
                                          std::int64_t to) const {
  return sizes->between(group, from, to);
}

std::optional<std::int64_t> Collective::same_before() const { return sizes->same_elements(false); }
std::optional<std::int64_t> Collective::same_after() const { return sizes->same_elements(true); }
std::optional<std::int64_t> Collective::same_between() const { return sizes->same_between(); }

std::string describe(const Collectives& collectives) {
  if (collectives.steps.empty()) return "nothing moves";
  std::string text;
  for (const Collective& step : collectives.steps) {
    text += cat(text.empty() ? "" : ", then ", collective_name(step.kind), " over ", step.groups,
                step.groups == 1 ? " group of " : " groups of ", step.members);
  }
  return text;
}

}  // namespace tessera::reshard

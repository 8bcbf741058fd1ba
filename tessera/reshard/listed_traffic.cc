// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/replicas.h"
#include "tessera/reshard/flow_tables.h"
#include "tessera/reshard/listed_cost.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxMessages = std::int64_t{1} << 23;
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 27;

Error too_large(std::string_view what, std::int64_t count, std::int64_t most) {
  return Error{ErrorCode::kTooLarge,
               cat("the exact cost of this pair has no product form, and listing it takes ", count,
                   " ", what, ", more than ", most),
               std::nullopt, "use fewer places, pieces or replicas"};
}

/// What the replicas of a form add to the number of the first place, rising.
std::vector<std::int64_t> replica_steps(const Form& form) {
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::int64_t> steps = {0};
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    const OffsetSet offsets =
        replica_offsets(form.fills, static_cast<int>(axis), Fill::Kind::kReplicate);
    std::vector<std::int64_t> longer;
    longer.reserve(steps.size() * static_cast<std::size_t>(offsets.size()));
    for (const std::int64_t step : steps) {
      for (std::int64_t i = 0; i < offsets.size(); ++i) {
        longer.push_back(step + offsets.at(i) * strides[axis]);
      }
    }
    steps = std::move(longer);
  }
  return steps;
}

std::int64_t replica_count(const Form& form) {
  Checked count = 1;
  for (std::size_t axis = 0; axis < form.mesh.rank(); ++axis) {
    count *= replica_offsets(form.fills, static_cast<int>(axis), Fill::Kind::kReplicate).size();
  }
  return count.saturated();
}

std::int64_t distance(const Shape& mesh, std::int64_t p, std::int64_t q) {
  std::int64_t sum = 0;
  for (std::size_t axis = mesh.rank(); axis-- > 0;) {
    sum += std::abs(p % mesh[axis] - q % mesh[axis]);
    p /= mesh[axis];
    q /= mesh[axis];
  }
  return sum;
}

/// Lists the traffic of one part.
class Lister {
 public:
  Lister(const Reshard& reshard, ListedTraffic& out) : reshard_(reshard), out_(out) {}

  Status add(const ReshardPart& part) {
    TESSERA_TRY(const VirtualFlows flows, virtual_flows(part));
    Checked combinations = 1;
    for (const auto& factor : flows.factors) {
      combinations *= static_cast<std::int64_t>(factor.size());
    }
    const std::int64_t sources = replica_count(part.a);
    const std::int64_t destinations = replica_count(part.b);
    listed_ += combinations * destinations;
    if (listed_.saturated() > kMaxMessages) {
      return too_large("messages", listed_.saturated(), kMaxMessages);
    }
    steps_ += combinations * destinations * sources;
    if (steps_.saturated() > kMaxSteps) return too_large("steps", steps_.saturated(), kMaxSteps);
    part_ = &part;
    replicas_a_ = replica_steps(part.a);
    replicas_b_ = replica_steps(part.b);
    combine(flows, 0, {flows.base_a, flows.base_b, flows.still});
    return ok_status();
  }

 private:
  void combine(const VirtualFlows& flows, std::size_t factor, const VirtualFlow& sum) {
    if (factor == flows.factors.size()) {
      list(sum);
      return;
    }
    for (const VirtualFlow& flow : flows.factors[factor]) {
      combine(flows, factor + 1, {sum.a + flow.a, sum.b + flow.b, sum.elements * flow.elements});
    }
  }

  void list(const VirtualFlow& flow) {
    const Shape& ground = reshard_.ground().mesh;
    sources_.clear();
    for (const std::int64_t step : replicas_a_) {
      sources_.push_back(part_->map_a.physical(flow.a + step));
    }
    sends_.clear();
    for (const std::int64_t step : replicas_b_) {
      const std::int64_t to = part_->map_b.physical(flow.b + step);
      std::int64_t nearest = sources_.front();
      std::int64_t fewest = INT64_MAX;
      for (const std::int64_t from : sources_) {
        const std::int64_t far = distance(ground, from, to);
        if (far < fewest || (far == fewest && from < nearest)) {
          fewest = far;
          nearest = from;
        }
      }
      out_.pairs.push_back({nearest, to, flow.elements});
      if (nearest != to) sends_.emplace_back(nearest, to);
    }
    std::sort(sends_.begin(), sends_.end());
    sends_.erase(std::unique(sends_.begin(), sends_.end()), sends_.end());
    for (std::size_t i = 0; i < sends_.size();) {
      ListedTraffic::Group& group = out_.groups.emplace_back();
      group.source = sends_[i].first;
      group.elements = flow.elements;
      for (; i < sends_.size() && sends_[i].first == group.source; ++i) {
        group.destinations.push_back(sends_[i].second);
      }
    }
  }

  const Reshard& reshard_;
  ListedTraffic& out_;
  const ReshardPart* part_ = nullptr;
  Checked listed_ = 0;
  Checked steps_ = 0;
  std::vector<std::int64_t> replicas_a_;
  std::vector<std::int64_t> replicas_b_;
  std::vector<std::int64_t> sources_;
  std::vector<std::pair<std::int64_t, std::int64_t>> sends_;
};

/// Sorts, and adds up the elements of equal ones.
template <typename Item, typename Key>
void gather(std::vector<Item>& items, const Key& key) {
  std::sort(items.begin(), items.end(),
            [&](const Item& x, const Item& y) { return key(x) < key(y); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (kept > 0 && key(items[kept - 1]) == key(items[i])) {
      items[kept - 1].elements += items[i].elements;
    } else {
      if (kept != i) items[kept] = std::move(items[i]);
      ++kept;
    }
  }
  items.resize(kept);
}

}  // namespace

Result<ListedTraffic> list_traffic(const Reshard& reshard) {
  ListedTraffic traffic;
  Lister lister(reshard, traffic);
  for (const ReshardPart& part : reshard.parts()) TESSERA_CHECK_OK(lister.add(part));
  gather(traffic.pairs,
         [](const ListedTraffic::Pair& pair) { return std::tie(pair.source, pair.destination); });
  gather(traffic.groups, [](const ListedTraffic::Group& group) {
    return std::tie(group.source, group.destinations);
  });
  return traffic;
}

}  // namespace tessera

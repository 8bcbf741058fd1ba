// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/colour_turns.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

/// A way out of a router for one colour.
struct Branch {
  std::uint32_t way;  ///< router · 5 + port
  std::int32_t colour;
  friend auto operator<=>(const Branch&, const Branch&) = default;
};

}  // namespace

Result<bool> names_colours(const FabricMesh& mesh, const Traffic& traffic) {
  const auto named = [](const FabricMessage& message) { return message.colour != kAnyColour; };
  const bool any = std::any_of(traffic.messages.begin(), traffic.messages.end(), named);
  if (!any) return false;
  const std::int64_t budget = std::min(mesh.colours, static_cast<std::int64_t>(kMaxQueuesAtOutput));
  for (std::size_t m = 0; m < traffic.messages.size(); ++m) {
    const FabricMessage& message = traffic.messages[m];
    if (!named(message)) {
      return Error{ErrorCode::kContradiction,
                   cat("message ", m, " names no colour, but other messages do"), std::nullopt,
                   "name the colour of every message, or of none"};
    }
    if (message.colour < 0 || message.colour >= budget) {
      return Error{ErrorCode::kOutOfRange,
                   cat("message ", m, " names colour ", message.colour, " of ", budget),
                   std::nullopt, "colours are numbered from 0"};
    }
    for (const std::int64_t awaited : traffic.after_of(message)) {
      if (awaited < static_cast<std::int64_t>(m)) continue;
      return Error{ErrorCode::kContradiction,
                   cat("message ", m, " waits for the later message ", awaited), std::nullopt,
                   "messages that name their colours take turns in the order of the list"};
    }
  }
  return true;
}

ColourTurns::ColourTurns(const Traffic& traffic, const XyTrees& trees,
                         std::span<const std::uint32_t> tree_of, std::int32_t cols)
    : traffic_(traffic), trees_(trees), tree_of_(tree_of), cols_(cols) {
  find_routes();
  make_queues();
  make_turns();
}

void ColourTurns::find_routes() {
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> known;
  std::set<std::int32_t> colours;
  for (std::size_t m = 0; m < traffic_.messages.size(); ++m) {
    const std::int32_t colour = traffic_.messages[m].colour;
    const auto [found, is_new] =
        known.try_emplace({tree_of_[m], colour}, static_cast<std::uint32_t>(known.size()));
    route_of_.push_back(found->second);
    if (!is_new) continue;
    colours.insert(colour);
    route_tree_.push_back(tree_of_[m]);
    route_colour_.push_back(colour);
    first_cell_.push_back(first_cell_.empty()
                              ? 0
                              : first_cell_.back() +
                                    trees_.cells(route_tree_[route_tree_.size() - 2]));
  }
  colours_ = static_cast<std::int64_t>(colours.size());
}

void ColourTurns::make_queues() {
  std::vector<Branch> branches;
  const auto for_each_branch = [&](const auto& visit) {
    for (std::size_t route = 0; route < route_tree_.size(); ++route) {
      std::size_t number = first_cell_[route];
      trees_.for_each(route_tree_[route], [&](RouterAt at, TreeCell cell) {
        for (unsigned port = 0; port < kPorts; ++port) {
          if (!cell.leaves_by(static_cast<Port>(port))) continue;
          const auto router = static_cast<std::uint32_t>(at.row * cols_ + at.col);
          visit(number, Branch{router * kPorts + port, route_colour_[route]});
        }
        ++number;
      });
    }
  };
  for_each_branch([&](std::size_t, const Branch& branch) { branches.push_back(branch); });
  std::sort(branches.begin(), branches.end());
  branches.erase(std::unique(branches.begin(), branches.end()), branches.end());
  queues_ = branches.size();
  std::vector<QueueAt> queue_of;
  for (std::uint32_t queue = 0; queue < branches.size(); ++queue) {
    if (ways_.empty() || ways_.back() != branches[queue].way) {
      ways_.push_back(branches[queue].way);
      first_queue_.push_back(queue);
    }
    queue_of.push_back({queue, static_cast<std::uint32_t>(ways_.size() - 1)});
  }
  cells_.resize(route_tree_.empty() ? 0 : first_cell_.back() + trees_.cells(route_tree_.back()));
  for_each_branch([&](std::size_t number, const Branch& branch) {
    Cell& cell = cells_[number];
    if (cell.targets++ == 0) cell.first_target = static_cast<std::uint32_t>(targets_.size());
    const auto at = std::lower_bound(branches.begin(), branches.end(), branch);
    targets_.push_back(queue_of[static_cast<std::size_t>(at - branches.begin())]);
  });
}

void ColourTurns::make_turns() {
  std::map<std::pair<std::int64_t, std::int32_t>, std::uint32_t> known;  // router, colour
  std::vector<std::vector<std::uint32_t>> lists;
  for (std::size_t route = 0; route < route_tree_.size(); ++route) {
    std::size_t number = first_cell_[route];
    trees_.for_each(route_tree_[route], [&](RouterAt at, TreeCell) {
      const std::int64_t router = std::int64_t{at.row} * cols_ + at.col;
      const auto [found, is_new] = known.try_emplace({router, route_colour_[route]},
                                                     static_cast<std::uint32_t>(known.size()));
      cells_[number++].turn = found->second;
    });
  }
  lists.resize(known.size());
  for (std::uint32_t m = 0; m < traffic_.messages.size(); ++m) {
    const std::size_t route = route_of_[m];
    const std::size_t end = first_cell_[route] + trees_.cells(route_tree_[route]);
    for (std::size_t cell = first_cell_[route]; cell < end; ++cell) {
      lists[cells_[cell].turn].push_back(m);
    }
  }
  for (const std::vector<std::uint32_t>& list : lists) {
    Turn& turn = turns_.emplace_back();
    turn.next = static_cast<std::uint32_t>(messages_.size());
    messages_.insert(messages_.end(), list.begin(), list.end());
    messages_.push_back(kNobody);
  }
}

std::size_t ColourTurns::cell_after(QueueAt from, std::uint32_t message) const {
  const RouterAt next =
      neighbour(router_of(from.output), static_cast<Port>(ways_[from.output] % kPorts));
  return first_cell_[route_of_[message]] + trees_.number(tree_of_[message], next);
}

std::vector<RouterOutput> ColourTurns::outputs() const {
  std::vector<RouterOutput> outputs(ways_.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    outputs[o].first_queue = first_queue_[o];
    outputs[o].to_ramp = ways_[o] % kPorts == static_cast<unsigned>(Port::kRamp);
  }
  return outputs;
}

}  // namespace tessera::fabric

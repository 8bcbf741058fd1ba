// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tessera::test {

/// A router, by row and column.
using Router = std::array<std::int64_t, 2>;
/// Where a link leads; kOut of and kIn to the endpoint of a router.
enum class LinkTo { kRight, kDown, kLeft, kUp, kOut, kIn };
/// A directed link, by the router that it leaves.
using NaiveLink = std::pair<Router, LinkTo>;

/// A torus of rows x columns routers whose links have one direction, walked step by step.
struct NaiveTorus {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool right_then_down = true;  ///< else up, then left

  /// The links of a route with both ports; a message to itself only uses the ports.
  std::vector<NaiveLink> route(Router from, Router to) const {
    std::vector<NaiveLink> links = {{from, LinkTo::kOut}};
    Router at = from;
    if (right_then_down) {
      for (; at[1] != to[1]; at[1] = (at[1] + 1) % columns) links.emplace_back(at, LinkTo::kRight);
      for (; at[0] != to[0]; at[0] = (at[0] + 1) % rows) links.emplace_back(at, LinkTo::kDown);
    } else {
      for (; at[0] != to[0]; at[0] = (at[0] + rows - 1) % rows) links.emplace_back(at, LinkTo::kUp);
      for (; at[1] != to[1]; at[1] = (at[1] + columns - 1) % columns)
        links.emplace_back(at, LinkTo::kLeft);
    }
    links.emplace_back(to, LinkTo::kIn);
    return links;
  }
  std::int64_t hops(Router from, Router to) const {
    return static_cast<std::int64_t>(route(from, to).size()) - 2;
  }
};

/// What crosses each link: {streams of data, streams of requests or acknowledgements}.
using NaiveLoads = std::map<NaiveLink, std::pair<std::int64_t, std::int64_t>>;

/// Adds what a master moves to (or, `reads`, from) others: data one way, control the other way.
/// `multicast`: the data of a link count once.
inline void add_naive(const NaiveTorus& torus, Router master, const std::vector<Router>& far,
                      bool reads, bool multicast, NaiveLoads& loads) {
  std::set<NaiveLink> tree;
  for (const Router& other : far) {
    const Router from = reads ? other : master;
    const Router to = reads ? master : other;
    for (const NaiveLink& link : torus.route(from, to)) {
      if (!multicast) ++loads[link].first;
      tree.insert(link);
    }
    for (const NaiveLink& link : torus.route(to, from)) ++loads[link].second;
  }
  if (!multicast) return;
  for (const NaiveLink& link : tree) ++loads[link].first;
}

/// The loads that no other one exceeds in both respects, by decreasing data.
inline std::vector<std::pair<std::int64_t, std::int64_t>> largest_of(const NaiveLoads& loads) {
  std::vector<std::pair<std::int64_t, std::int64_t>> kept;
  for (const auto& [link, load] : loads) {
    const bool below = std::any_of(loads.begin(), loads.end(), [&](const auto& other) {
      return other.second != load && other.second.first >= load.first &&
             other.second.second >= load.second;
    });
    if (!below) kept.push_back(load);
  }
  std::sort(kept.rbegin(), kept.rend());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

}  // namespace tessera::test

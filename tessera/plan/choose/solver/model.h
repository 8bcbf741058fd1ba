// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/plan/choose/problem.h"

namespace tessera::choose {

/// The decisions that are left after all reductions, in flat arrays for the search.
///
/// Law: for every choice of the model, constant + costs of its nodes + tables of its links is the
/// cost of the choice of the problem that it stands for, and that one is within the limit if and
/// only if at every moment m the model's usages add up to at most room[m].
struct Model {
  /// Two nodes, and what their strategies cost together; at most one link joins two nodes.
  struct Link {
    std::uint32_t a = 0, b = 0;  ///< a < b
    std::size_t table = 0;       ///< tables[table + i * strategies(b) + j]; kForbidden or less
  };
  /// A part of a node's life in which its usages do not change.
  struct Piece {
    std::uint32_t from = 0, to = 0;  ///< moments [from, to)
    std::size_t usage = 0;           ///< usages[usage + strategy]; the least of them is 0
  };

  std::int64_t constant = 0;
  std::vector<std::uint32_t> first = {
      0};                           ///< of each node's strategies in `costs`; one more at the end
  std::vector<std::int64_t> costs;  ///< never forbidden; may be negative
  std::vector<Link> links;
  std::vector<std::int64_t> tables;
  std::vector<std::uint32_t> first_link = {0};  ///< of each node in `links_of`
  std::vector<std::uint32_t> links_of;          ///< by node, ascending by the other node
  std::vector<std::uint32_t> first_piece = {0};
  std::vector<Piece> pieces;  ///< by node, in order of time
  std::vector<std::int64_t> usages;
  std::vector<std::int64_t> room;  ///< bytes per moment

  std::uint32_t nodes() const { return static_cast<std::uint32_t>(first.size() - 1); }
  std::uint32_t strategies(std::uint32_t node) const { return first[node + 1] - first[node]; }
  std::uint32_t moments() const { return static_cast<std::uint32_t>(room.size()); }
  std::span<const std::int64_t> costs_of(std::uint32_t node) const {
    return {costs.data() + first[node], strategies(node)};
  }
  std::span<const std::uint32_t> links_at(std::uint32_t node) const {
    return {links_of.data() + first_link[node], first_link[node + 1] - first_link[node]};
  }
  std::span<const Piece> pieces_of(std::uint32_t node) const {
    return {pieces.data() + first_piece[node], first_piece[node + 1] - first_piece[node]};
  }
  std::uint32_t other(std::uint32_t link, std::uint32_t node) const {
    return links[link].a == node ? links[link].b : links[link].a;
  }
};

/// A strategy for each node of a model.
using Choice = std::vector<std::uint32_t>;

/// The cost of a choice, constant included; kForbidden if a pair in it is forbidden.
std::int64_t cost_of(const Model& model, std::span<const std::uint32_t> choice);

/// The usage at every moment.
std::vector<std::int64_t> loads_of(const Model& model, std::span<const std::uint32_t> choice);

/// How far the loads exceed the room, added up over all moments; 0 for a choice that fits.
std::int64_t excess_of(const Model& model, std::span<const std::int64_t> loads);

}  // namespace tessera::choose

// SPDX-License-Identifier: Apache-2.0
// Routes walked link by link, and kinds determined from sets of places.
#include <algorithm>
#include <array>
#include <cstddef>

#include "tessera/base/dtype.h"
#include "tessera/testing/reshard/naive_reshard.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t ceil_of(std::int64_t n, std::int64_t d) { return n / d + (n % d > 0 ? 1 : 0); }

/// A directed link: the router that it leaves, and its direction.
using Link = std::pair<std::int64_t, fabric::Port>;

/// Adds the links of the route from p to q: along p's row first, then along q's column.
void walk(const fabric::FabricMesh& fabric, std::int64_t p, std::int64_t q, std::set<Link>& links) {
  std::int64_t row = p / fabric.cols;
  std::int64_t col = p % fabric.cols;
  while (col != q % fabric.cols) {
    const bool east = col < q % fabric.cols;
    links.emplace(row * fabric.cols + col, east ? fabric::Port::kEast : fabric::Port::kWest);
    col += east ? 1 : -1;
  }
  while (row != q / fabric.cols) {
    const bool south = row < q / fabric.cols;
    links.emplace(row * fabric.cols + col, south ? fabric::Port::kSouth : fabric::Port::kNorth);
    row += south ? 1 : -1;
  }
}

reshard::FabricCost fabric_cost(const NaiveReshard& moves, const Placement& placement,
                                const reshard::PhysicalMesh& physical) {
  reshard::FabricCost cost;
  for (const auto& [pair, elements] : moves.messages) {
    std::set<Link> links;
    walk(*physical.fabric, pair.first, pair.second, links);
    const auto distance = static_cast<std::int64_t>(links.size());
    cost.hops += naive_wavelets(placement, physical, elements) * distance;
    cost.longest_distance = std::max(cost.longest_distance, distance);
    cost.depth = 1;
  }
  std::map<std::int64_t, std::int64_t> in;
  std::map<std::int64_t, std::int64_t> out;
  for (const auto& [tree, elements] : moves.multicasts) {
    const std::int64_t wavelets = naive_wavelets(placement, physical, elements);
    out[tree.first] += wavelets;
    for (const std::int64_t q : tree.second) in[q] += wavelets;
  }
  for (const auto& ramps : {in, out}) {
    for (const auto& [place, wavelets] : ramps) {
      cost.max_ramp_wavelets = std::max(cost.max_ramp_wavelets, wavelets);
    }
  }
  const reshard::LinkLoads loads = naive_loads(moves, placement, physical);
  for (const auto& direction : {loads.east, loads.west, loads.south, loads.north}) {
    for (const std::int64_t load : direction) {
      cost.link_hops += load;
      cost.max_link_wavelets = std::max(cost.max_link_wavelets, load);
    }
  }
  cost.cycles = std::max(cost.max_ramp_wavelets, cost.max_link_wavelets + cost.longest_distance) +
                (2 * physical.fabric->ramp_cycles + 1) * cost.depth;
  return cost;
}

/// The physical places of each share of an element.
using SharePlaces = std::vector<std::set<std::int64_t>>;

SharePlaces physical_places(const NaiveHome& home) {
  SharePlaces places;
  for (const std::vector<NaivePlace>& share : home.shares) {
    places.emplace_back();
    for (const NaivePlace& place : share) places.back().insert(place.physical);
  }
  return places;
}

/// Which elements share their places: a number for each element, equal for one tile.
std::vector<std::size_t> tiles(const std::vector<SharePlaces>& places) {
  std::map<SharePlaces, std::size_t> first;
  std::vector<std::size_t> numbers;
  for (std::size_t x = 0; x < places.size(); ++x) {
    numbers.push_back(first.emplace(places[x], x).first->second);
  }
  return numbers;
}

/// The coordinates of the places of each share as kTranspose compares them, rows and columns
/// exchanged where `exchanged`.
std::vector<std::set<Place>> coordinates(const NaiveHome& home, const Shape& mesh, bool is_virtual,
                                         bool exchanged) {
  std::vector<std::set<Place>> places;
  for (const std::vector<NaivePlace>& share : home.shares) {
    places.emplace_back();
    for (const NaivePlace& place : share) {
      Place there = mesh.delinear(is_virtual ? place.place : place.physical);
      if (exchanged) std::swap(there[0], there[1]);
      places.back().insert(std::move(there));
    }
  }
  return places;
}

bool is_transposed(const NaiveReshard& moves, const Placement& from, const Placement& to,
                   const reshard::PhysicalMesh& physical) {
  const bool is_virtual = from.mesh().rank() == 2 && to.mesh().rank() == 2;
  if (!is_virtual && physical.mesh.rank() != 2) return false;
  bool differs = false;
  for (std::size_t x = 0; x < moves.from.size(); ++x) {
    const Shape& mesh_a = is_virtual ? from.mesh() : physical.mesh;
    const Shape& mesh_b = is_virtual ? to.mesh() : physical.mesh;
    const auto exchanged = coordinates(moves.from[x], mesh_a, is_virtual, true);
    if (exchanged != coordinates(moves.to[x], mesh_b, is_virtual, false)) return false;
    differs = differs || exchanged != coordinates(moves.from[x], mesh_a, is_virtual, false);
  }
  return differs;
}

bool is_identity(const NaiveHome& from, const NaiveHome& to) {
  if (from.slot != to.slot || from.partials != to.partials) return false;
  for (std::size_t share = 0; share < from.shares.size(); ++share) {
    std::set<std::pair<std::int64_t, std::int64_t>> a;
    std::set<std::pair<std::int64_t, std::int64_t>> b;
    for (const NaivePlace& place : from.shares[share]) a.emplace(place.physical, place.layer);
    for (const NaivePlace& place : to.shares[share]) b.emplace(place.physical, place.layer);
    if (a != b) return false;
  }
  return true;
}

}  // namespace

std::int64_t naive_bits(const Placement& placement, std::int64_t elements) {
  const DType storage = placement.atom().storage;
  if (is_block_float(storage)) return ceil_of(elements * tile_bytes_32x32(storage) * 8, 1024);
  return elements * dtype_bits(storage).value();
}

std::int64_t naive_bytes(const Placement& placement, std::int64_t elements) {
  return ceil_of(naive_bits(placement, elements), 8);
}

std::int64_t naive_wavelets(const Placement& placement, const reshard::PhysicalMesh& physical,
                            std::int64_t elements) {
  return ceil_of(naive_bits(placement, elements),
                 physical.fabric ? physical.fabric->wavelet_bits : 32);
}

reshard::LinkLoads naive_loads(const NaiveReshard& moves, const Placement& placement,
                               const reshard::PhysicalMesh& physical) {
  reshard::LinkLoads loads;
  loads.rows = physical.fabric->rows;
  loads.cols = physical.fabric->cols;
  const auto links = at(loads.rows) * at(loads.cols);
  loads.east = loads.west = loads.south = loads.north = std::vector<std::int64_t>(links, 0);
  const std::array<std::vector<std::int64_t>*, 4> ways = {&loads.east, &loads.west, &loads.south,
                                                          &loads.north};
  for (const auto& [tree, elements] : moves.multicasts) {
    std::set<Link> used;
    for (const std::int64_t q : tree.second) walk(*physical.fabric, tree.first, q, used);
    for (const auto& [node, port] : used) {
      (*ways[static_cast<std::size_t>(port)])[at(node)] +=
          naive_wavelets(placement, physical, elements);
    }
  }
  return loads;
}

reshard::ReshardCost naive_cost(const NaiveReshard& moves, const Placement& placement,
                                const reshard::PhysicalMesh& physical) {
  reshard::ReshardCost cost;
  for (const auto& [place, elements] : moves.local) {
    cost.local_bytes += naive_bytes(placement, elements);
  }
  for (const auto& [pair, elements] : moves.messages) {
    cost.bytes += naive_bytes(placement, elements);
    cost.wavelets += naive_wavelets(placement, physical, elements);
    ++cost.messages;
  }
  if (physical.fabric) cost.fabric = fabric_cost(moves, placement, physical);
  return cost;
}

reshard::ReshardKind naive_kind(const NaiveReshard& moves, const Placement& from,
                                const Placement& to, const reshard::PhysicalMesh& physical) {
  bool identity = true;
  bool reduces = false;
  bool keeps = false;
  bool fewer = false;
  bool more = false;
  std::vector<SharePlaces> a;
  std::vector<SharePlaces> b;
  std::set<std::int64_t> all_a;
  std::set<std::int64_t> all_b;
  for (std::size_t x = 0; x < moves.from.size(); ++x) {
    identity = identity && is_identity(moves.from[x], moves.to[x]);
    reduces = reduces || naive_reduces(moves.from[x], moves.to[x]);
    keeps = keeps || moves.to[x].shares.size() > 1;
    a.push_back(physical_places(moves.from[x]));
    b.push_back(physical_places(moves.to[x]));
    for (const auto& share : a.back()) all_a.insert(share.begin(), share.end());
    for (const auto& share : b.back()) all_b.insert(share.begin(), share.end());
    const std::size_t from_copies = moves.from[x].shares.front().size();
    const std::size_t to_copies = moves.to[x].shares.front().size();
    fewer = fewer || to_copies < from_copies;
    more = more || to_copies > from_copies;
  }
  if (identity) return reshard::ReshardKind::kIdentity;
  if (reduces && !keeps) return reshard::ReshardKind::kReduce;
  if (all_a.size() == 1 && all_b.size() > 1) return reshard::ReshardKind::kScatter;
  if (all_a.size() > 1 && all_b.size() == 1) return reshard::ReshardKind::kGather;
  if (tiles(a) != tiles(b) || a == b) return reshard::ReshardKind::kReshard;
  if (more && !fewer) return reshard::ReshardKind::kReplicate;
  if (is_transposed(moves, from, to, physical)) return reshard::ReshardKind::kTranspose;
  return reshard::ReshardKind::kRedistribute;
}

}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "tessera/testing/notation/rule_spyre.h"
#include "tessera/testing/notation/sayable.h"

/// Searches in the notations that distribute dims over a mesh.
namespace tessera::test {
namespace {

/// In sticks, wide integers are narrowed, bytes and bits widened.
std::string kept_in_sticks(const std::string& dtype) {
  static const std::map<std::string, std::string> kOthers = {
      {"i64", "i32"}, {"si64", "si32"}, {"ui8", "ui32"}, {"i1", "ui16"}};
  const auto other = kOthers.find(dtype);
  return other == kOthers.end() ? dtype : other->second;
}

/// The row-major number of an index.
std::int64_t number_of(const Numbers& index, const Numbers& extents) {
  std::int64_t number = 0;
  for (std::size_t i = 0; i < index.size(); ++i) number = number * extents[i] + index[i];
  return number;
}

/// Whether tiles of these extents, row-major in memory, are on separate devices, each on `copies`
/// of them.
bool is_tiled(const Positions& positions, const Numbers& shard, std::int64_t copies) {
  std::map<Numbers, std::vector<Numbers>> devices;  // of each tile
  for (std::size_t i = 0; i < positions.positions.size(); ++i) {
    Numbers tile;
    Numbers inside;
    for (std::size_t dim = 0; dim < shard.size(); ++dim) {
      tile.push_back(positions.indices[i][dim] / shard[dim]);
      inside.push_back(positions.indices[i][dim] % shard[dim]);
    }
    const RulePosition& position = positions.positions[i];
    if (position.slot != number_of(inside, shard)) return false;
    if (static_cast<std::int64_t>(position.places.size()) != copies) return false;
    const auto [known, fresh] = devices.emplace(tile, position.places);
    if (!fresh && known->second != position.places) return false;
  }
  std::set<Numbers> used;
  for (const auto& [tile, places] : devices) {
    for (const Numbers& place : places) {
      if (!used.insert(place).second) return false;
    }
  }
  return true;
}

/// What a mesh axis does in DTensor: a dim in `split` chunks, each cut among the places; or all of
/// it on every place (dim -1).
struct AxisRule {
  std::int64_t dim = -1;
  std::int64_t split = 1;
};

/// `x`, in pieces of ceil(n / parts): some may be short or empty.
std::vector<Numbers> chunks(const Numbers& x, std::int64_t parts) {
  const auto n = static_cast<std::int64_t>(x.size());
  const std::int64_t size = std::max<std::int64_t>(ceil_divide(n, parts), 1);
  std::vector<Numbers> out;
  for (std::int64_t part = 0; part < parts; ++part) {
    out.emplace_back(x.begin() + std::min(part * size, n),
                     x.begin() + std::min((part + 1) * size, n));
  }
  return out;
}

/// The part of one dim that the place holds.
Numbers kept(const Positions& positions, std::int64_t dim, const std::vector<AxisRule>& rules,
             const Numbers& place) {
  Numbers x;
  for (std::int64_t i = 0; i < positions.shape[static_cast<std::size_t>(dim)]; ++i) x.push_back(i);
  for (std::size_t axis = 0; axis < rules.size(); ++axis) {
    if (rules[axis].dim != dim) continue;
    Numbers mine;
    for (const Numbers& chunk : chunks(x, rules[axis].split)) {
      const Numbers part =
          chunks(chunk, positions.mesh[axis])[static_cast<std::size_t>(place[axis])];
      mine.insert(mine.end(), part.begin(), part.end());
    }
    x = mine;
  }
  return x;
}

bool is_sharded(const Positions& positions, const std::vector<AxisRule>& rules) {
  std::size_t held = 0;
  std::int64_t most = 0;
  for (const Numbers& place : all_tuples(positions.mesh)) {
    std::vector<Numbers> dims;
    Numbers extents;
    for (std::size_t dim = 0; dim < positions.shape.size(); ++dim) {
      dims.push_back(kept(positions, static_cast<std::int64_t>(dim), rules, place));
      extents.push_back(static_cast<std::int64_t>(dims.back().size()));
    }
    most = std::max(most, product(extents));
    if (most > positions.slots) return false;
    std::int64_t slot = 0;
    for (const Numbers& inside : all_tuples(extents)) {
      Numbers index;
      for (std::size_t dim = 0; dim < dims.size(); ++dim) {
        index.push_back(dims[dim][static_cast<std::size_t>(inside[dim])]);
      }
      const RulePosition& position = positions.at(index);
      if (position.slot != slot++) return false;
      if (!std::binary_search(position.places.begin(), position.places.end(), place)) return false;
      ++held;
    }
  }
  std::size_t listed = 0;
  for (const RulePosition& position : positions.positions) listed += position.places.size();
  return held == listed && most == positions.slots;
}

/// What a PE axis does: a dim in blocks assigned round-robin, all of the tensor everywhere (kAll),
/// or everything at 0 (kFirst).
struct PeRule {
  static constexpr std::int64_t kAll = -1;
  static constexpr std::int64_t kFirst = -2;
  std::int64_t dim = kFirst;
  std::int64_t block = 1;
};

std::vector<PeRule> pe_rules(const Positions& positions) {
  std::vector<PeRule> rules = {{PeRule::kFirst, 1}, {PeRule::kAll, 1}};
  for (std::size_t dim = 0; dim < positions.shape.size(); ++dim) {
    for (std::int64_t block = 1; block <= positions.shape[dim]; ++block) {
      rules.push_back({static_cast<std::int64_t>(dim), block});
    }
  }
  return rules;
}

bool is_dealt(const Positions& positions, const Numbers& pes, const std::array<PeRule, 2>& rules) {
  Numbers tile = positions.shape;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto [dim, block] = rules[axis];
    if (dim < 0) continue;
    const std::int64_t blocks = ceil_divide(positions.shape[static_cast<std::size_t>(dim)], block);
    tile[static_cast<std::size_t>(dim)] = ceil_divide(blocks, pes[axis]) * block;
  }
  if (product(tile) != positions.slots) return false;
  for (std::size_t i = 0; i < positions.positions.size(); ++i) {
    Numbers inside = positions.indices[i];
    std::array<Numbers, 2> coordinates = {Numbers{0}, Numbers{0}};
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const auto [dim, block] = rules[axis];
      if (dim == PeRule::kAll) {
        for (std::int64_t pe = 1; pe < pes[axis]; ++pe) coordinates[axis].push_back(pe);
      }
      if (dim < 0) continue;
      const std::int64_t x = positions.indices[i][static_cast<std::size_t>(dim)];
      coordinates[axis] = {x / block % pes[axis]};
      inside[static_cast<std::size_t>(dim)] = x / block / pes[axis] * block + x % block;
    }
    const RulePosition& position = positions.positions[i];
    if (position.slot != number_of(inside, tile)) return false;
    if (positions.mesh.empty()) continue;
    std::vector<Numbers> places;
    for (const std::int64_t row : coordinates[0]) {
      for (const std::int64_t col : coordinates[1]) places.push_back({row, col});
    }
    if (places != position.places) return false;
  }
  return true;
}

}  // namespace

bool finds_device_tiles(const Positions& positions) {
  const std::int64_t devices = positions.places();
  if (positions.mesh.size() > 1) return false;
  // All of it on one device of many.
  if (devices > 1 && positions.shares.empty() && positions.slots == product(positions.shape) &&
      std::all_of(positions.positions.begin(), positions.positions.end(),
                  [&](const RulePosition& position) {
                    return position.places.size() == 1 &&
                           position.places == positions.positions[0].places;
                  }) &&
      is_tiled(positions, positions.shape, 1)) {
    return true;
  }
  const Numbers most(positions.shape.size(), devices);
  for (Numbers tiles : all_tuples(most)) {
    for (std::int64_t& tile : tiles) ++tile;
    const std::int64_t used = product(tiles);
    if (used > devices || devices % used != 0) continue;
    Numbers shard;
    for (std::size_t dim = 0; dim < tiles.size(); ++dim) {
      shard.push_back(ceil_divide(positions.shape[dim], tiles[dim]));
    }
    if (product(shard) == positions.slots && is_tiled(positions, shard, devices / used))
      return true;
  }
  return false;
}

bool finds_shards(const Positions& positions) {
  std::vector<AxisRule> options = {{}};
  for (std::size_t dim = 0; dim < positions.shape.size(); ++dim) {
    for (std::int64_t split = 1; split <= 4; ++split) {
      options.push_back({static_cast<std::int64_t>(dim), split});
    }
  }
  const Numbers choices(positions.mesh.size(), static_cast<std::int64_t>(options.size()));
  if (product(choices) > 3000) return false;
  for (const Numbers& choice : all_tuples(choices)) {
    std::vector<AxisRule> rules;
    for (const std::int64_t option : choice)
      rules.push_back(options[static_cast<std::size_t>(option)]);
    if (is_sharded(positions, rules)) return true;
  }
  return false;
}

bool finds_pe_blocks(const Positions& positions) {
  if (!positions.mesh.empty() && positions.mesh.size() != 2) return false;
  const Numbers pes = positions.mesh.empty() ? Numbers{1, 1} : positions.mesh;
  const std::vector<PeRule> rules = pe_rules(positions);
  for (const PeRule& rows : rules) {
    for (const PeRule& cols : rules) {
      if (rows.dim >= 0 && rows.dim == cols.dim) continue;
      if (is_dealt(positions, pes, {rows, cols})) return true;
    }
  }
  return false;
}

bool finds_words(std::string_view notation, const Positions& positions) {
  if (positions.positions.empty()) return false;
  const bool shared = std::any_of(positions.held.begin(), positions.held.end(),
                                  [](const auto& cell) { return cell.second.size() > 1; });
  if (notation == "native") return true;
  if (notation == "gspmd") {
    const std::optional<Positions> devices = numbered(positions);
    return devices && !shared && positions.storage == positions.dtype && positions.shares.empty() &&
           finds_device_tiles(*devices);
  }
  // The searches know no device maps.
  if (positions.is_mapped()) return false;
  if (shared && notation != "strided" && notation != "cute") return false;
  if (notation == "metal") return positions.shares.empty() && finds_memref(positions);
  const bool plain = positions.storage == positions.dtype;
  if (notation == "metal-today") {
    return positions.shares.empty() && positions.kept == positions.dtype &&
           finds_alignments(positions);
  }
  if (notation == "ttnn")
    return positions.shares.empty() && positions.kept == positions.dtype && finds_terms(positions);
  if (notation == "dtensor") return plain && positions.shares.empty() && finds_shards(positions);
  if (notation == "pyflame") return plain && positions.shares.empty() && finds_pe_blocks(positions);
  if (!positions.mesh.empty() || !positions.shares.empty()) return false;
  if (notation == "spyre") {
    return positions.storage == kept_in_sticks(positions.dtype) &&
           finds_dim_map(positions, spyre_stick(positions.dtype));
  }
  if (!plain) return false;
  if (notation == "strided") return finds_strides(positions);
  if (notation == "cute") return finds_modes(positions);
  if (notation == "morello") return finds_packs(positions);
  if (notation == "onednn") return finds_blocks(positions);
  if (notation == "xla") return finds_tiling(positions);
  return false;
}

}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <optional>

#include "tessera/testing/notation/rule_ttnn.h"
#include "tessera/testing/notation/sayable.h"

/// Searches in the Tenstorrent notations: every shape of the shard, and on each line the position
/// of every element, which the notation's rule must give.
namespace tessera::test {
namespace {

/// A shard: the number of atoms along each line, the last two of which are tiled.
struct Shard {
  Numbers grid;
  Numbers atoms;
  Numbers tile;  ///< positions that an atom has along each line

  /// The position of the slot along a line.
  std::int64_t inside(std::int64_t slot, std::size_t line) const {
    const std::size_t lines = atoms.size();
    const std::int64_t cols = tile.back();
    const std::int64_t in_atom = product(tile);
    std::int64_t atom = slot / in_atom;
    for (std::size_t i = lines; i-- > line + 1;) atom /= atoms[i];
    const std::int64_t rest = slot % in_atom;
    const std::int64_t part = line + 1 == lines ? rest % cols : line + 2 == lines ? rest / cols : 0;
    return atom % atoms[line] * tile[line] + part;
  }
};

/// Calls `try_one` with every shape of shards until it returns true.
bool any_shard(const Positions& positions, std::size_t lines,
               const std::function<bool(const Shard&)>& try_one) {
  Shard shard;
  shard.grid = positions.mesh.empty() ? Numbers(lines, 1) : positions.mesh;
  shard.tile.assign(lines, 1);
  if (!positions.tile.empty()) {
    if (lines < 2) return false;
    shard.tile[lines - 2] = positions.tile[0];
    shard.tile[lines - 1] = positions.tile[1];
  }
  const std::function<bool(std::int64_t)> extend = [&](std::int64_t left) {
    if (shard.atoms.size() + 1 == lines) {
      shard.atoms.push_back(left);
      const bool found = try_one(shard);
      shard.atoms.pop_back();
      return found;
    }
    for (std::int64_t atoms = 1; atoms <= left; ++atoms) {
      if (left % atoms != 0) continue;
      shard.atoms.push_back(atoms);
      const bool found = extend(left / atoms);
      shard.atoms.pop_back();
      if (found) return true;
    }
    return false;
  };
  return extend(positions.slots / product(shard.tile));
}

bool any_shard_of_any_rank(const Positions& positions,
                           const std::function<bool(const Shard&)>& try_one) {
  if (!positions.mesh.empty()) return any_shard(positions, positions.mesh.size(), try_one);
  return any_shard(positions, 2, try_one) || any_shard(positions, 1, try_one);
}

/// A line whose positions are constant + Σ coef·x.
struct Linear {
  std::int64_t constant = 0;
  Numbers coefs;
  std::int64_t extent = 0;  ///< one past the last position
};

/// The line when a place takes `width` positions of it; nothing when it is not linear and monotone.
std::optional<Linear> linear(const Positions& positions, const Shard& shard, std::size_t line,
                             std::int64_t width) {
  const auto along = [&](const RulePosition& position) {
    const std::int64_t place = positions.mesh.empty() ? 0 : position.places.front()[line];
    return place * width + shard.inside(position.slot, line);
  };
  Linear found{along(positions.positions.front()), Numbers(positions.shape.size(), 0), 0};
  for (std::size_t dim = 0; dim < positions.shape.size(); ++dim) {
    if (positions.shape[dim] == 1) continue;
    Numbers index(positions.shape.size(), 0);
    index[dim] = 1;
    found.coefs[dim] = along(positions.at(index)) - found.constant;
    if (found.coefs[dim] < 0) return std::nullopt;
  }
  for (std::size_t i = 0; i < positions.positions.size(); ++i) {
    const RulePosition& position = positions.positions[i];
    if (position.places.size() != 1 || shard.inside(position.slot, line) >= width)
      return std::nullopt;
    std::int64_t expected = found.constant;
    for (std::size_t dim = 0; dim < found.coefs.size(); ++dim) {
      expected += found.coefs[dim] * positions.indices[i][dim];
    }
    if (expected != along(position)) return std::nullopt;
    found.extent = std::max(found.extent, expected + 1);
  }
  return found;
}

/// Dims in their order, split into intervals, one per line; within a line each stride covers all
/// below.
bool collapses(const Positions& positions, const Shard& shard, const std::vector<Linear>& lines,
               std::size_t line, std::size_t from) {
  const std::size_t rank = positions.shape.size();
  if (line == lines.size()) return from == rank;
  for (std::size_t to = from + 1; to <= rank; ++to) {
    std::int64_t covered = 1;
    bool fits = true;
    for (std::size_t dim = to; dim-- > from && fits;) {
      const std::int64_t coef = lines[line].coefs[dim];
      if (positions.shape[dim] == 1) continue;
      fits = covered == 1 ? coef == 1 : coef >= covered;
      covered = coef * positions.shape[dim];
    }
    for (std::size_t dim = 0; dim < rank; ++dim) {
      fits = fits && ((dim >= from && dim < to) || lines[line].coefs[dim] == 0);
    }
    fits = fits && covered <= shard.grid[line] * shard.atoms[line] * shard.tile[line];
    if (fits && collapses(positions, shard, lines, line + 1, to)) return true;
  }
  return false;
}

}  // namespace

bool finds_memref(const Positions& positions) {
  return any_shard_of_any_rank(positions, [&](const Shard& shard) {
    for (std::size_t line = 0; line < shard.atoms.size(); ++line) {
      bool found = false;
      const std::int64_t whole = shard.atoms[line] * shard.tile[line];
      for (std::int64_t width = whole; width > whole - shard.tile[line] && !found; --width) {
        const std::optional<Linear> fit = linear(positions, shard, line, width);
        found = fit && ceil_divide(fit->extent, shard.grid[line]) == width;
      }
      if (!found) return false;
    }
    return true;
  });
}

bool finds_alignments(const Positions& positions) {
  if (positions.shape.size() < 2) return false;
  return any_shard_of_any_rank(positions, [&](const Shard& shard) {
    std::vector<Linear> lines;
    for (std::size_t line = 0; line < shard.atoms.size(); ++line) {
      const auto fit = linear(positions, shard, line, shard.atoms[line] * shard.tile[line]);
      if (!fit || fit->constant != 0) return false;
      lines.push_back(*fit);
    }
    return collapses(positions, shard, lines, 0, 0);
  });
}

bool finds_terms(const Positions& positions) {
  if (positions.shape.empty() || (!positions.mesh.empty() && positions.mesh.size() != 2))
    return false;
  return any_shard(positions, 2, [&](const Shard& shard) {
    for (std::size_t line = 0; line < 2; ++line) {
      bool found = false;
      const std::int64_t whole = shard.atoms[line] * shard.tile[line];
      for (std::int64_t width = whole; width > whole - shard.tile[line] && !found; --width) {
        const std::optional<Linear> fit = linear(positions, shard, line, width);
        if (!fit || fit->constant != 0) continue;
        // Rows are all dims but the last, columns the last alone; longer lines add empty places.
        bool own = true;
        std::int64_t covered = 1;
        for (std::size_t dim = positions.shape.size(); dim-- > 0;) {
          if (positions.shape[dim] == 1) continue;
          const bool last = dim + 1 == positions.shape.size();
          const std::int64_t coef = fit->coefs[dim];
          if (last) {
            own = own && coef == (line == 1 ? 1 : 0);
          } else if (line == 1) {
            own = own && coef == 0;
          } else {
            own = own && coef >= covered && (dim + 2 < positions.shape.size() || coef == 1);
            covered = coef * positions.shape[dim];
          }
        }
        // A single dim has no rows to extend.
        const bool longer = line == 1 || positions.shape.size() > 1;
        const std::int64_t places = ceil_divide(fit->extent, width);
        found = own && (longer ? places <= shard.grid[line] : shard.grid[line] == 1);
      }
      if (!found) return false;
    }
    return true;
  });
}

}  // namespace tessera::test

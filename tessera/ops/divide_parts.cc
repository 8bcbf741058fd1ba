// SPDX-License-Identifier: Apache-2.0
#include "tessera/ops/divide_parts.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/ops/supply.h"

namespace tessera::ops {
namespace {

/// Iterations of a factor that belong to one coordinate.
struct Stretch {
  Range values;
  std::int64_t coordinate = 0;
};

/// A dim of an operand that one factor goes through: the index is the factor's value plus `start`.
struct Part {
  const Form* form = nullptr;
  int dim = 0;
  std::int64_t start = 0;
  Range values;  ///< that it reads
};

/// The operands that have the factor; empty if all read the same values, or if one has it otherwise
/// than as a plain index.
std::vector<Part> parts_of(const Loops& loops, const std::vector<PlacedOperand>& operands,
                           std::size_t factor) {
  std::vector<Part> parts;
  bool differ = false;
  for (const PlacedOperand& operand : operands) {
    if (!operand.access->has(static_cast<int>(factor))) continue;
    const Range values = reading_ranges(loops, *operand.access, operand.form->shape)[factor];
    if (values.empty()) continue;
    Part part{operand.form, -1, 0, values};
    for (std::size_t d = 0; d < operand.access->dims.size(); ++d) {
      const DimAccess& dim = operand.access->dims[d];
      if (dim.terms != std::vector{Term{static_cast<int>(factor), 1}}) continue;
      part.dim = static_cast<int>(d);
      part.start = dim.start;
    }
    if (part.dim < 0) return {};
    differ = differ || (!parts.empty() &&
                        (parts[0].values.from != values.from || parts[0].values.to != values.to));
    parts.push_back(part);
  }
  return differ ? parts : std::vector<Part>();
}

/// How a dim is cut along one mesh axis: coordinate = (x + start) mod cycle div width · stride.
struct Dealt {
  std::int64_t start = 0;
  std::int64_t cycle = INT64_MAX;
  std::int64_t width = 1;
  std::int64_t stride = 1;
};

/// Empty if the axis is cut in several ways, or by another dim.
std::optional<Dealt> dealt_over(const Form& form, int dim, int axis) {
  Dealt dealt{0, INT64_MAX, INT64_MAX, 0};  // all at 0
  bool found = false;
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    std::int64_t cycle = INT64_MAX;
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      const Cut& cut = fold.cuts[k];
      if (cut.target.is_mesh() && cut.target.axis() == axis && needed[k] > 1) {
        if (found || fold.terms != std::vector{Term{dim, 1}}) return std::nullopt;
        found = true;
        dealt = {fold.start, cycle, cut.width, cut.stride};
      }
      cycle = cut.width;
    }
  }
  return dealt;
}

/// More than the coordinates of any usual axis.
constexpr std::int64_t kMostStretches = 4096;

/// Adds what a part says along a mesh axis: nothing where all coordinates have it. False if a
/// factor that is cut once cannot follow it.
bool add_stretches(const Part& part, int axis, std::vector<Stretch>& stretches) {
  const Form& form = *part.form;
  std::int64_t fixed = 0;
  for (const Fill& fill : form.fills) {
    if (fill.axis != axis) continue;
    if (fill.kind == Fill::Kind::kFixed) {
      fixed += fill.value;
    } else if (fill.count > 1) {
      const bool is_whole = fill.count == form.mesh[static_cast<std::size_t>(axis)];
      return is_whole && fill.kind == Fill::Kind::kReplicate;
    }
  }
  const std::optional<Dealt> dealt = dealt_over(form, part.dim, axis);
  if (!dealt) return false;
  if (dealt->stride == 0) {
    stretches.push_back({part.values, fixed});
    return true;
  }
  if ((part.values.to - part.values.from) / dealt->width > kMostStretches) return false;
  const std::int64_t shift = part.start + dealt->start;  // from the factor to the line
  for (std::int64_t from = part.values.from; from < part.values.to;) {
    const std::int64_t block = floor_div(from + shift, dealt->width);
    const std::int64_t to = std::min((block + 1) * dealt->width - shift, part.values.to);
    const std::int64_t digit = floor_mod(from + shift, dealt->cycle) / dealt->width;
    stretches.push_back({{from, to}, fixed + digit * dealt->stride});
    from = to;
  }
  return true;
}

/// Whether coordinate = f div width mod places for all values f of every stretch.
bool fits(const std::vector<Stretch>& stretches, std::int64_t width, std::int64_t places) {
  return std::ranges::all_of(stretches, [&](const Stretch& stretch) {
    const std::int64_t block = stretch.values.from / width;
    return block == (stretch.values.to - 1) / width && block % places == stretch.coordinate;
  });
}

/// The width of blocks from 0 on, dealt round the axis, that put every stretch at its coordinate.
std::optional<std::int64_t> width_of(std::vector<Stretch> stretches, std::int64_t places) {
  std::int64_t least = 1;
  std::int64_t most = INT64_MAX;
  std::int64_t longest = 1;
  for (const Stretch& stretch : stretches) {  // one round: coordinate = f div width
    const std::int64_t c = stretch.coordinate;
    least = std::max(least, ceil_div(stretch.values.to, c + 1));
    if (c > 0) most = std::min(most, stretch.values.from / c);
    longest = std::max(longest, stretch.values.to - stretch.values.from);
  }
  if (least <= most && fits(stretches, least, places)) return least;
  // More rounds: the width divides every value at which the coordinate changes.
  std::ranges::sort(stretches, {}, [](const Stretch& stretch) { return stretch.values.from; });
  std::int64_t divisor = 0;
  for (std::size_t n = 1; n < stretches.size(); ++n) {
    const bool changes = stretches[n - 1].values.to == stretches[n].values.from &&
                         stretches[n - 1].coordinate != stretches[n].coordinate;
    if (changes) divisor = std::gcd(divisor, stretches[n].values.from);
  }
  for (std::int64_t k = 1; divisor / k >= longest; ++k) {
    if (divisor % k == 0 && fits(stretches, divisor / k, places)) return divisor / k;
  }
  return std::nullopt;
}

}  // namespace

bool divide_like_parts(const Loops& loops, const Shape& mesh,
                       const std::vector<PlacedOperand>& operands, Division& division) {
  bool decided = false;
  for (std::size_t f = 0; f < loops.factors.size(); ++f) {
    if (loops.factors[f].kind == FactorKind::kWhole) continue;
    const std::vector<Part> parts = parts_of(loops, operands, f);
    if (parts.empty()) continue;
    for (std::size_t a = 0; a < mesh.rank(); ++a) {
      const int axis = static_cast<int>(a);
      std::vector<Stretch> stretches;
      const bool follows = std::ranges::all_of(
          parts, [&](const Part& part) { return add_stretches(part, axis, stretches); });
      if (!follows || stretches.empty()) continue;
      const std::int64_t first = stretches[0].coordinate;
      const bool is_one = std::ranges::all_of(
          stretches, [&](const Stretch& stretch) { return stretch.coordinate == first; });
      const std::optional<std::int64_t> width = width_of(stretches, mesh[a]);
      if (is_one) {
        division.stay_at(axis, first);
      } else if (width) {
        division.divide(static_cast<int>(f), axis, *width);
      } else {
        continue;
      }
      decided = true;
    }
  }
  return decided;
}

}  // namespace tessera::ops

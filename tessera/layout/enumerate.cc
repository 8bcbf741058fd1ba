// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/enumerate.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/locator.h"

namespace tessera {
namespace {

constexpr std::int64_t kRowElements = std::int64_t{64} * 1024;
constexpr std::int64_t kStepsPerRow = 4;

/// Walks a line along one dim. Inside a piece only the last digit changes. At the end of a piece
/// the digits are recomputed by multiplication, or carried if there is only one cut above.
class Walker {
 public:
  explicit Walker(const Line& line) : line_(line) {
    for (const LineCut& cut : line.cuts) divide_.emplace_back(cut.width);
  }

  /// Adds this line's part of the position at start + i·coef to offsets[i], for each i.
  void add_to(std::int64_t start, std::int64_t coef, std::span<Position> offsets) {
    const FastDivide by_coef(std::abs(coef));
    const Position step = line_.cuts.back().move * coef;
    std::int64_t point = start;
    seek(point);
    for (std::size_t i = 0; i < offsets.size();) {
      const std::int64_t room = coef > 0 ? above_ : below_;
      const auto run =
          std::min(1 + static_cast<std::size_t>(by_coef.divide(room)), offsets.size() - i);
      Position position = position_;
      for (std::size_t r = 0; r < run; ++r, ++i) {
        offsets[i] += position;
        position += step;
      }
      const std::int64_t moved = static_cast<std::int64_t>(run) * coef;
      point += moved;
      if (i < offsets.size()) advance(point, moved);
    }
  }

 private:
  /// Finds the digits of `point`, and its distance from the ends of the pieces that contain it.
  void seek(std::int64_t point) {
    position_ = Position{};
    std::int64_t left = point;
    above_ = INT64_MAX - 1;
    below_ = INT64_MAX - 1;
    for (std::size_t k = 0; k + 1 < line_.cuts.size(); ++k) {
      const LineCut& cut = line_.cuts[k];
      digit_ = divide_[k].divide(left);
      left -= digit_ * cut.width;
      position_ += cut.move * digit_;
      above_ = std::min(above_, cut.width - 1 - left);
      below_ = left;
    }
    position_ += line_.cuts.back().move * left;
  }

  void advance(std::int64_t point, std::int64_t by) {
    if (line_.cuts.size() != 2) return seek(point);
    const LineCut& outer = line_.cuts[0];
    std::int64_t left = below_ + by;
    for (; left >= outer.width; left -= outer.width) ++digit_;
    for (; left < 0; left += outer.width) --digit_;
    below_ = left;
    above_ = outer.width - 1 - left;
    position_ = outer.move * digit_ + line_.cuts[1].move * left;
  }

  const Line& line_;
  std::vector<FastDivide> divide_;
  Position position_;
  std::int64_t digit_ = 0;  // of the last cut but one
  std::int64_t above_ = 0;  // how far the point may increase before a piece ends
  std::int64_t below_ = 0;  // how far it may decrease
};

std::int64_t coef_of(const Line& line, int dim) {
  for (const Term& term : line.terms) {
    if (term.dim == dim) return term.coef;
  }
  return 0;
}

std::int64_t point_of(const Line& line, const Index& index) {
  std::int64_t point = line.start;
  for (const Term& term : line.terms) {
    point += term.coef * index[static_cast<std::size_t>(term.dim)];
  }
  return point;
}

Status check_order(const std::vector<int>& order, std::size_t rank) {
  const std::set<int> seen(order.begin(), order.end());
  const bool fits =
      seen.size() == rank && order.size() == rank &&
      (rank == 0 || (*seen.begin() == 0 && *seen.rbegin() == static_cast<int>(rank) - 1));
  if (fits) return ok_status();
  return Error{
      ErrorCode::kBadView,
      cat("a loop order of ", order.size(), " dims is not a permutation of the ", rank, " dims"),
      std::nullopt, "name every dim once, slowest first"};
}

}  // namespace

Status for_each_row(const Form& form, const std::vector<int>& order,
                    const std::function<void(const Row&)>& visit) {
  TESSERA_CHECK_OK(check_order(order, form.shape.rank()));
  if (form.shape.empty()) return ok_status();
  TESSERA_TRY(const Lines lines, canonical(form));
  const std::int64_t fastest =
      order.empty() ? 1 : form.shape[static_cast<std::size_t>(order.back())];
  const Checked rows = Checked(form.shape.elements() / fastest) * ceil_div(fastest, kRowElements);
  const Checked steps = rows * (kStepsPerRow + std::ssize(lines.lines)) + form.shape.elements();
  if (!Work::reserve(steps.saturated())) return Work::too_large("listing elements");
  Index index(form.shape.rank(), 0);
  if (order.empty()) {
    const Position nowhere{};
    visit(Row{index, -1, lines.base, std::span(&nowhere, 1)});
    return ok_status();
  }
  const int inner = order.back();
  const std::int64_t extent = form.shape[static_cast<std::size_t>(inner)];

  std::vector<Walker> along;       // lines of only the inner dim
  std::vector<const Line*> alone;  // the same lines
  std::vector<Walker> tied;        // lines of the inner dim and others
  std::vector<const Line*> mixed;  // the same lines
  Lines rest = lines;              // the part that only outer dims change
  rest.lines.clear();
  for (const Line& line : lines.lines) {
    const bool runs = coef_of(line, inner) != 0;
    if (!runs) rest.lines.push_back(line);
    if (runs && line.terms.size() == 1) {
      along.emplace_back(line);
      alone.push_back(&line);
    }
    if (runs && line.terms.size() > 1) {
      tied.emplace_back(line);
      mixed.push_back(&line);
    }
  }
  const Locator outer(rest);
  const std::int64_t chunk = std::min(extent, kRowElements);
  std::vector<Position> common;  // offsets that all rows of a chunk share
  std::vector<Position> offsets;
  std::int64_t common_from = -1;
  const bool one_chunk = extent <= kRowElements;

  for (bool more = true; more;) {
    for (std::int64_t from = 0; from < extent; from += chunk) {
      const auto length = static_cast<std::size_t>(std::min(chunk, extent - from));
      index[static_cast<std::size_t>(inner)] = from;
      if (common_from != from) {
        common.assign(length, Position{});
        for (std::size_t l = 0; l < along.size(); ++l) {
          const std::int64_t coef = coef_of(*alone[l], inner);
          along[l].add_to(alone[l]->start + coef * from, coef, common);
        }
        common_from = from;
      }
      std::span<const Position> row = common;
      if (!tied.empty()) {
        offsets = common;
        for (std::size_t l = 0; l < tied.size(); ++l) {
          tied[l].add_to(point_of(*mixed[l], index), coef_of(*mixed[l], inner), offsets);
        }
        row = offsets;
      }
      visit(Row{index, inner, outer.at(index.data()), row});
    }
    index[static_cast<std::size_t>(inner)] = 0;
    if (!one_chunk) common_from = -1;
    more = false;
    for (std::size_t i = order.size() - 1; i-- > 0;) {
      const auto dim = static_cast<std::size_t>(order[i]);
      if (++index[dim] < form.shape[dim]) {
        more = true;
        break;
      }
      index[dim] = 0;
    }
  }
  return ok_status();
}

Status for_each_row(const Form& form, const std::function<void(const Row&)>& visit) {
  std::vector<int> order(form.shape.rank());
  std::iota(order.begin(), order.end(), 0);
  return for_each_row(form, order, visit);
}

std::vector<std::int64_t> replica_offsets(const Form& form) {
  const std::vector<std::int64_t> strides = form.mesh.row_major_strides();
  std::vector<std::int64_t> offsets;
  for (const Place& place : replica_places(form, Place(form.mesh.rank(), 0))) {
    std::int64_t number = 0;
    for (std::size_t axis = 0; axis < place.size(); ++axis) number += place[axis] * strides[axis];
    offsets.push_back(number);
  }
  return offsets;
}

}  // namespace tessera

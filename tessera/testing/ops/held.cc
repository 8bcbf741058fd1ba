// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/ops/held.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <variant>

#include "tessera/base/text.h"
#include "tessera/ops/halo_exchange.h"
#include "tessera/testing/naive.h"
#include "tessera/testing/ops/loops_law.h"

namespace tessera::test {

Held held_by_place(const Layout& layout) {
  Held held;
  each_index(layout.shape(), [&](const Index& x) {
    Place first;
    std::int64_t slot = 0;
    layout.form().evaluate(x, first, slot);
    for (const Place& place : replica_places(layout.form(), first)) {
      held[place].insert(row_major(layout.shape(), x));
    }
  });
  return held;
}

namespace {

/// From the first to the last element of a block, both inclusive.
struct Interval {
  std::int64_t low = 0;
  std::int64_t high = 0;
};

/// A dim with a halo, and its blocks at the coordinates of the axis that divides it.
struct HaloDim {
  std::size_t dim = 0;
  std::size_t axis = 0;
  ops::Halo halo;
  std::int64_t extent = 0;
  std::map<std::int64_t, Interval> blocks;

  /// What a coordinate has, empty before the first and behind the last block; nothing between
  /// blocks.
  std::optional<Interval> block_at(std::int64_t coordinate) const {
    const auto found = blocks.find(coordinate);
    if (found != blocks.end()) return found->second;
    if (coordinate > blocks.rbegin()->first) return Interval{extent, extent - 1};
    if (coordinate > blocks.begin()->first) return std::nullopt;
    return Interval{0, -1};
  }
  /// What it has after the exchange.
  std::optional<Interval> at(std::int64_t coordinate) const {
    std::optional<Interval> block = block_at(coordinate);
    if (block) block = Interval{block->low - halo.before, block->high + halo.after};
    return block;
  }
};

std::optional<std::size_t> axis_of(const Form& form, std::size_t dim) {
  for (const Fold& fold : form.folds) {
    if (std::ranges::find(fold.terms, static_cast<int>(dim), &Term::dim) == fold.terms.end()) {
      continue;
    }
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_mesh()) return static_cast<std::size_t>(cut.target.axis());
    }
  }
  return std::nullopt;
}

std::vector<HaloDim> halo_dims(const Layout& layout, const std::vector<ops::Halo>& halos,
                               const Held& held) {
  const Shape& shape = layout.shape();
  std::vector<HaloDim> dims;
  for (std::size_t d = 0; d < halos.size(); ++d) {
    const std::optional<std::size_t> axis = axis_of(layout.form(), d);
    if (halos[d] == ops::Halo{} || !axis) continue;
    HaloDim dim{d, *axis, halos[d], shape[d], {}};
    for (const auto& [place, elements] : held) {
      for (const std::int64_t e : elements) {
        const std::int64_t x = shape.delinear(e)[d];
        Interval& block = dim.blocks.try_emplace(place[*axis], Interval{x, x}).first->second;
        block = {std::min(block.low, x), std::max(block.high, x)};
      }
    }
    if (!dim.blocks.empty()) dims.push_back(std::move(dim));
  }
  return dims;
}

}  // namespace

std::vector<ops::Halo> smallest_halos(const Layout& layout, const std::vector<ops::Halo>& halos,
                                      const Held& needed) {
  std::vector<ops::Halo> smallest(halos.size());
  for (const HaloDim& dim : halo_dims(layout, halos, held_by_place(layout))) {
    ops::Halo& halo = smallest[dim.dim];
    for (const auto& [place, elements] : needed) {
      const std::optional<Interval> block = dim.block_at(place[dim.axis]);
      for (const std::int64_t e : elements) {
        if (!block) break;
        const std::int64_t x = layout.shape().delinear(e)[dim.dim];
        halo.before = std::max(halo.before, block->low - x);
        halo.after = std::max(halo.after, x - block->high);
      }
    }
  }
  return smallest;
}

Held with_halos(const Layout& layout, const std::vector<ops::Halo>& halos) {
  Held held = held_by_place(layout);
  const Shape& shape = layout.shape();
  const std::vector<HaloDim> dims = halo_dims(layout, halos, held);
  if (dims.empty()) return held;
  Held more = held;
  each_index(layout.mesh(), [&](const Place& place) {
    for (const auto& [from, elements] : held) {
      Place here = from;  // with the coordinates along which halos come from other blocks
      for (const HaloDim& dim : dims) here[dim.axis] = place[dim.axis];
      if (here != place) continue;
      for (const std::int64_t e : elements) {
        const Index x = shape.delinear(e);
        const bool reaches = std::ranges::all_of(dims, [&](const HaloDim& dim) {
          const std::optional<Interval> has = dim.at(place[dim.axis]);
          return has && x[dim.dim] >= has->low && x[dim.dim] <= has->high;
        });
        if (reaches) more[place].insert(e);
      }
    }
  });
  return more;
}

std::string exchange_mistake(const Layout& operand, const std::vector<ops::Halo>& halos,
                             const std::vector<std::int64_t>& readers, const Held& needed) {
  const auto parts = ops::halo_exchange(operand, halos, readers);
  if (!parts && parts.error().code == ErrorCode::kNotSupported) return "";
  if (!parts) return parts.error().message;
  Held arrived;
  std::map<Place, std::set<std::int64_t>> slots;
  std::string wrong;
  for (const ops::HaloPart& part : *parts) {
    each_index(part.to.shape(), [&](const Index& y) {
      const Location from = *part.from.locate(y);
      const Location to = *part.to.locate(y);
      const Slot slot = *operand.element_at(from.places[0], from.slot);
      if (!std::holds_alternative<Index>(slot)) {
        wrong = cat("the exchange reads a slot without an element on place ",
                    bracketed(from.places[0]));
        return;
      }
      for (const Place& place : to.places) {
        arrived[place].insert(row_major(operand.shape(), std::get<Index>(slot)));
        if (!slots[place].insert(to.slot).second) wrong = "the exchange fills a slot twice";
      }
    });
  }
  const Held owned = held_by_place(operand);
  const Held promised = with_halos(operand, halos);
  for (const HaloDim& dim : halo_dims(operand, halos, owned)) {
    std::int64_t last = dim.blocks.rbegin()->first;
    for (const auto& [place, elements] : needed) last = std::max(last, place[dim.axis]);
    for (const auto& [place, elements] : arrived) {
      if (place[dim.axis] > last)
        wrong = cat("place ", bracketed(place), " receives, but needs nothing");
    }
  }
  each_index(operand.mesh(), [&](const Place& place) {
    const auto at = promised.find(place);
    const std::set<std::int64_t> all = at == promised.end() ? std::set<std::int64_t>{} : at->second;
    const bool counts = owned.contains(place) || needed.contains(place);
    if (counts ? arrived[place] != all : !std::ranges::includes(all, arrived[place])) {
      wrong = cat("the exchange brings place ", bracketed(place), " ", arrived[place].size(),
                  " elements, not ", all.size());
    }
    const auto need = needed.find(place);
    if (need != needed.end() && !std::ranges::includes(arrived[place], need->second)) {
      wrong = cat("the exchange does not bring all that place ", bracketed(place), " reads");
    }
  });
  return wrong;
}

long double share_of(Reduction reduction, long double number, std::int64_t k, std::int64_t count,
                     std::int64_t salt, bool is_float) {
  const bool keeps = k == salt % count;  // the one that has the number
  if (!is_float) {
    const bool absorbs = reduction == Reduction::kMin || reduction == Reduction::kMax;
    return keeps || absorbs ? number : neutral_of(reduction);
  }
  const auto some = [&](std::int64_t i) { return static_cast<long double>((salt + 3 * i) % 5); };
  switch (reduction) {
    case Reduction::kMin:
      return keeps ? number : number + some(k);
    case Reduction::kMax:
      return keeps ? number : number - some(k);
    case Reduction::kSum: {
      if (!keeps) return some(k);
      for (std::int64_t i = 0; i < count; ++i) number -= i == k ? 0 : some(i);
      return number;
    }
    default:
      return keeps ? number : neutral_of(reduction);
  }
}

ShareNumber share_at(const Layout& layout, const Index& element, const Place& place) {
  Place first;
  std::int64_t slot = 0;
  layout.form().evaluate(element, first, slot);
  ShareNumber share;
  for (const Fill& fill : layout.form().fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count <= 1) continue;
    const auto axis = static_cast<std::size_t>(fill.axis);
    const std::int64_t at = (place[axis] - first[axis]) / fill.stride % fill.count;
    share.k = share.k * fill.count + at;
    share.count *= fill.count;
  }
  return share;
}

}  // namespace tessera::test

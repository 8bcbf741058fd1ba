// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/local_boxes.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/layout/regions.h"

namespace tessera::run {
namespace {

std::int64_t slot_of(const Form& form, const Index& index) {
  Place place;
  std::int64_t slot = 0;
  form.evaluate(index, place, slot);
  return slot;
}

/// Whether a line of the form joins dims or leaves elements out, so that boundaries of its cuts are
/// not those of a dim.
bool joins_dims(const Form& form) {
  return std::ranges::any_of(form.folds, [](const Fold& fold) {
    const bool is_dim = fold.terms.empty() || (fold.terms.size() == 1 && fold.terms[0].coef == 1);
    return !is_dim &&
           std::ranges::any_of(fold.cuts, [](const Cut& cut) { return cut.target.is_memory(); });
  });
}

/// Whether slots are those of the strides: for every element, or where every line is one dim and no
/// cut is crossed, at the ends of each dim.
bool is_plain(const Form& form, const LocalBox& local) {
  const auto is_right = [&](const Index& x) {
    std::int64_t expected = local.first;
    for (std::size_t d = 0; d < x.size(); ++d) {
      expected += local.steps[d] * (x[d] - local.box.from[d]);
    }
    return slot_of(form, x) == expected;
  };
  Index x = local.box.from;
  if (!joins_dims(form)) {
    for (std::size_t d = 0; d < x.size(); ++d) {
      x[d] = local.box.to[d] - 1;
      if (!is_right(x)) return false;
      x[d] = local.box.from[d];
    }
    return true;
  }
  while (is_right(x)) {
    std::size_t d = x.size();
    while (d > 0 && ++x[d - 1] == local.box.to[d - 1]) {
      --d;
      x[d] = local.box.from[d];
    }
    if (d == 0) return true;
  }
  return false;
}

/// The box as one with plain strides, or in halves that are tried again.
void add_plain(const Form& form, const Box& box, std::vector<LocalBox>& list) {
  LocalBox local{box, slot_of(form, box.from), std::vector<std::int64_t>(box.from.size(), 0)};
  std::size_t longest = 0;
  for (std::size_t d = 0; d < box.from.size(); ++d) {
    const std::int64_t length = box.to[d] - box.from[d];
    if (length > box.to[longest] - box.from[longest]) longest = d;
    if (length <= 1) continue;
    Index next = box.from;
    ++next[d];
    local.steps[d] = slot_of(form, next) - local.first;
  }
  if (is_plain(form, local)) {
    list.push_back(std::move(local));
    return;
  }
  const std::int64_t middle = box.from[longest] + (box.to[longest] - box.from[longest]) / 2;
  Box half = box;
  half.to[longest] = middle;
  add_plain(form, half, list);
  half = box;
  half.from[longest] = middle;
  add_plain(form, half, list);
}

/// The boundaries of a form's cuts inside a box: pieces within which every digit is plain.
std::vector<Box> pieces_of(const Form& form, const Box& box) {
  std::vector<Box> pieces = {box};
  for (const Fold& fold : form.folds) {
    if (fold.terms.size() != 1 || fold.terms[0].coef != 1) continue;
    const auto d = static_cast<std::size_t>(fold.terms[0].dim);
    for (const Cut& cut : fold.cuts) {
      // Memory digits that continue each other have no boundary that matters: found by trying.
      if (cut.width <= 1 || !cut.target.is_memory()) continue;
      std::vector<Box> more;
      for (const Box& piece : pieces) {
        for (std::int64_t from = piece.from[d]; from < piece.to[d];) {
          const std::int64_t to = std::min(
              piece.to[d], (floor_div(from + fold.start, cut.width) + 1) * cut.width - fold.start);
          more.push_back(piece);
          more.back().from[d] = from;
          more.back().to[d] = to;
          from = to;
        }
      }
      pieces = std::move(more);
    }
  }
  return pieces;
}

}  // namespace

Result<std::vector<LocalBox>> local_boxes(const Layout& layout, const Place& place) {
  TESSERA_TRY(const tessera::Tile tile, tile_of(layout, place));
  std::vector<LocalBox> list;
  for (const Box& box : tile.boxes) {
    if (box.elements() == 0) continue;
    for (const Box& piece : pieces_of(layout.form(), box)) add_plain(layout.form(), piece, list);
  }
  return list;
}

namespace {

/// The element of the operand that a part has at its index y.
Result<Index> element_of(const Extended& extended, const ops::HaloPart& part, const Index& y) {
  TESSERA_TRY(const Location from, part.from.locate(y));
  TESSERA_TRY(Slot slot, extended.operand.element_at(from.places[0], from.slot));
  return std::get<Index>(std::move(slot));
}

}  // namespace

Result<std::vector<LocalBox>> local_boxes(const Extended& extended, const Place& place) {
  for (const ops::HaloPart& part : extended.parts) {
    TESSERA_TRY(const tessera::Tile tile, tile_of(part.to, place));
    if (tile.boxes.empty() || tile.boxes[0].elements() == 0) continue;
    std::vector<LocalBox> list;
    for (const Box& box : tile.boxes) {
      std::vector<LocalBox> plain;
      for (const Box& piece : pieces_of(part.to.form(), box)) {
        add_plain(part.to.form(), piece, plain);
      }
      for (const LocalBox& local : plain) {
        // The part has the tile and the element in it for each dim with a halo, else the dim
        // itself.
        LocalBox whole;
        whole.first = local.first;
        TESSERA_TRY(whole.box.from, element_of(extended, part, local.box.from));
        whole.box.to = whole.box.from;
        std::size_t at = 0;
        for (std::size_t d = 0; d < extended.halos.size(); ++d, ++at) {
          if (!(extended.halos[d] == ops::Halo{})) ++at;
          whole.box.to[d] += local.box.to[at] - local.box.from[at];
          whole.steps.push_back(local.steps[at]);
        }
        list.push_back(std::move(whole));
      }
    }
    return list;
  }
  return std::vector<LocalBox>{};
}

}  // namespace tessera::run

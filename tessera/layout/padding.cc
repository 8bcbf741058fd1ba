// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/algebra/mesh_digits.h"
#include "tessera/layout/enumerate.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/slots/digit_boxes.h"

namespace tessera {
namespace {

constexpr std::int64_t kMaxEnumerated = std::int64_t{1} << 22;
constexpr std::size_t kData = kCauses;  // the status that comes after every cause

/// For each status s: the number of settings with status s or later. Entry kData counts data.
using AtLeast = std::array<std::int64_t, kCauses + 1>;

Error too_many_slots() {
  return Error{
      ErrorCode::kTooLarge,
      cat("a fold with an unplaced digit or entangled dims must be enumerated, but this one has "
          "more than ",
          kMaxEnumerated, " slots"),
      std::nullopt, "place every digit"};
}

/// Statuses of one fold's settings. Points that no index reaches are gaps.
Result<AtLeast> statuses(const DigitBoxes& boxes, const Shape& shape, bool confined) {
  std::array<std::int64_t, kCauses + 1> exactly{};
  for (std::size_t cut = 0; cut < boxes.cuts(); ++cut) {
    exactly[static_cast<std::size_t>(boxes.fold().cuts[cut].cause)] += boxes.failures(cut);
  }
  const LinePoints line(boxes.fold(), shape);
  const std::int64_t points = boxes.points_below(boxes.extent());
  std::int64_t indices = 0;
  if (!confined) {
    const std::optional<std::int64_t> count = line.count();
    if (!count) return too_many_slots();
    indices = *count;
  } else if (line.nested() && line.count() == line.extent()) {
    indices = points;
  } else {
    bool too_large = false;
    line.runs(
        [&](std::int64_t from, std::int64_t to) {
          indices += boxes.points_below(to) - boxes.points_below(from);
          return true;
        },
        too_large);
    if (too_large) return too_many_slots();
  }
  exactly[static_cast<std::size_t>(Cause::kGap)] += points - indices;
  exactly[kData] = indices;
  AtLeast at_least{};
  std::int64_t sum = 0;
  for (std::size_t status = kCauses + 1; status-- > 0;) {
    sum += exactly[status];
    at_least[status] = sum;
  }
  return at_least;
}

/// Marks the slots of the places numbered [from, to), one place after the other, that hold an
/// element.
Result<std::vector<bool>> held_slots(const Layout& layout, std::int64_t from, std::int64_t to) {
  const Form& form = layout.form();
  const std::vector<std::int64_t> copies = replica_offsets(form);
  std::vector<bool> held(static_cast<std::size_t>((to - from) * layout.slots()), false);
  TESSERA_CHECK_OK(for_each_row(form, [&](const Row& row) {
    for (const Position& offset : row.offsets) {
      const Position position = row.base + offset;
      for (const std::int64_t copy : copies) {
        const std::int64_t place = position.place + copy;
        if (place < from || place >= to) continue;
        held[static_cast<std::size_t>((place - from) * layout.slots() + position.slot)] = true;
      }
    }
  }));
  return held;
}

/// Elements are listed, and only the other slots are asked for the cause of their padding.
Result<PaddingCount> count_slot_by_slot(const Layout& layout, std::int64_t from, std::int64_t to) {
  const Checked elements = Checked(layout.shape().elements()) * layout.form().replicas();
  if (elements.saturated() > kMaxEnumerated) return too_many_slots();
  if (!Work::reserve(elements.raw() + (to - from) * layout.slots())) {
    return Work::too_large("counting the causes of padding");
  }
  TESSERA_TRY(const std::vector<bool> held, held_slots(layout, from, to));
  PaddingCount count;
  auto slot = held.begin();
  for (std::int64_t number = from; number < to; ++number) {
    const Place place = layout.mesh().delinear(number);
    for (std::int64_t i = 0; i < layout.slots(); ++i) {
      if (*slot++) continue;
      TESSERA_TRY(const Slot content, layout.element_at(place, i));
      ++count.total;
      ++count.by_cause[static_cast<std::size_t>(std::get<Padding>(content).cause)];
    }
  }
  return count;
}

/// Counts over the whole mesh, or on one place with the given mesh digits. `elements` is the number
/// of elements held there; by default, every setting that is valid in every fold is an element.
Result<PaddingCount> count_closed(const Layout& layout, const MeshDigits* at,
                                  std::optional<std::int64_t> elements) {
  const Form& form = layout.form();
  std::vector<AtLeast> folds;
  std::int64_t memory = 1;
  std::int64_t mesh = 1;
  for (std::size_t f = 0; f < form.folds.size(); ++f) {
    DigitBoxes boxes(form.folds[f], form.shape);
    for (std::size_t cut = 0; cut < boxes.cuts(); ++cut) {
      if (at != nullptr && form.folds[f].cuts[cut].target.is_mesh()) {
        const std::int64_t digit = at->digits[f][cut];
        boxes.confine(cut, {digit, digit + 1});
      }
      const Target target = form.folds[f].cuts[cut].target;
      if (target.is_memory()) memory *= boxes.range(cut).count();
      if (target.is_mesh()) mesh *= boxes.range(cut).count();
    }
    TESSERA_TRY(const AtLeast at_least, statuses(boxes, form.shape, at != nullptr));
    folds.push_back(at_least);
  }
  std::array<std::int64_t, kCauses + 1> total;
  total.fill(1);
  for (const AtLeast& fold : folds) {
    for (std::size_t s = 0; s <= kData; ++s) total[s] *= fold[s];
  }
  // Settings that are valid in every fold but belong to no index, because folds share a dim and
  // disagree about it, or because the empty dim is in no fold. They are gaps.
  const std::int64_t disagree = total[kData] - elements.value_or(total[kData]);
  for (std::size_t s = static_cast<std::size_t>(Cause::kGap) + 1; s <= kData; ++s) {
    total[s] -= disagree;
  }
  const std::int64_t copies = at == nullptr ? form.replicas() : 1;
  const std::int64_t places = at == nullptr ? layout.places() : 1;
  PaddingCount count;
  for (std::size_t s = 0; s < kCauses; ++s) count.by_cause[s] = (total[s] - total[s + 1]) * copies;
  count.by_cause[static_cast<std::size_t>(Cause::kGap)] += (layout.slots() - memory) * places;
  count.by_cause[static_cast<std::size_t>(Cause::kGrid)] += (places - mesh * copies) * memory;
  count.total = std::accumulate(count.by_cause.begin(), count.by_cause.end(), std::int64_t{0});
  return count;
}

}  // namespace

Result<PaddingCount> padding(const Layout& layout) {
  if (has_open_digit(layout.form())) {
    if ((Checked(layout.places()) * layout.slots()).saturated() > kMaxEnumerated) {
      return too_many_slots();
    }
    return count_slot_by_slot(layout, 0, layout.places());
  }
  return count_closed(layout, nullptr, layout.shape().elements());
}

Result<PaddingCount> padding_at(const Layout& layout, const Place& place) {
  TESSERA_CHECK_OK(
      check_position(layout.mesh(), std::max<std::int64_t>(layout.slots(), 1), place, 0));
  if (layout.slots() == 0) return PaddingCount{};
  if (has_open_digit(layout.form())) {
    if (layout.slots() > kMaxEnumerated) return too_many_slots();
    const std::int64_t number = layout.mesh().linear(place);
    return count_slot_by_slot(layout, number, number + 1);
  }
  const std::optional<MeshDigits> digits = mesh_digits(layout.form(), place);
  if (digits && layout.shape().empty()) return count_closed(layout, &*digits, 0);
  if (digits && !folds_share_dims(layout.form())) {
    return count_closed(layout, &*digits, std::nullopt);
  }
  if (digits) {
    TESSERA_TRY(const Tile tile, tile_of(layout, place));
    return count_closed(layout, &*digits, tile.elements);
  }
  // No digits reach the place: the slots that memory digits reach are padding of the grid.
  std::int64_t memory = 1;
  for (const Fold& fold : layout.form().folds) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_memory()) memory *= cut.count;
    }
  }
  PaddingCount count;
  count.total = layout.slots();
  count.by_cause[static_cast<std::size_t>(Cause::kGap)] = layout.slots() - memory;
  count.by_cause[static_cast<std::size_t>(Cause::kGrid)] = memory;
  return count;
}

Result<bool> is_exhaustive(const Layout& layout) {
  // Every slot that is not padding holds an element or a replica of one.
  const Checked filled = Checked(layout.shape().elements()) * layout.form().replicas();
  return !filled.overflowed() && filled.raw() == layout.places() * layout.slots();
}

}  // namespace tessera

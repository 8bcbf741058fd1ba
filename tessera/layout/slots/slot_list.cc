// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/slots/slot_list.h"

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/base/work.h"
#include "tessera/layout/enumerate.h"

namespace tessera {
namespace {

constexpr std::int64_t kStepsPerEntry = 4;

Status check_size(Checked size, std::string_view what, std::int64_t most) {
  if (size.saturated() > most) {
    return Error{ErrorCode::kTooLarge,
                 cat("there are ", size.overflowed() ? "more than " : "", size.saturated(), " ",
                     what, "; at most ", most, " are listed"),
                 std::nullopt, "ask about a single slot"};
  }
  if (!Work::reserve(kStepsPerEntry * size.raw())) return Work::too_large("listing slots");
  return ok_status();
}

}  // namespace

Result<SlotList> SlotList::make(const Placement& placement, std::int64_t most) {
  const std::int64_t slots = placement.slots();
  const Checked all = Checked(slots) * placement.places();
  TESSERA_CHECK_OK(check_size(all, "slots", most));
  SlotList list;
  for (const FormPiece& piece : form_pieces(placement)) {
    const Form& form = *piece.form;
    const Checked copied = Checked(piece.box.elements()) * form.replicas();
    TESSERA_CHECK_OK(check_size(copied + std::ssize(list.held_), "elements in slots", most));
    const std::vector<std::int64_t> copies = replica_offsets(form);
    TESSERA_CHECK_OK(for_each_row(form, [&](const Row& row) {
      const Index first = plus(row.index, piece.box.from);
      std::int64_t element = placement.shape().linear(first);
      const std::int64_t step =
          row.dim < 0 ? 0
                      : placement.shape().row_major_strides()[static_cast<std::size_t>(row.dim)];
      for (const Position& offset : row.offsets) {
        const Position position = row.base + offset;
        for (const std::int64_t copy : copies) {
          list.held_.emplace_back((position.place + copy) * slots + position.slot, element);
        }
        element += step;
      }
    }));
  }
  std::sort(list.held_.begin(), list.held_.end());
  list.held_.erase(std::unique(list.held_.begin(), list.held_.end()), list.held_.end());
  list.causes_.assign(static_cast<std::size_t>(all.raw()), Cause::kGap);
  auto held = list.held_.begin();
  for (std::int64_t at = 0; at < all.raw(); ++at) {
    if (held != list.held_.end() && held->first == at) {
      while (held != list.held_.end() && held->first == at) ++held;
      continue;
    }
    Cause cause = Cause::kGap;
    if (placement.view() == nullptr) {
      TESSERA_TRY(const SlotContent content,
                  placement.contents_at(placement.mesh().delinear(at / slots), at % slots));
      cause = std::get<Padding>(content).cause;
    }
    list.causes_[static_cast<std::size_t>(at)] = cause;
    ++list.padding_.total;
    ++list.padding_.by_cause[static_cast<std::size_t>(cause)];
  }
  return list;
}

std::span<const std::pair<std::int64_t, std::int64_t>> SlotList::elements(std::int64_t at) const {
  const auto first = std::lower_bound(held_.begin(), held_.end(), std::pair(at, INT64_MIN));
  auto end = first;
  while (end != held_.end() && end->first == at) ++end;
  return {first, end};
}

}  // namespace tessera

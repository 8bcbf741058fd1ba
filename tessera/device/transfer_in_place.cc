// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/transfer_in_place.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "tessera/relayout/kernels/kernels.h"

namespace tessera::device {

Status InPlaceTransfer::run(const GoOn& go_on) {
  std::int64_t done_bytes = 0;
  const std::array<BufferId, 1> buffers = {buffer_};
  const auto step = [&](const auto& work) -> Status {
    if (!go_on(done_bytes)) return cancelled_after(done_bytes, crossing_.wire_bytes);
    return device_.in_place(
        buffers, [&](std::span<PinnedBuffer* const> pinned) { return work(*pinned.front()); });
  };
  if (!to_device()) {
    TESSERA_CHECK_OK(step([&](PinnedBuffer& pinned) { return check(pinned); }));
  }
  for (int number = 0; number < how_.parts; ++number) {
    TESSERA_CHECK_OK(step([&](PinnedBuffer& pinned) { return part(number, pinned); }));
    done_bytes = crossing_.wire_bytes / how_.parts * (number + 1);
  }
  if (to_device()) {
    TESSERA_CHECK_OK(step([&](PinnedBuffer& pinned) { return mark(pinned); }));
  }
  go_on(crossing_.wire_bytes);
  return ok_status();
}

/// Whether what is read was written. An unchecked device only knows whether all of it was lost.
Status InPlaceTransfer::check(PinnedBuffer& pinned) const {
  for (const Copy& copy : crossing_.list.copies) {
    const BoxMove& move = crossing_.list.moves[copy.move];
    TESSERA_TRY(const std::byte* const shard,
                pinned.input(copy.source, move.source(copy.source_slot)));
    static_cast<void>(shard);
    if (!device_.checked()) break;
  }
  return ok_status();
}

/// What was filled and copied now counts as written.
Status InPlaceTransfer::mark(PinnedBuffer& pinned) const {
  const auto output = [&](std::int64_t place, const SlotBox& box) -> Status {
    TESSERA_TRY(const std::byte* const shard, pinned.output(place, box));
    static_cast<void>(shard);
    return ok_status();
  };
  for (const SlotFill& fill : crossing_.list.fills) {
    const BoxMove& move = crossing_.list.moves[fill.move];
    TESSERA_CHECK_OK(output(fill.place, move.destination(fill.slot)));
    if (!device_.checked()) return ok_status();
  }
  for (const Copy& copy : crossing_.list.copies) {
    const BoxMove& move = crossing_.list.moves[copy.move];
    TESSERA_CHECK_OK(output(copy.destination, move.destination(copy.destination_slot)));
    if (!device_.checked()) return ok_status();
  }
  return ok_status();
}

Status InPlaceTransfer::part(int number, PinnedBuffer& pinned) {
  touched_ = to_device();
  if (to_device() && number == 0) TESSERA_CHECK_OK(fill(pinned));
  if (!how_.plan) return copy(number, pinned);
  const relayout::Program& program = how_.plan->program();
  std::byte* const places = pinned.address(0);
  const relayout::PlanPart part{number, how_.parts};
  if (to_device()) {
    const std::span all(places, static_cast<std::size_t>(program.to.bytes));
    return how_.plan->run(host_.source, all, pool_, part);
  }
  const std::span<const std::byte> all(places, static_cast<std::size_t>(program.from.bytes));
  return how_.plan->run(all, host_.destination, pool_, part);
}

Status InPlaceTransfer::fill(PinnedBuffer& pinned) {
  const CopyList& list = crossing_.list;
  if (list.fills.empty()) return ok_status();
  return pool_.run([&](int worker) {
    const auto mine = whole_places(
        list.fills, [](const SlotFill& fill) { return fill.place; }, worker, pool_.threads());
    for (const SlotFill& fill : mine) {
      list.moves[fill.move].fill({pinned.address(fill.place), fill.slot}, fill.bits);
    }
  });
}

/// Some of the boxes, which do not meet in any byte.
Status InPlaceTransfer::copy(int number, PinnedBuffer& pinned) {
  const std::vector<Copy>& copies = crossing_.list.copies;
  const auto range = ThreadPool::share(std::ssize(copies), number, how_.parts);
  std::vector<std::optional<Error>> errors(static_cast<std::size_t>(pool_.threads()));
  TESSERA_CHECK_OK(pool_.run([&](int worker) {
    ThreadPool alone(1);
    const auto mine = ThreadPool::share(range.to - range.from, worker, pool_.threads());
    const std::span boxes =
        std::span(copies).subspan(static_cast<std::size_t>(range.from + mine.from),
                                  static_cast<std::size_t>(mine.to - mine.from));
    for (const Copy& copy : boxes) {
      const BoxMove& move = crossing_.list.moves[copy.move];
      const std::byte* const from = to_device() ? host_.source.data() : pinned.address(copy.source);
      std::byte* const to =
          to_device() ? pinned.address(copy.destination) : host_.destination.data();
      const Status done = move.copy({from, copy.source_slot}, {to, copy.destination_slot}, alone,
                                    how_.is_streaming);
      if (done) continue;
      errors[static_cast<std::size_t>(worker)] = done.error();
      break;
    }
    if (how_.is_streaming) relayout::finish_streaming();
  }));
  for (const std::optional<Error>& error : errors) {
    if (error) return *error;
  }
  return ok_status();
}

}  // namespace tessera::device

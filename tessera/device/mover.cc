// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/mover.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/device/buffer_places.h"
#include "tessera/device/copy_list.h"
#include "tessera/reshard/reshard.h"

namespace tessera::device {
namespace {

using FactsPtr = std::shared_ptr<const BufferFacts>;

Result<FactsPtr> facts_of(const Device& device, BufferId buffer) {
  FactsPtr facts = device.find(buffer);
  if (facts != nullptr) return facts;
  return Error{ErrorCode::kBadBuffer,
               cat("buffer ", static_cast<std::uint32_t>(buffer), " does not exist")};
}

bool is_per_place(const Device& device, const BufferFacts& facts) {
  return device.machine().memory[facts.space].owner == target::MemorySpace::Owner::kPlace;
}

/// What a part says of the memory of a buffer, with the buffer's device map.
Result<Placement> on_buffer(const Placement& part, const BufferFacts& facts,
                            const Placement& whole) {
  if (part.mesh() != whole.mesh() || part.slots() != whole.slots() || part.atom() != whole.atom()) {
    return Error{ErrorCode::kNotSupported,
                 cat("a part of ", facts.name, " has another mesh, size or type than its memory"),
                 std::nullopt, "make it from the layout of the buffer"};
  }
  const View* const view = part.view();
  const Layout* const layout = whole.layout();
  if (view == nullptr || layout == nullptr) return part;
  LayoutSpec spec = layout->spec();
  spec.form = view->form();
  spec.slots = view->slots();
  spec.padding = PaddingValue::undef();
  Result<Layout> mapped = Layout::make(std::move(spec));
  if (mapped) return Placement(*std::move(mapped));
  if (layout->spec().device_map.kind() == DeviceMap::Kind::kIdentity) return part;
  return mapped.error();  // elements share slots: only without a device map
}

/// The placement of a side on the mesh of the reshard.
Result<Placement> side_of(const Device& device, const MoveSide& side, bool per_place) {
  TESSERA_TRY(const FactsPtr facts, facts_of(device, side.buffer));
  const Placement& whole = per_place ? facts->placement : facts->on_parts;
  if (!side.part) return whole;
  return on_buffer(*side.part, *facts, whole);
}

/// What moves, in as many parts as there are threads.
Result<std::vector<CopyList>> lists_of(const reshard::Reshard& reshard,
                                       relayout::PaddingRule padding, ThreadPool* pool) {
  const int parts = pool == nullptr ? 1 : pool->threads();
  std::vector<CopyList> lists(static_cast<std::size_t>(parts));
  std::vector<std::optional<Error>> errors(lists.size());
  const auto list = [&](int number) {
    Result<CopyList> made =
        CopyList::make(reshard, padding, /*most_bytes=*/0, CopyOrder::kAsListed, {number, parts});
    const auto n = static_cast<std::size_t>(number);
    if (made) {
      lists[n] = *std::move(made);
    } else {
      errors[n] = made.error();
    }
  };
  if (pool == nullptr) {
    list(0);
  } else {
    TESSERA_CHECK_OK(pool->run(list));
  }
  for (const std::optional<Error>& error : errors) {
    if (error) return *error;
  }
  std::size_t copies = 0;
  std::size_t fills = 0;
  for (const CopyList& each : lists) {
    copies += each.copies.size();
    fills += each.fills.size();
  }
  if (std::max(copies, fills) > CopyList::kMostBoxes) return CopyList::too_many_boxes();
  return lists;
}

}  // namespace

struct Mover::Body {
  std::vector<CopyList> lists;  ///< parts of one list
  MoveTotals totals;
  MoveSide from;
  MoveSide to;
  Placement from_placement;
  Placement to_placement;
  std::size_t from_space = 0;
  std::size_t to_space = 0;
};

Result<Mover> Mover::make(const Device& device, const MoveSide& from, const MoveSide& to,
                          const MoveOptions& options) {
  TESSERA_TRY(const FactsPtr a, facts_of(device, from.buffer));
  TESSERA_TRY(const FactsPtr b, facts_of(device, to.buffer));
  const bool per_place = is_per_place(device, *a) && is_per_place(device, *b);
  TESSERA_TRY(const reshard::PhysicalMesh physical,
              per_place ? reshard::PhysicalMesh::of(device.machine()) : parts_of(device.machine()));
  TESSERA_TRY(const Placement source, side_of(device, from, per_place));
  TESSERA_TRY(const Placement destination, side_of(device, to, per_place));
  TESSERA_TRY(const reshard::Reshard reshard,
              reshard::Reshard::make(source, destination, physical));
  auto body = std::make_shared<Body>(Body{.lists = {},
                                          .totals = {},
                                          .from = from,
                                          .to = to,
                                          .from_placement = a->placement,
                                          .to_placement = b->placement,
                                          .from_space = a->space,
                                          .to_space = b->space});
  const auto padding = to.part ? relayout::PaddingRule::kLeave : options.padding;
  TESSERA_TRY(body->lists, lists_of(reshard, padding, options.pool));
  std::int64_t crossing = 0;
  std::int64_t local = 0;
  for (const CopyList& list : body->lists) {
    body->totals.messages += list.messages;
    crossing += list.crossing_elements;
    local += list.local_elements;
  }
  body->totals.crossing_bytes = reshard.bytes(crossing);
  body->totals.local_bytes = reshard.bytes(local);
  return Mover(std::move(body));
}

const MoveTotals& Mover::totals() const { return body_->totals; }

namespace {

/// A buffer of a device that has no addresses: each access is asked of the device.
class DistantBuffer final : public PinnedBuffer {
 public:
  DistantBuffer(Device& device, BufferId buffer) : device_(device), buffer_(buffer) {}
  std::byte* address(std::int64_t /*place*/) const override { return nullptr; }
  Result<const std::byte*> input(std::int64_t place, const SlotBox& box) const override {
    return device_.input(buffer_, place, box);
  }
  Result<std::byte*> output(std::int64_t place, const SlotBox& box) override {
    return device_.output(buffer_, place, box);
  }

 private:
  Device& device_;
  const BufferId buffer_;
};

/// One run of a part of a move between two buffers. With `asks` every box is checked, and counts as
/// written; otherwise only the first does, and the others follow from the placements.
class MoveRun {
 public:
  MoveRun(const CopyList& list, const PinnedBuffer& from, PinnedBuffer& to, bool asks)
      : list_(list), from_(from), to_(to), asks_(asks) {}

  Status fill_all(ThreadPool& pool) {
    if (list_.fills.empty()) return ok_status();
    if (!asks_) {
      const SlotFill& first = list_.fills.front();
      TESSERA_CHECK_OK(to_.output(first.place, list_.moves[first.move].destination(first.slot)));
    }
    return on(pool, [&](int worker, std::size_t& at) -> Status {
      const auto mine = whole_places(
          list_.fills, [](const SlotFill& fill) { return fill.place; }, worker, pool.threads());
      at = static_cast<std::size_t>(mine.data() - list_.fills.data());
      for (const SlotFill& each : mine) {
        TESSERA_CHECK_OK(fill(each));
        ++at;
      }
      return ok_status();
    });
  }

  Status copy_all(ThreadPool& pool) {
    if (list_.copies.empty()) return ok_status();
    if (!asks_) {
      const Copy& first = list_.copies.front();
      const BoxMove& move = list_.moves[first.move];
      TESSERA_CHECK_OK(from_.input(first.source, move.source(first.source_slot)));
      TESSERA_CHECK_OK(to_.output(first.destination, move.destination(first.destination_slot)));
    }
    return on(pool, [&](int worker, std::size_t& at) { return share(worker, pool.threads(), at); });
  }

 private:
  Status fill(const SlotFill& fill) {
    const BoxMove& move = list_.moves[fill.move];
    std::byte* shard = nullptr;
    if (asks_) {
      TESSERA_TRY(shard, to_.output(fill.place, move.destination(fill.slot)));
    } else {
      shard = to_.address(fill.place);
    }
    move.fill({shard, fill.slot}, fill.bits);
    return ok_status();
  }

  Status copy(const Copy& copy, ThreadPool& alone) {
    const BoxMove& move = list_.moves[copy.move];
    const std::byte* source = nullptr;
    std::byte* shard = nullptr;
    if (asks_) {
      TESSERA_TRY(source, from_.input(copy.source, move.source(copy.source_slot)));
      TESSERA_TRY(shard, to_.output(copy.destination, move.destination(copy.destination_slot)));
    } else {
      source = from_.address(copy.source);
      shard = to_.address(copy.destination);
    }
    return list_.run(copy, source, shard, alone);
  }

  /// The copies of one worker: a range of them or, where copies may meet in a byte, those of some
  /// destinations, in their order.
  Status share(int worker, int workers, std::size_t& at) {
    ThreadPool alone(1);
    if (list_.is_disjoint()) {
      const auto range = ThreadPool::share(std::ssize(list_.copies), worker, workers);
      const auto end = static_cast<std::size_t>(range.to);
      for (at = static_cast<std::size_t>(range.from); at < end; ++at) {
        TESSERA_CHECK_OK(copy(list_.copies[at], alone));
      }
      return ok_status();
    }
    for (at = 0; at < list_.copies.size(); ++at) {
      const Copy& each = list_.copies[at];
      if (each.destination % workers == worker) TESSERA_CHECK_OK(copy(each, alone));
    }
    return ok_status();
  }

  /// Runs `work(worker, at)`, which keeps in `at` the box it is at, on all workers. The error is
  /// that of the first box that has one, whatever the threads.
  template <typename Work>
  static Status on(ThreadPool& pool, const Work& work) {
    const auto workers = static_cast<std::size_t>(pool.threads());
    std::vector<std::optional<Error>> errors(workers);
    std::vector<std::size_t> where(workers, 0);
    TESSERA_CHECK_OK(pool.run([&](int worker) {
      const auto w = static_cast<std::size_t>(worker);
      std::size_t at = 0;
      if (Status done = work(worker, at); !done) errors[w] = done.error();
      where[w] = at;
    }));
    std::optional<std::size_t> first;
    for (std::size_t w = 0; w < workers; ++w) {
      if (errors[w] && (!first || where[w] < where[*first])) first = w;
    }
    if (first) return *errors[*first];
    return ok_status();
  }

  const CopyList& list_;
  const PinnedBuffer& from_;
  PinnedBuffer& to_;
  const bool asks_;
};

Status run_lists(const std::vector<CopyList>& lists, const PinnedBuffer& from, PinnedBuffer& to,
                 bool asks, ThreadPool& pool) {
  for (const CopyList& list : lists) {
    TESSERA_CHECK_OK(MoveRun(list, from, to, asks).fill_all(pool));
  }
  for (const CopyList& list : lists) {
    TESSERA_CHECK_OK(MoveRun(list, from, to, asks).copy_all(pool));
  }
  return ok_status();
}

Status run_on(Device& device, const std::vector<CopyList>& lists, BufferId from, BufferId to,
              ThreadPool& pool) {
  if (!device.is_addressable()) {
    const DistantBuffer source(device, from);
    DistantBuffer destination(device, to);
    return run_lists(lists, source, destination, true, pool);
  }
  const std::array<BufferId, 2> buffers = {from, to};
  return device.in_place(buffers, [&](std::span<PinnedBuffer* const> pinned) {
    return run_lists(lists, *pinned[0], *pinned[1], device.checked(), pool);
  });
}

}  // namespace

Status Mover::run(Device& device, BufferId from, BufferId to, ThreadPool& pool) const {
  TESSERA_TRY(const FactsPtr a, facts_of(device, from));
  TESSERA_TRY(const FactsPtr b, facts_of(device, to));
  const auto differs = [](const BufferFacts& facts, BufferId id, const MoveSide& side,
                          const Placement& placement, std::size_t space) {
    return facts.space != space || (id != side.buffer && facts.placement != placement);
  };
  if (from == to || differs(*a, from, body_->from, body_->from_placement, body_->from_space) ||
      differs(*b, to, body_->to, body_->to_placement, body_->to_space)) {
    return Error{ErrorCode::kBadBuffer,
                 cat("the move from ", a->name, " to ", b->name, " was made for other buffers"),
                 std::nullopt, "make a move for them"};
  }
  Status moved = run_on(device, body_->lists, from, to, pool);
  if (!moved) TESSERA_CHECK_OK(device.forget(to));
  return moved;
}

}  // namespace tessera::device

// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/mover.h"

#include <optional>
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

}  // namespace

struct Mover::Body {
  CopyList list;
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
  auto body = std::make_shared<Body>(Body{.list = {},
                                          .totals = {},
                                          .from = from,
                                          .to = to,
                                          .from_placement = a->placement,
                                          .to_placement = b->placement,
                                          .from_space = a->space,
                                          .to_space = b->space});
  TESSERA_TRY(body->list,
              CopyList::make(reshard, to.part ? relayout::PaddingRule::kLeave : options.padding));
  body->totals = {.messages = body->list.messages,
                  .crossing_bytes = reshard.bytes(body->list.crossing_elements),
                  .local_bytes = reshard.bytes(body->list.local_elements)};
  return Mover(std::move(body));
}

const MoveTotals& Mover::totals() const { return body_->totals; }

namespace {

/// One run of a move on a device.
class MoveRun {
 public:
  MoveRun(Device& device, const CopyList& list, BufferId from, BufferId to)
      : device_(device), list_(list), from_(from), to_(to) {}

  Status fill(const SlotFill& fill) {
    const BoxMove& move = list_.moves[fill.move];
    TESSERA_TRY(std::byte* const shard,
                device_.output(to_, fill.place, move.destination(fill.slot)));
    move.fill({shard, fill.slot}, fill.bits);
    return ok_status();
  }
  Status copy(const Copy& copy, ThreadPool& alone) {
    const BoxMove& move = list_.moves[copy.move];
    TESSERA_TRY(const std::byte* const source,
                device_.input(from_, copy.source, move.source(copy.source_slot)));
    TESSERA_TRY(std::byte* const shard,
                device_.output(to_, copy.destination, move.destination(copy.destination_slot)));
    return list_.run(copy, source, shard, alone);
  }

  /// The share of one worker: whole destinations, so that no two workers write the same byte.
  /// Returns the index of the copy that failed, with the error.
  Status share(int worker, int workers, std::size_t& at) {
    const auto begin = [&](const auto& boxes, auto place_of) {
      const auto count = static_cast<std::int64_t>(boxes.size());
      const ThreadPool::Range range = ThreadPool::share(count, worker, workers);
      const auto settle = [&](std::int64_t i) {
        while (i > 0 && i < count &&
               place_of(boxes[static_cast<std::size_t>(i)]) ==
                   place_of(boxes[static_cast<std::size_t>(i - 1)])) {
          ++i;
        }
        return static_cast<std::size_t>(i);
      };
      return std::pair(settle(range.from), settle(range.to));
    };
    ThreadPool alone(1);
    if (filling_) {
      const auto [from, to] = begin(list_.fills, [](const SlotFill& fill) { return fill.place; });
      for (at = from; at < to; ++at) TESSERA_CHECK_OK(fill(list_.fills[at]));
      return ok_status();
    }
    const auto [from, to] = begin(list_.copies, [](const Copy& copy) { return copy.destination; });
    for (at = from; at < to; ++at) TESSERA_CHECK_OK(copy(list_.copies[at], alone));
    return ok_status();
  }

  Status all(ThreadPool& pool) {
    for (const bool filling : {true, false}) {
      filling_ = filling;
      if (filling && list_.fills.empty()) continue;
      const auto workers = static_cast<std::size_t>(pool.threads());
      std::vector<std::optional<Error>> errors(workers);
      std::vector<std::size_t> where(workers, 0);
      TESSERA_CHECK_OK(pool.run([&](int worker) {
        const auto w = static_cast<std::size_t>(worker);
        if (Status done = share(worker, pool.threads(), where[w]); !done) errors[w] = done.error();
      }));
      // The shares are in order, so the first error is that of the first box, whatever the threads.
      for (const std::optional<Error>& error : errors) {
        if (error) return *error;
      }
    }
    return ok_status();
  }

 private:
  Device& device_;
  const CopyList& list_;
  const BufferId from_;
  const BufferId to_;
  bool filling_ = false;
};

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
  Status moved = MoveRun(device, body_->list, from, to).all(pool);
  if (!moved) TESSERA_CHECK_OK(device.forget(to));
  return moved;
}

}  // namespace tessera::device

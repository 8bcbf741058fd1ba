// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/crossing.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/device/buffer_places.h"
#include "tessera/device/place_array.h"
#include "tessera/reshard/reshard.h"

namespace tessera::device {
namespace {

/// A place with the slots that it needs, by where it is on the machine.
struct ActivePlace {
  std::int64_t outer = 0;  // all coordinates but the last two
  std::int64_t row = 0;
  std::int64_t col = 0;
  std::int64_t slots = 0;
  bool has_gaps = false;
  CrossingPlace items;
};

bool same_row(const ActivePlace& a, const ActivePlace& b) {
  return a.outer == b.outer && a.row == b.row;
}

/// Places [first, first + cols) of several rows.
struct Rectangle {
  std::vector<std::size_t> rows;  // the index of the first place of each
  std::size_t cols = 0;
};

std::vector<Rectangle> rectangles_of(const std::vector<ActivePlace>& places) {
  std::vector<Rectangle> found;
  using Key = std::tuple<std::int64_t, std::int64_t, std::size_t, std::int64_t>;
  std::map<Key, std::size_t> open;  // by outer, first column, columns, slots
  for (std::size_t from = 0; from < places.size();) {
    std::size_t end = from + 1;
    while (end < places.size() && same_row(places[from], places[end]) &&
           places[end].col == places[end - 1].col + 1 && places[end].slots == places[from].slots) {
      ++end;
    }
    const ActivePlace& active = places[from];
    const auto [entry, is_new] =
        open.try_emplace(Key{active.outer, active.col, end - from, active.slots}, found.size());
    const bool continues =
        !is_new && places[found[entry->second].rows.back()].row + 1 == active.row;
    if (!continues) {
      entry->second = found.size();
      found.push_back({{}, end - from});
    }
    found[entry->second].rows.push_back(from);
    from = end;
  }
  return found;
}

/// The slots of a box on the side of the places.
SlotBox slots_of(const Crossing& crossing, const Copy& copy) {
  const BoxMove& move = crossing.list.moves[copy.move];
  return crossing.direction == Direction::kToDevice ? move.destination(copy.destination_slot)
                                                    : move.source(copy.source_slot);
}
SlotBox slots_of(const Crossing& crossing, const SlotFill& fill) {
  return crossing.list.moves[fill.move].destination(fill.slot);
}

class Chunker {
 public:
  Chunker(Crossing& crossing, const Device& device, const BufferFacts& buffer,
          std::int64_t block_bytes)
      : crossing_(crossing), device_(device), buffer_(buffer), block_bytes_(block_bytes) {}

  Status run() {
    TESSERA_CHECK_OK(find_active_places());
    const std::vector<Rectangle> rectangles = rectangles_of(active_);
    crossing_.rectangles = static_cast<std::int64_t>(rectangles.size());
    for (const Rectangle& rectangle : rectangles) {
      const std::size_t first = crossing_.places.size();
      bool has_gaps = false;
      for (const std::size_t row : rectangle.rows) {
        for (std::size_t c = 0; c < rectangle.cols; ++c) {
          crossing_.places.push_back(active_[row + c].items);
          has_gaps = has_gaps || active_[row + c].has_gaps;
        }
      }
      const std::int64_t slots = active_[rectangle.rows.front()].slots;
      divide(first, rectangle, slots, has_gaps);
    }
    for (const Chunk& chunk : crossing_.chunks) crossing_.wire_bytes += crossing_.bytes(chunk);
    return ok_status();
  }

 private:
  /// One entry for each place that has copies or fills.
  Status find_active_places() {
    const bool to_device = crossing_.direction == Direction::kToDevice;
    const std::vector<Copy>& copies = crossing_.list.copies;
    const std::vector<SlotFill>& fills = crossing_.list.fills;
    const auto place_of = [&](const Copy& copy) {
      return to_device ? copy.destination : copy.source;
    };
    std::size_t c = 0;
    std::size_t f = 0;
    while (c < copies.size() || f < fills.size()) {
      ActivePlace active;
      active.items.place = c == copies.size()  ? fills[f].place
                           : f == fills.size() ? place_of(copies[c])
                                               : std::min(place_of(copies[c]), fills[f].place);
      active.items.first_copy = static_cast<std::uint32_t>(c);
      active.items.first_fill = static_cast<std::uint32_t>(f);
      std::int64_t elements = 0;
      const auto add = [&](const SlotBox& box) {
        std::int64_t low = 0;
        std::int64_t high = 0;
        elements += box.elements();
        if (reach_of(box, low, high)) active.slots = std::max(active.slots, high + 1);
      };
      for (; c < copies.size() && place_of(copies[c]) == active.items.place; ++c) {
        add(slots_of(crossing_, copies[c]));
        ++active.items.copies;
      }
      for (; f < fills.size() && fills[f].place == active.items.place; ++f) {
        add(slots_of(crossing_, fills[f]));
        ++active.items.fills;
      }
      const std::int64_t cell = grain();
      active.slots = std::min(buffer_.placement.slots(), (active.slots + cell - 1) / cell * cell);
      active.has_gaps = elements < active.slots;
      active_.push_back(active);
    }
    return locate();
  }

  /// Slots that begin at bytes of their own.
  std::int64_t grain() const {
    return crossing_.cells.slots > 1 ? crossing_.cells.slots
                                     : std::max<std::int64_t>(1, 8 / crossing_.cells.bits);
  }

  Status locate() {
    const Machine& machine = device_.machine();
    if (machine.memory[buffer_.space].owner != target::MemorySpace::Owner::kPlace) {
      for (ActivePlace& active : active_) active.col = active.items.place;
      return ok_status();
    }
    TESSERA_TRY(const reshard::PhysicalMesh parts, parts_of(machine));
    TESSERA_TRY(const BufferPlaces places, BufferPlaces::make(buffer_.on_parts, parts));
    const Shape mesh = machine.shape();
    const std::int64_t cols = mesh.extents().back();
    const std::int64_t rows = mesh.rank() > 1 ? mesh[mesh.rank() - 2] : 1;
    for (ActivePlace& active : active_) {
      const std::int64_t part = places.part(active.items.place);
      active.col = part % cols;
      active.row = part / cols % rows;
      active.outer = part / cols / rows * places.layers() + places.layer(active.items.place);
    }
    std::sort(active_.begin(), active_.end(), [](const ActivePlace& a, const ActivePlace& b) {
      return std::tie(a.outer, a.row, a.col) < std::tie(b.outer, b.row, b.col);
    });
    return ok_status();
  }

  void divide(std::size_t first, const Rectangle& rectangle, std::int64_t slots, bool has_gaps) {
    Chunk whole{first, 1, 0, slots, has_gaps};
    const std::int64_t each = crossing_.bytes_of_place(whole);
    const std::size_t all = rectangle.rows.size() * rectangle.cols;
    if (each > block_bytes_) {
      for (std::size_t i = 0; i < all; ++i) divide_place(first + i, slots);
      return;
    }
    const auto fit = static_cast<std::size_t>(block_bytes_ / std::max<std::int64_t>(1, each));
    const std::size_t step = fit >= rectangle.cols ? fit / rectangle.cols * rectangle.cols : fit;
    for (std::size_t row = 0; row < all; row += step >= rectangle.cols ? step : rectangle.cols) {
      const std::size_t end = std::min(all, row + std::max(step, rectangle.cols));
      for (std::size_t at = row; at < end; at += step) {
        whole.first = first + at;
        whole.places = std::min(step, end - at);
        crossing_.chunks.push_back(whole);
      }
    }
  }

  /// A range of slots, and what is in it.
  struct Range {
    std::int64_t low = 0;
    std::int64_t high = 0;  // the last slot
    std::int64_t elements = 0;
    std::uint32_t copies = 0;
    std::uint32_t fills = 0;
  };

  /// The slots of one place, divided where no box crosses.
  void divide_place(std::size_t at, std::int64_t slots) {
    const CrossingPlace& items = crossing_.places[at];
    if (crossing_.by_image) {
      const std::int64_t most = std::max<std::int64_t>(1, block_bytes_ * 8 / crossing_.cells.bits) *
                                crossing_.cells.slots / grain() * grain();
      for (std::int64_t slot = 0; slot < slots; slot += most) {
        crossing_.chunks.push_back({at, 1, slot, std::min(most, slots - slot), false});
      }
      return;
    }
    std::vector<Range> ranges = ranges_of(items);
    CrossingPlace part = items;
    for (std::size_t i = 0; i < ranges.size();) {
      Range joined = ranges[i];
      std::size_t end = i + 1;
      const auto bytes = [&](std::int64_t high) {
        return (high + 1 - joined.low) * (crossing_.words ? 4 : crossing_.cells.bits / 8);
      };
      for (; end < ranges.size() && bytes(ranges[end].high) <= block_bytes_; ++end) {
        joined.high = ranges[end].high;
        joined.elements += ranges[end].elements;
        joined.copies += ranges[end].copies;
        joined.fills += ranges[end].fills;
      }
      part.copies = joined.copies;
      part.fills = joined.fills;
      const std::int64_t count = joined.high + 1 - joined.low;
      crossing_.chunks.push_back({at, 1, joined.low, count, joined.elements < count, part});
      part.first_copy += joined.copies;
      part.first_fill += joined.fills;
      i = end;
    }
  }

  /// Sorts the boxes of a place by their first slot, and joins those that overlap.
  std::vector<Range> ranges_of(const CrossingPlace& items) {
    std::vector<Range> ranges;
    const auto add = [&](auto& boxes, std::uint32_t first, std::uint32_t count, auto field) {
      const auto begin = boxes.begin() + first;
      const auto low_of = [&](const auto& box) {
        std::int64_t low = 0;
        std::int64_t high = 0;
        reach_of(slots_of(crossing_, box), low, high);
        return std::pair(low, high);
      };
      std::sort(begin, begin + count,
                [&](const auto& x, const auto& y) { return low_of(x) < low_of(y); });
      for (auto box = begin; box != begin + count; ++box) {
        const auto [low, high] = low_of(*box);
        Range range{low, high, slots_of(crossing_, *box).elements(), 0, 0};
        range.*field = 1;
        ranges.push_back(range);
      }
    };
    add(crossing_.list.copies, items.first_copy, items.copies, &Range::copies);
    add(crossing_.list.fills, items.first_fill, items.fills, &Range::fills);
    std::sort(ranges.begin(), ranges.end(),
              [](const Range& x, const Range& y) { return x.low < y.low; });
    std::size_t kept = 0;
    for (const Range& range : ranges) {
      if (kept > 0 && range.low <= ranges[kept - 1].high) {
        Range& last = ranges[kept - 1];
        last.high = std::max(last.high, range.high);
        last.elements += range.elements;
        last.copies += range.copies;
        last.fills += range.fills;
      } else {
        ranges[kept++] = range;
      }
    }
    ranges.resize(kept);
    return ranges;
  }

  Crossing& crossing_;
  const Device& device_;
  const BufferFacts& buffer_;
  const std::int64_t block_bytes_;
  std::vector<ActivePlace> active_;
};

/// The tiles of block floats that hold elements, as fills: runs of tiles of each place.
Result<CopyList> tile_list(const Placement& placement, const reshard::PhysicalMesh& parts,
                           const Cells& cells) {
  // The same positions with elements of one byte, which have addresses.
  TESSERA_TRY(const Placement bytes, with_changed_layouts(placement, [](LayoutSpec& spec) {
                spec.dtype = DType::kU8;
                spec.atom = Atom::scalar(DType::kU8);
                spec.padding = PaddingValue::undef();
              }));
  TESSERA_TRY(const Layout host, Layout::row_major(placement.shape(), DType::kU8));
  TESSERA_TRY(const reshard::Reshard reshard, reshard::Reshard::make(host, bytes, parts));
  TESSERA_TRY(const CopyList elements, CopyList::make(reshard, relayout::PaddingRule::kLeave));
  CopyList list;
  std::map<std::int64_t, std::uint32_t> runs;  // the move of so many tiles
  std::vector<std::int64_t> tiles;
  for (std::size_t c = 0; c < elements.copies.size();) {
    const std::int64_t place = elements.copies[c].destination;
    tiles.clear();
    for (; c < elements.copies.size() && elements.copies[c].destination == place; ++c) {
      const Copy& copy = elements.copies[c];
      for_each_run(elements.moves[copy.move].destination(copy.destination_slot),
                   [&](std::int64_t first, std::int64_t slots) {
                     const std::int64_t last = (first + slots - 1) / cells.slots;
                     for (std::int64_t t = first / cells.slots; t <= last; ++t) {
                       if (tiles.empty() || tiles.back() != t) tiles.push_back(t);
                     }
                     return true;
                   });
    }
    std::sort(tiles.begin(), tiles.end());
    tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
    for (std::size_t from = 0; from < tiles.size();) {
      std::size_t end = from + 1;
      while (end < tiles.size() && tiles[end] == tiles[end - 1] + 1) ++end;
      const std::int64_t slots = static_cast<std::int64_t>(end - from) * cells.slots;
      const auto [entry, is_new] =
          runs.try_emplace(slots, static_cast<std::uint32_t>(list.moves.size()));
      if (is_new) {
        const reshard::BoxLoop all{slots, 1, 1};
        TESSERA_TRY(BoxMove move, BoxMove::make({&all, 1}, placement.atom()));
        list.moves.push_back(std::move(move));
      }
      list.fills.push_back({place, tiles[from] * cells.slots, entry->second, 0});
      from = end;
    }
  }
  return list;
}

bool has_shares(const Placement& placement) {
  for (const FormPiece& piece : form_pieces(placement)) {
    for (const Fill& fill : piece.form->fills) {
      if (fill.kind == Fill::Kind::kPartial && fill.count > 1) return true;
    }
  }
  return false;
}

}  // namespace

Result<Layout> host_layout(const Placement& placement) {
  const DType dtype = is_block_float(placement.dtype()) ? DType::kF32 : placement.dtype();
  return Layout::row_major(placement.shape(), dtype);
}

Result<Crossing> Crossing::make(const Device& device, const BufferFacts& buffer,
                                Direction direction, bool words, std::int64_t block_bytes,
                                relayout::Rounding rounding) {
  const Placement& placement = buffer.on_parts;
  const bool to_device = direction == Direction::kToDevice;
  TESSERA_TRY(const Layout host, host_layout(placement));
  Crossing made;
  made.direction = direction;
  made.cells = Cells::of(placement.atom());
  made.words = words && made.cells.bits == 16;
  made.host_bytes = host.shard_bytes();
  const bool casts = host.atom().storage != placement.atom().storage;
  const bool combines = !to_device && has_shares(placement);
  made.by_image = casts || combines || made.cells.bits < 8;
  if (made.by_image) made.image = relayout::Memory::of(placement);
  if (made.by_image && !combines) {
    TESSERA_TRY(relayout::Program program, to_device ? relayout::make_program(host, placement)
                                                     : relayout::make_program(placement, host));
    TESSERA_TRY(made.plan, relayout::Plan::make(std::move(program), {.rounding = rounding}));
  }

  // The boxes of elements, in the type that they have on the device.
  const bool tiles = made.cells.slots > 1;
  LayoutSpec spec = host.spec();
  spec.dtype = tiles ? host.dtype() : placement.dtype();
  spec.atom = Atom::scalar(tiles ? host.dtype() : placement.atom().storage);
  TESSERA_TRY(const Layout same_type, Layout::make(std::move(spec)));
  TESSERA_TRY(reshard::PhysicalMesh parts, parts_of(device.machine()));
  parts.dead.clear();  // the buffer is on none of them
  const auto rule = to_device ? relayout::PaddingRule::kPromised : relayout::PaddingRule::kLeave;
  if (tiles) {
    TESSERA_TRY(made.list, tile_list(placement, parts, made.cells));
  } else {
    // A plan reads any of the copies that places keep, so an image has all of them.
    const bool onto_places = to_device || made.plan.has_value();
    TESSERA_TRY(const reshard::Reshard reshard,
                onto_places ? reshard::Reshard::make(same_type, placement, parts)
                            : reshard::Reshard::make(placement, same_type, parts));
    TESSERA_TRY(made.list, CopyList::make(reshard, rule, made.by_image ? 0 : block_bytes / 4));
    if (combines) made.in_order = made.list.copies;
    if (!onto_places) made.list.sort_by_source();
    if (!to_device && onto_places) {
      for (const Copy& copy : made.list.copies) {
        made.list.fills.push_back({copy.destination, copy.destination_slot, copy.move, 0});
      }
      made.list.copies.clear();
    }
  }
  TESSERA_CHECK_OK(Chunker(made, device, buffer, block_bytes).run());
  return made;
}

Status Crossing::add_in_place(Device& device, BufferId buffer, std::int64_t part_bytes) {
  // What is more than most caches hold is written around them, as plans do.
  constexpr std::int64_t kStreamed = std::int64_t{1} << 24;
  constexpr std::int64_t kMostParts = 4096;
  const std::shared_ptr<const BufferFacts> facts = device.find(buffer);
  if (facts == nullptr) {
    return Error{ErrorCode::kBadBuffer,
                 cat("buffer ", static_cast<std::uint32_t>(buffer), " does not exist")};
  }
  const Placement& placement = facts->placement;
  TESSERA_TRY(const Layout host, host_layout(placement));
  const bool to_device = direction == Direction::kToDevice;
  InPlace made;
  made.parts =
      static_cast<int>(std::clamp<std::int64_t>(ceil_div(host_bytes, part_bytes), 1, kMostParts));
  made.is_streaming = host_bytes >= kStreamed;
  const std::array<BufferId, 1> buffers = {buffer};
  std::optional<PlaceArray> array;
  TESSERA_CHECK_OK(device.in_place(buffers, [&](std::span<PinnedBuffer* const> pinned) {
    array = PlaceArray::find(*pinned.front(), placement);
    return ok_status();
  }));
  if (array) {
    // What no program can move, such as partial sums, is moved box by box.
    Result<relayout::Program> program = to_device ? array->from_host(host) : array->to_host(host);
    if (program) {
      Result<relayout::Plan> found = relayout::Plan::make(*std::move(program));
      if (found) made.plan = *std::move(found);
    }
  }
  in_place = std::move(made);
  return ok_status();
}

}  // namespace tessera::device

// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/copy_list.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "tessera/base/sort_stably.h"
#include "tessera/base/text.h"
#include "tessera/relayout/verify.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/transfers.h"

namespace tessera::device {
namespace {

/// Makes a CopyList from transfers and fills.
class CopyLister {
 public:
  CopyLister(const Atom& atom, std::int64_t most_slots, CopyList& list)
      : atom_(atom), most_slots_(most_slots), list_(list) {}

  /// The move of boxes with these loops. Few forms alternate, so most are found at once.
  Result<std::uint32_t> move_of(std::span<const reshard::BoxLoop> loops) {
    std::uint64_t hash = loops.size();
    for (const reshard::BoxLoop& loop : loops) {
      for (const std::int64_t number : {loop.extent, loop.source_stride, loop.destination_stride}) {
        hash = (hash ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
      }
    }
    std::uint32_t& recent = recent_[hash >> (64 - kRecentBits)];
    if (recent < forms_.size() && std::ranges::equal(loops, forms_[recent])) return recent;
    std::vector<std::int64_t> key;
    for (const reshard::BoxLoop& loop : loops) {
      key.insert(key.end(), {loop.extent, loop.source_stride, loop.destination_stride});
    }
    const auto [entry, is_new] =
        known_.try_emplace(std::move(key), static_cast<std::uint32_t>(list_.moves.size()));
    if (is_new) {
      TESSERA_TRY(BoxMove move, BoxMove::make(loops, atom_));
      list_.moves.push_back(std::move(move));
      forms_.emplace_back(loops.begin(), loops.end());
    }
    recent = entry->second;
    return recent;
  }

  Status add(const reshard::Transfer& transfer) {
    Copy copy{transfer.source_virtual,
              transfer.destination_virtual,
              transfer.source_slot,
              transfer.destination_slot,
              0,
              static_cast<std::uint32_t>(transfer.share),
              transfer.share > 0 && transfer.combines};
    if (most_slots_ == 0) return add(copy, transfer.loops);
    return divide(copy, BoxMove::sorted(transfer.loops), 0);
  }

  Status add_fill(std::int64_t place, std::int64_t slot, std::span<const reshard::BoxLoop> loops,
                  std::uint64_t bits) {
    if (list_.fills.size() >= CopyList::kMostBoxes) return CopyList::too_many_boxes();
    TESSERA_TRY(const std::uint32_t move, move_of(loops));
    list_.fills.push_back({place, slot, move, bits});
    return ok_status();
  }

 private:
  Status add(Copy copy, std::span<const reshard::BoxLoop> loops) {
    if (list_.copies.size() >= CopyList::kMostBoxes) return CopyList::too_many_boxes();
    TESSERA_TRY(copy.move, move_of(loops));
    list_.copies.push_back(copy);
    return ok_status();
  }

  /// Divides a box along its loops with the largest steps. Of block floats, runs are divided
  /// between tiles.
  Status divide(const Copy& copy, std::vector<reshard::BoxLoop> loops, std::size_t at) {
    std::int64_t reach = 1;
    std::int64_t below = 1;
    for (std::size_t i = loops.size(); i-- > at;) {
      below = reach;
      reach += (loops[i].extent - 1) * std::abs(loops[i].destination_stride);
    }
    if (reach <= most_slots_ || at == loops.size()) return add(copy, loops);
    const reshard::BoxLoop loop = loops[at];
    const std::int64_t cell = at + 1 == loops.size() ? Cells::of(atom_).slots : 1;
    const std::int64_t step = std::max<std::int64_t>(1, std::abs(loop.destination_stride));
    std::int64_t steps = below >= most_slots_ ? 1 : (most_slots_ - below) / step + 1;
    steps = std::max(cell, steps / cell * cell);
    for (std::int64_t first = 0; first < loop.extent; first += steps) {
      Copy part = copy;
      part.source_slot += first * loop.source_stride;
      part.destination_slot += first * loop.destination_stride;
      loops[at].extent = std::min(steps, loop.extent - first);
      TESSERA_CHECK_OK(divide(part, loops, at + 1));
    }
    return ok_status();
  }

  const Atom atom_;
  const std::int64_t most_slots_;
  CopyList& list_;
  static constexpr int kRecentBits = 8;
  std::map<std::vector<std::int64_t>, std::uint32_t> known_;
  std::vector<std::vector<reshard::BoxLoop>> forms_;  // of the list's moves
  std::array<std::uint32_t, std::size_t{1} << kRecentBits> recent_ = {};
};

/// The padding of every place, as boxes.
Status add_padding(const Placement& to, relayout::PaddingRule rule, CopyLister& lister) {
  const relayout::Program program = relayout::padding_program(to, rule);
  if (program.fills.empty()) return ok_status();
  const std::optional<std::uint64_t> bits =
      relayout::bits_of_number(program.padding, to.atom().storage);
  if (!bits) {
    return Error{ErrorCode::kNotSupported, "padding of block floats cannot be written alone",
                 std::nullopt, "leave the padding undefined"};
  }
  for (const relayout::FillNest& nest : program.fills) {
    std::vector<relayout::FillLoop> places;
    std::vector<reshard::BoxLoop> inside;
    bool empty = false;
    for (const relayout::FillLoop& loop : nest.loops) {
      empty = empty || loop.extent == 0;
      if (loop.step.place != 0) {
        places.push_back(loop);
      } else {
        inside.push_back({loop.extent, 0, loop.step.slot});
      }
    }
    if (empty) continue;
    const std::vector<reshard::BoxLoop> box = BoxMove::sorted(inside);
    const auto walk = [&](const auto& self, std::size_t at, Position position) -> Status {
      if (at == places.size()) {
        return lister.add_fill(position.place, position.slot, box, *bits);
      }
      for (std::int64_t i = 0; i < places[at].extent; ++i) {
        TESSERA_CHECK_OK(self(self, at + 1, position + places[at].step * i));
      }
      return ok_status();
    };
    TESSERA_CHECK_OK(walk(walk, 0, nest.at));
  }
  return ok_status();
}

/// The places of the other shares of B, relative to share 0.
std::vector<std::int64_t> other_shares(const Form& b) {
  std::vector<std::int64_t> offsets = {0};
  const std::vector<std::int64_t> strides = b.mesh.row_major_strides();
  for (const Fill& fill : b.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count == 1) continue;
    std::vector<std::int64_t> more;
    for (const std::int64_t offset : offsets) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        more.push_back(offset + i * fill.stride * strides[static_cast<std::size_t>(fill.axis)]);
      }
    }
    offsets = std::move(more);
  }
  offsets.erase(offsets.begin());
  return offsets;
}

/// How shares that do not go to shares like them are combined, and what the others start as.
struct ShareRule {
  std::optional<relayout::Combiner> combiner;
  std::optional<std::uint64_t> neutral;
  std::vector<std::int64_t> others;
};

Result<ShareRule> share_rule_of(const reshard::ReshardPart& part, DType storage) {
  ShareRule rule;
  if (part.shares.alike) return rule;
  if (part.shares.reduces()) {
    TESSERA_TRY(rule.combiner, relayout::combiner_of(part.shares.reduction, storage));
  }
  rule.others = other_shares(part.b);
  for (const Fill& fill : part.b.fills) {
    if (fill.kind != Fill::Kind::kPartial || fill.count == 1) continue;
    TESSERA_TRY(const relayout::Combiner combiner, relayout::combiner_of(fill.reduction, storage));
    if (rule.neutral && *rule.neutral != combiner.neutral) {
      return Error{ErrorCode::kNotSupported, "partial results of several reductions", std::nullopt,
                   "use one kind of reduction"};
    }
    rule.neutral = combiner.neutral;
  }
  return rule;
}

Result<ShareRule> share_rule(const reshard::Reshard& reshard) {
  ShareRule rule;
  bool is_first = true;
  for (const reshard::ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(ShareRule own, share_rule_of(part, reshard.to().atom().storage));
    // Transfers do not say which part they belong to, so the parts must agree.
    const bool other_sum =
        rule.combiner && own.combiner && rule.combiner->combine != own.combiner->combine;
    const bool other_shares = rule.others != own.others || rule.neutral != own.neutral;
    if (other_sum || (!is_first && other_shares)) {
      return Error{ErrorCode::kNotSupported, "pieces have partial results of different kinds",
                   std::nullopt, "reduce them first"};
    }
    is_first = false;
    if (!own.combiner) own.combiner = rule.combiner;
    rule = std::move(own);
  }
  return rule;
}

}  // namespace

namespace {

/// By destination and share, or by share alone, and else as they were.
void sort_copies(std::vector<Copy>& copies, CopyOrder order) {
  const auto key = [order](const Copy& copy) {
    return std::pair(order == CopyOrder::kByDestination ? copy.destination : std::int64_t{0},
                     copy.share);
  };
  const auto before = [&](const Copy& x, const Copy& y) { return key(x) < key(y); };
  if (!std::is_sorted(copies.begin(), copies.end(), before)) sort_stably(copies, before);
}

}  // namespace

Result<CopyList> CopyList::make(const reshard::Reshard& reshard, relayout::PaddingRule padding,
                                std::int64_t most_bytes, CopyOrder order,
                                const reshard::TransferPart& part) {
  CopyList list;
  const Atom& atom = reshard.to().atom();
  const Cells cells = Cells::of(atom);
  list.cells_are_bytes = cells.are_bytes();
  const std::int64_t most_slots =
      most_bytes == 0 ? 0 : std::max<std::int64_t>(1, most_bytes * 8 / cells.bits) * cells.slots;
  CopyLister lister(atom, most_slots, list);
  TESSERA_TRY(const ShareRule shares, share_rule(reshard));
  if (shares.combiner) list.combiner = *shares.combiner;
  if (part.number == 0) TESSERA_CHECK_OK(add_padding(reshard.to(), padding, lister));
  const auto add = [&](const reshard::Transfer& transfer) -> Status {
    TESSERA_CHECK_OK(lister.add(transfer));
    (transfer.is_local() ? list.local_elements : list.crossing_elements) += transfer.elements;
    if (!transfer.is_local() && transfer.begins_pair) ++list.messages;
    if (transfer.share > 0) return ok_status();
    for (const std::int64_t other : shares.others) {
      TESSERA_CHECK_OK(lister.add_fill(transfer.destination_virtual + other,
                                       transfer.destination_slot, transfer.loops, *shares.neutral));
    }
    return ok_status();
  };
  const Status listed = reshard::for_each_transfer_of(reshard, part, add);
  if (!listed) return listed.error();
  sort_stably(list.fills, [](const SlotFill& x, const SlotFill& y) { return x.place < y.place; });
  if (order == CopyOrder::kByDestination || shares.combiner) sort_copies(list.copies, order);
  return list;
}

Error CopyList::too_many_boxes() {
  return Error{ErrorCode::kTooLarge, cat("the move consists of more than ", kMostBoxes, " boxes"),
               std::nullopt, "use layouts whose shards are in larger pieces"};
}

void CopyList::sort_by_source() {
  sort_stably(copies, [](const Copy& x, const Copy& y) { return x.source < y.source; });
}

Status CopyList::run(const Copy& copy, const std::byte* source, std::byte* destination,
                     ThreadPool& pool) const {
  const BoxMove& move = moves[copy.move];
  if (!copy.combines) {
    return move.copy({source, copy.source_slot}, {destination, copy.destination_slot}, pool);
  }
  move.combine({source, copy.source_slot}, {destination, copy.destination_slot}, combiner);
  return ok_status();
}

}  // namespace tessera::device

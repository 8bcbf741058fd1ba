// SPDX-License-Identifier: Apache-2.0
#include "tessera/reshard/relabel.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/reshard/part.h"
#include "tessera/reshard/relabelling/overlap.h"
#include "tessera/reshard/relabelling/relabel_choice.h"
#include "tessera/reshard/reshard.h"

namespace tessera::reshard {
namespace {

constexpr std::int64_t kMaxPlaces = std::int64_t{1} << 22;

bool is_stacked(const DeviceMap& map) {
  for (const Fold& fold : map.folds()) {
    for (const Cut& cut : fold.cuts) {
      if (cut.target.is_memory() && cut.count > 1) return true;
    }
  }
  return false;
}

Error not_supported(std::string message, std::string help) {
  return Error{ErrorCode::kNotSupported, std::move(message), std::nullopt, std::move(help)};
}

/// B with a new device map.
Result<Placement> with_map(const Placement& to, const DeviceMap& map) {
  if (const Layout* layout = to.layout()) {
    LayoutSpec spec = layout->spec();
    spec.device_map = map;
    TESSERA_TRY(Layout made, Layout::make(std::move(spec)));
    return Placement(std::move(made));
  }
  if (const View* view = to.view()) {
    LayoutSpec spec;
    spec.form = view->form();
    spec.dtype = view->dtype();
    spec.atom = view->atom();
    spec.device_map = map;
    spec.slots = view->slots();
    Result<Layout> made = Layout::make(std::move(spec));
    if (!made) {
      return not_supported(
          cat("B is a view, which has no device map and is not a layout: ", made.error().message),
          "relabel the layout that the view is based on");
    }
    return Placement(*std::move(made));
  }
  std::vector<LayoutPiece> pieces;
  for (const LayoutPiece& piece : to.pieces()->pieces()) {
    LayoutSpec spec = piece.layout.spec();
    spec.device_map = map;
    TESSERA_TRY(Layout made, Layout::make(std::move(spec)));
    pieces.push_back({piece.box, std::move(made)});
  }
  TESSERA_TRY(Piecewise made, Piecewise::by_rule(to.shape(), std::move(pieces)));
  return Placement(std::move(made));
}

/// Requires that B has one device map, and one virtual place for each physical one.
Status check_movable(const Placement& to) {
  const DeviceMap* first = nullptr;
  for (const FormPiece& piece : form_pieces(to)) {
    if (piece.device_map == nullptr) continue;
    if (is_stacked(*piece.device_map)) {
      return not_supported("B's device map stacks several virtual places on one physical place",
                           "relabel layouts whose places are not stacked");
    }
    if (first != nullptr && !(*first == *piece.device_map)) {
      return not_supported("the pieces of B have different device maps",
                           "relabel placements whose pieces share one");
    }
    first = piece.device_map;
  }
  return ok_status();
}

Result<std::int64_t> wanted_in_all(const std::vector<Overlap>& overlaps) {
  Checked wanted = 0;
  for (const Overlap& overlap : overlaps) {
    Checked here = 1;
    for (const OverlapFactor& factor : overlap.factors) {
      Checked sum = 0;
      for (const VirtualFlow& entry : factor) sum += entry.elements;
      here *= sum;
    }
    wanted += here;
  }
  return wanted.value("the elements that B holds");
}

/// Elements in bytes. Elements that are not whole bytes round up once per message, so the messages
/// are counted. If rounding cancels the savings, B stays unchanged.
Status count_bytes(const Reshard& reshard, Relabelled& answer) {
  if (reshard.byte_rate().denominator == 1) {
    answer.bytes_before = reshard.bytes(answer.elements_before);
    answer.bytes_after = reshard.bytes(answer.elements_after);
    return ok_status();
  }
  TESSERA_TRY(const ReshardCost before, cost_of(reshard));
  answer.bytes_before = answer.bytes_after = before.bytes;
  if (!answer.changed) return ok_status();
  TESSERA_TRY(const Reshard moved, Reshard::make(reshard.from(), answer.to, reshard.physical()));
  TESSERA_TRY(const ReshardCost after, cost_of(moved));
  if (after.bytes <= before.bytes) {
    answer.bytes_after = after.bytes;
    return ok_status();
  }
  answer.to = reshard.to();
  answer.changed = false;
  answer.optimal = false;
  answer.elements_after = answer.elements_before;
  return ok_status();
}

}  // namespace

Result<Relabelled> relabel(const Reshard& reshard, Seats seats) {
  TESSERA_CHECK_OK(check_movable(reshard.to()));
  Relabelled answer{.to = reshard.to()};
  answer.optimal = true;
  if (reshard.parts().empty()) return answer;
  const PhysicalMesh& physical = reshard.physical();
  const ReshardPart& first = reshard.parts().front();
  std::vector<Overlap> overlaps;
  for (const ReshardPart& part : reshard.parts()) {
    TESSERA_TRY(Overlap overlap, overlap_of(part));
    overlaps.push_back(std::move(overlap));
  }
  TESSERA_TRY(const std::int64_t wanted, wanted_in_all(overlaps));

  std::optional<std::int64_t> kept;  // with the original B
  std::optional<Choice> best;
  const std::optional<AxisSeats> own = axis_seats(first.map_b, physical);
  if (own && overlaps.size() == 1) {
    if (const auto product = product_overlap(first, overlaps.front(), physical, std::nullopt)) {
      kept = kept_by_axis(*product, *own);
      TESSERA_TRY(best, choose_by_axis(*product, *own, first.map_b.mesh(), physical, seats));
    }
  }
  if (!kept || !best || !best->optimal) {
    const std::optional<OverlapPairs> pairs = first.map_b.mesh().elements() <= kMaxPlaces
                                                  ? list_overlaps(reshard, overlaps)
                                                  : std::nullopt;
    if (pairs) {
      kept = kept_by_place(*pairs, first.map_b);
      TESSERA_TRY(Choice choice, choose_by_place(*pairs, first.map_b, physical, seats));
      if (!best || choice.kept > best->kept) {
        best = std::move(choice);
      } else {
        best->optimal = choice.optimal;
      }
    } else if (!kept) {
      return Error{ErrorCode::kTooLarge,
                   cat("more than ", kMaxListedOverlaps,
                       " pairs of places share elements, and they are not a product of rows and "
                       "columns"),
                   std::nullopt, "relabel layouts of fewer places, or with a dim for each axis"};
    }
  }
  // If rows and columns cannot be exchanged on these seats and there are too many places to list, B
  // stays unchanged.
  answer.optimal = best && best->optimal;
  answer.elements_before = wanted - *kept;
  answer.elements_after = wanted - (best ? std::max(*kept, best->kept) : *kept);
  if (best && best->kept > *kept) {
    TESSERA_TRY(answer.to, with_map(reshard.to(), best->map));
    answer.changed = true;
  }
  TESSERA_CHECK_OK(count_bytes(reshard, answer));
  return answer;
}

}  // namespace tessera::reshard

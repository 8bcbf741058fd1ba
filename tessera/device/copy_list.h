// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/device/box_move.h"
#include "tessera/layout/layout.h"
#include "tessera/relayout/jobs/combine.h"
#include "tessera/relayout/program.h"
#include "tessera/reshard/reshard.h"
#include "tessera/reshard/transfer_parts.h"

namespace tessera::device {

/// A box that moves between two places, by their numbers on the meshes of the two placements.
struct Copy {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  std::int64_t source_slot = 0;
  std::int64_t destination_slot = 0;
  std::uint32_t move = 0;   ///< one of CopyList::moves
  std::uint32_t share = 0;  ///< of the source
  bool combines = false;    ///< with what shares before it have left there
};

/// Slots of one place that get a value without reading any.
struct SlotFill {
  std::int64_t place = 0;
  std::int64_t slot = 0;
  std::uint32_t move = 0;
  std::uint64_t bits = 0;
};

/// What a worker of several does of boxes that are listed by place: whole places.
template <typename Box, typename PlaceOf>
std::span<const Box> whole_places(const std::vector<Box>& boxes, const PlaceOf& place_of,
                                  int worker, int workers) {
  const auto count = static_cast<std::int64_t>(boxes.size());
  const auto settle = [&](std::int64_t at) {
    auto i = static_cast<std::size_t>(at);
    while (i > 0 && i < boxes.size() && place_of(boxes[i]) == place_of(boxes[i - 1])) ++i;
    return i;
  };
  const ThreadPool::Range range = ThreadPool::share(count, worker, workers);
  const std::size_t from = settle(range.from);
  return std::span(boxes).subspan(from, settle(range.to) - from);
}

/// The order of the copies of a list.
enum class CopyOrder : std::uint8_t {
  /// By destination; those of one destination in the order of the shares.
  kByDestination,
  /// As the reshard lists them, which is quicker; where any combine, in the order of the shares.
  kAsListed,
};

/// Everything that a reshard does, as boxes: first the fills (padding, and the neutral elements of
/// partial sums that get no value), then the copies. Boxes of the same form share a BoxMove.
///
/// Law: carrying out all fills and then all copies in order gives the destination of the reshard.
/// Those of different destinations may be carried out in any order.
struct CopyList {
  std::vector<SlotFill> fills;  ///< by place
  /// In the order that was asked for. Or by source, where the destination is a single place and
  /// nothing is combined.
  std::vector<Copy> copies;
  std::vector<BoxMove> moves;
  relayout::Combiner combiner;  ///< of copies that combine
  bool cells_are_bytes = true;

  /// The most fills, and the most copies, of a list and of all its parts together.
  static constexpr std::size_t kMostBoxes = std::size_t{1} << 23;
  static Error too_many_boxes();
  std::int64_t messages = 0;  ///< ordered pairs of different physical places
  std::int64_t crossing_elements = 0;
  std::int64_t local_elements = 0;

  /// `most_bytes`: boxes are divided, where that is possible, until each reaches at most so many
  /// bytes of the destination (0: never). `part`: only some of the copies. All parts are carried
  /// out as one list is: first the fills of all of them in their order, then the copies. Errors:
  /// those of for_each_transfer and BoxMove; kNotSupported for reductions that combine.h does not
  /// have, and for padding of block floats; kTooLarge for more than 2^23 boxes.
  static Result<CopyList> make(const reshard::Reshard& reshard, relayout::PaddingRule padding,
                               std::int64_t most_bytes = 0,
                               CopyOrder order = CopyOrder::kByDestination,
                               const reshard::TransferPart& part = {});

  /// Whether no two copies write the same byte, so that any number of them may run at a time.
  bool is_disjoint() const { return cells_are_bytes && combiner.combine == nullptr; }

  /// Sorts by source instead of by destination.
  void sort_by_source();

  /// One copy between the memories of its places.
  Status run(const Copy& copy, const std::byte* source, std::byte* destination,
             ThreadPool& pool) const;
};

}  // namespace tessera::device

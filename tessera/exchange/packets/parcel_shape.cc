// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/packets/parcel_shape.h"

#include <algorithm>
#include <utility>

#include "tessera/exchange/fingerprint.h"

namespace tessera::exchange {
namespace {

std::span<const reshard::BoxLoop> loops_of(const reshard::FlowFactor& factor,
                                           const reshard::Segment& segment) {
  return std::span(factor.loops).subspan(segment.first_loop, segment.loop_count);
}

/// The number of innermost loops that all segments of a group share.
std::size_t common_loops(const reshard::FlowFactor& factor,
                         std::span<const reshard::Segment> segments) {
  const std::span<const reshard::BoxLoop> first = loops_of(factor, segments.front());
  std::size_t common = first.size();
  for (const reshard::Segment& segment : segments.subspan(1)) {
    const std::span<const reshard::BoxLoop> loops = loops_of(factor, segment);
    std::size_t same = 0;
    while (same < std::min(common, loops.size()) &&
           loops[loops.size() - 1 - same] == first[first.size() - 1 - same]) {
      ++same;
    }
    common = same;
  }
  return common;
}

bool is_run(const AxisPiece& piece) {
  return !piece.loops.empty() && piece.loops.back().source_stride == 1 &&
         piece.loops.back().destination_stride == 1;
}

/// Lists runs that repeat with a period one by one in the order of B. Leaves an axis unchanged if
/// it has none, or too many, or if its runs are so short that loops move them better.
void line_up_runs(ParcelAxis& axis, std::int64_t element_bytes) {
  constexpr std::int64_t kMostRuns = std::int64_t{1} << 13;
  constexpr std::int64_t kShortBytes = 16;
  std::int64_t runs = 0;
  bool periods = false;
  for (const AxisPiece& piece : axis.pieces) {
    const std::int64_t length = is_run(piece) ? piece.loops.back().extent : 1;
    if (length * element_bytes < kShortBytes && piece.steps > length) return;
    runs += piece.steps / length;
    periods = periods || piece.steps > length;
  }
  if (!periods || runs > kMostRuns) return;
  std::vector<AxisPiece> lined;
  lined.reserve(static_cast<std::size_t>(runs));
  for (const AxisPiece& piece : axis.pieces) {
    AxisPiece run{piece.source, piece.destination, {}, 1};
    if (is_run(piece)) {
      run.loops = {piece.loops.back()};
      run.steps = piece.loops.back().extent;
    }
    const std::size_t repeated = piece.loops.size() - run.loops.size();
    std::vector<std::int64_t> digits(repeated, 0);
    for (bool more = true; more;) {
      lined.push_back(run);
      more = false;
      for (std::size_t i = repeated; i-- > 0 && !more;) {
        const reshard::BoxLoop& loop = piece.loops[i];
        run.source += loop.source_stride;
        run.destination += loop.destination_stride;
        more = ++digits[i] < loop.extent;
        if (more) break;
        run.source -= loop.extent * loop.source_stride;
        run.destination -= loop.extent * loop.destination_stride;
        digits[i] = 0;
      }
    }
  }
  std::sort(lined.begin(), lined.end(), [](const AxisPiece& x, const AxisPiece& y) {
    return x.destination != y.destination ? x.destination < y.destination : x.source < y.source;
  });
  axis.pieces = std::move(lined);
}

AxisReach reach_of(const ParcelAxis& axis, std::int64_t AxisPiece::* at,
                   std::int64_t reshard::BoxLoop::* stride) {
  AxisReach reach{INT64_MAX, INT64_MIN};
  for (const AxisPiece& piece : axis.pieces) {
    std::int64_t low = piece.*at;
    std::int64_t high = low;
    for (const reshard::BoxLoop& loop : piece.loops) {
      const std::int64_t far = (loop.extent - 1) * (loop.*stride);
      (far < 0 ? low : high) += far;
    }
    reach.low = std::min(reach.low, low);
    reach.high = std::max(reach.high, high);
  }
  return reach;
}

}  // namespace

std::int64_t steps_of(const std::vector<reshard::BoxLoop>& loops, std::size_t from) {
  std::int64_t steps = 1;
  for (std::size_t i = from; i < loops.size(); ++i) steps *= loops[i].extent;
  return steps;
}

AxisPtr finished(ParcelAxis axis) {
  axis.source = reach_of(axis, &AxisPiece::source, &reshard::BoxLoop::source_stride);
  axis.destination = reach_of(axis, &AxisPiece::destination, &reshard::BoxLoop::destination_stride);
  Fingerprint print;
  for (const AxisPiece& piece : axis.pieces) {
    print.add(piece.source - axis.source.low);
    print.add(piece.destination - axis.destination.low);
    print.add(static_cast<std::int64_t>(piece.loops.size()));
    for (const reshard::BoxLoop& loop : piece.loops) {
      print.add(loop.extent);
      print.add(loop.source_stride);
      print.add(loop.destination_stride);
    }
  }
  axis.print = print.value();
  return std::make_shared<const ParcelAxis>(std::move(axis));
}

ParcelShape ParcelShape::of(const reshard::Flows& flows,
                            std::span<const reshard::SegmentGroup* const> groups,
                            std::int64_t element_bytes) {
  ParcelShape shape;
  shape.source = flows.source_slot;
  shape.destination = flows.destination_slot;
  const auto add = [&](ParcelAxis axis) {
    shape.elements *= axis.steps;
    shape.axes.push_back(finished(std::move(axis)));
  };
  for (std::size_t f = 0; f < groups.size(); ++f) {
    const reshard::FlowFactor& factor = flows.factors[f];
    const std::span<const reshard::Segment> segments =
        std::span(factor.segments).subspan(groups[f]->first, groups[f]->count);
    const std::size_t common = common_loops(factor, segments);
    ParcelAxis list;
    for (const reshard::Segment& segment : segments) {
      const std::span<const reshard::BoxLoop> loops = loops_of(factor, segment);
      AxisPiece piece{segment.source_slot,
                      segment.destination_slot,
                      {loops.begin(), loops.end() - static_cast<std::ptrdiff_t>(common)},
                      1};
      piece.steps = steps_of(piece.loops);
      list.steps += piece.steps;
      list.pieces.push_back(std::move(piece));
    }
    const std::span<const reshard::BoxLoop> last = loops_of(factor, segments.front()).last(common);
    if (list.steps == 1) {
      shape.source += list.pieces.front().source;
      shape.destination += list.pieces.front().destination;
    } else {
      line_up_runs(list, element_bytes);
      add(std::move(list));
    }
    for (const reshard::BoxLoop& loop : last) {
      if (loop.extent > 1) add({{{0, 0, {loop}, loop.extent}}, loop.extent, {}, {}, 0});
    }
  }
  // Axes with equal reach stay in the order of the dims.
  const auto span = [](const AxisPtr& axis) {
    return axis->destination.high - axis->destination.low;
  };
  for (std::size_t i = 1; i < shape.axes.size(); ++i) {
    for (std::size_t j = i; j > 0 && span(shape.axes[j - 1]) < span(shape.axes[j]); --j) {
      std::swap(shape.axes[j - 1], shape.axes[j]);
    }
  }
  return shape;
}

}  // namespace tessera::exchange

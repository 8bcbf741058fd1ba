// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/reshard/schedules/carries.h"
#include "tessera/reshard/schedules/line_load.h"
#include "tessera/reshard/schedules/program.h"

namespace tessera::reshard {

// =================================================================================================
// row_then_column_streams
//
// Along a line, each place packs everything that leaves it in one direction into one stream of
// words. The words pass through the routers without stopping, to the end of their segment: to the
// last place before the first link that nothing crosses. Every place on the way takes the words
// that it needs. Places share the colour of the segment: a switch in each router first lets the
// place's own words pass, then those that come from behind, so the last link is never idle.
//
//   one direction     The place nearest to the end of the segment goes first. With w_k words at
//                     distance d_k from the end, nearest first, and T = T_R:
//
//                         F := 0;  F := max(F, d_k) + w_k for each k;  cycles = F + 2T
//
//   both directions   Upward and downward segments that have a link in common are independent as
//                     long as no place sends, or receives, in both directions: a ramp would be too
//                     slow for that. Otherwise places take turns from the upper end to the lower
//                     one, a sweep. In its turn a place sends its words downwards, then those
//                     upwards, while the next place below already sends. Words from above have then
//                     passed before words from below arrive. A token t moves down with the last
//                     word, and before the words w_k downwards and v_k upwards of place k:
//
//                         upwards       F := max(F, max(0, t - 1) + w_k + d_k) + v_k
//                         downwards     t := t + w_k, and one more for each link
//
//                     cycles = 2T + the largest F and t.
//
// Then the same along columns. Neighbouring segments of one direction alternate between two
// colours, and so do neighbouring sweeps: six colours for rows and six for columns. A stream takes
// ceil(elements · wavelets per element) words.
// =================================================================================================

/// A run of links in one direction that words share: from the first place that sends to the last
/// that receives.
struct StreamSegment {
  std::int32_t low = 0;
  std::int32_t high = 0;
  bool up = true;
  std::uint32_t first = 0;  ///< its senders are [first, last) of the line's; some of these may send
  std::uint32_t last = 0;   ///< only in the other direction
  std::int32_t end() const { return up ? high : low; }
};

/// Places of one line that share a colour: a segment, or all segments of a sweep.
struct StreamGroup {
  enum class Kind : std::uint8_t { kUp, kDown, kSweep };
  Kind kind = Kind::kUp;
  std::int32_t low = 0;
  std::int32_t high = 0;
  std::vector<std::uint32_t> ups;  ///< its segments, by position
  std::vector<std::uint32_t> downs;
};

/// The segments and groups of one line.
class StreamLine {
 public:
  StreamLine(const LineLoad& load, const Reshard::Rate& rate);

  const std::vector<StreamGroup>& groups() const { return groups_; }
  const std::vector<StreamSegment>& ups() const { return ups_; }
  const std::vector<StreamSegment>& downs() const { return downs_; }

  /// Cycles until all words of the line have arrived.
  std::int64_t cycles(std::int64_t ramp_cycles) const;

 private:
  std::int64_t words(const LineSender& sender, bool up) const {
    const std::int64_t elements = up ? sender.up : sender.down;
    if (elements != last_elements_) {  // most places of a line send the same
      last_elements_ = elements;
      last_words_ = rate_.of(elements * load_.scale);
    }
    return last_words_;
  }
  void find_segments();
  void find_groups();
  bool needs_sweep(const StreamGroup& group) const;
  std::int64_t one_way(const StreamSegment& segment) const;
  std::int64_t sweep(const StreamGroup& group) const;
  std::int64_t meeting(std::int32_t position) const;

  const LineLoad& load_;
  Reshard::Rate rate_;
  mutable std::int64_t last_elements_ = 0;
  mutable std::int64_t last_words_ = 0;
  std::vector<StreamSegment> ups_;  ///< by position
  std::vector<StreamSegment> downs_;
  std::vector<StreamGroup> groups_;
};

/// The cycles of a phase: those of its slowest line.
std::int64_t stream_cycles(const LineLoads& loads, const Reshard::Rate& rate,
                           std::int64_t ramp_cycles);

inline constexpr std::int32_t kStreamColours = 6;

/// The phase as one round. It uses kStreamColours colours from `first_colour` on.
Round stream_round(const Carries& carries, const Dispatches& dispatches, const Reshard::Rate& rate,
                   std::int32_t first_colour);

}  // namespace tessera::reshard

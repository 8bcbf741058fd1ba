// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/base/array.h"
#include "tessera/memory/solve.h"
#include "tessera/memory/solver/search_state.h"

namespace tessera::memory {

/// A range of sections [from, to) with one floor, between higher floors or walls. A wall is a
/// boundary that no waiting block crosses.
///
///     floor   ____          ____
///                 |        |
///                 |________|         a block with offset `floor` over any of these sections
///                from       to       lies inside [from, to)
struct Niche {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int64_t floor = 0;
};

/// The first or last section of a niche, and the options at its floor: one of the candidates
/// (blocks that begin, or end, exactly there) is placed, or no block ever is and the floor is
/// raised.
///
/// Law: every plan that continues a state and whose blocks all rest on something uses exactly one
/// of these options at each corner. So a corner with one option is decided, and a corner with none
/// is a dead end.
struct Corner {
  std::int32_t section = -1;
  Niche niche;
  bool is_left = true;
  std::int32_t candidates = 0;
  bool can_rise = false;
  std::int32_t options() const { return candidates + (can_rise ? 1 : 0); }
};

/// Evaluates the corners of a state under the techniques that are switched on.
class CornerView {
 public:
  CornerView(const SearchState& state, const Techniques& techniques, std::int64_t capacity)
      : state_(state), techniques_(techniques), capacity_(capacity) {}

  /// The corner of a niche, with its options counted. `low` and `high` are the walls around the
  /// part that is searched.
  Corner look(const Niche& niche, bool is_left, std::int32_t low, std::int32_t high) const;

  /// The new floor of a corner that can be raised: the lowest offset that a block may have over it
  /// when none is placed at the current floor.
  std::int64_t rise(const Corner& corner, std::int32_t low, std::int32_t high) const;

  /// Adds the candidates of a corner to `blocks`; false when memory is refused.
  [[nodiscard]] bool collect(const Corner& corner, Array<std::int32_t>& blocks) const;
  /// The first candidate of a corner that has one.
  std::int32_t only(const Corner& corner) const;

  /// How much higher the floor of a section may go.
  std::int64_t slack(std::int32_t section) const;

  /// True when the hole that a raised floor leaves over `section` has room for a waiting block. A
  /// plan with the lowest offsets would not leave such a hole.
  bool leaves_room(std::int32_t section) const;

 private:
  template <typename Visit>
  void each_candidate(std::int32_t section, const Niche& niche, bool is_left, Visit visit) const;
  bool fits(std::int32_t b, std::int64_t floor) const;
  bool has_earlier_twin(std::int32_t b, std::int32_t section, bool is_left) const;
  std::int64_t next_floor(const Corner& corner, std::int32_t low, std::int32_t high,
                          std::int64_t enough) const;
  std::int64_t direct_offset(const Block& block, const Niche& niche, std::int64_t left,
                             std::int64_t right, std::int64_t known) const;
  std::int64_t lowest_top(const Corner& corner, std::int64_t left, std::int64_t right,
                          std::int64_t enough) const;

  const SearchState& state_;
  const Techniques& techniques_;
  std::int64_t capacity_;
};

}  // namespace tessera::memory

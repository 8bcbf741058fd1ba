// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/verify.h"

#include <array>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/relayout/program/position_list.h"

namespace tessera::relayout {
namespace {

constexpr std::array<std::string_view, 7> kFlawNames = {
    "outside",        "not_written", "written_twice", "wrong_source",
    "wrong_position", "not_filled",  "filled"};

/// A loop of the verifier: its number of steps, and what one step adds to the position of each
/// side.
struct Turn {
  std::int64_t extent = 1;
  PositionPair move;
};

/// Executes one program slot by slot and records what happens to each position.
class Verifier {
 public:
  Verifier(const Program& program, const Placement& from, const Placement& to, PositionList sources,
           PositionList destinations)
      : program_(program),
        from_(from),
        to_(to),
        sources_(std::move(sources)),
        destinations_(std::move(destinations)),
        positions_(to.places() * to.slots()),
        owner_(static_cast<std::size_t>(positions_), kNobody),
        copied_(static_cast<std::size_t>(positions_), 0),
        filled_(static_cast<std::size_t>(positions_), 0) {}

  Result<std::vector<Finding>> run(std::optional<double> padding);

 private:
  static constexpr std::int32_t kNobody = -1;

  Status settle_owners();
  void check_memory(const Memory& memory, const Placement& placement, std::string_view which);
  void follow_fills(bool wanted);
  void follow_copies();
  void look_for_gaps(std::optional<double> padding);
  void fill(Position at, bool wanted);
  void copy(const PositionPair& at);

  /// Calls visit(at) for every position of the nest while steps are left; false when they ran out.
  template <typename Visit>
  bool walk(PositionPair at, const std::vector<Turn>& turns, std::int64_t& steps_left,
            const Visit& visit) const;

  bool inside(Position at, const Placement& placement) const {
    return 0 <= at.place && at.place < placement.places() && 0 <= at.slot &&
           at.slot < placement.slots();
  }
  /// The number of a destination position; for a position outside the memory, a number that only
  /// identifies it.
  std::int64_t flat(Position at) const {
    return (Checked(at.place) * to_.slots() + at.slot).saturated();
  }
  std::string element_name(std::int64_t element) const {
    return cat("element ", bracketed(to_.shape().delinear(element)));
  }
  std::string position_name(std::int64_t position, const Placement& placement) const {
    return cat("slot ", position % placement.slots(), " of place ",
               bracketed(placement.mesh().delinear(position / placement.slots())));
  }
  std::string outside_name(Position at, const Placement& placement) const {
    return cat("slot ", at.slot, " of place number ", at.place, ", but there are ",
               placement.places(), " places of ", placement.slots(), " slots");
  }
  /// Keeps the first finding of each kind. `message` is called only for that one.
  template <typename Message>
  void found(Flaw flaw, std::int64_t position, const Message& message) {
    std::optional<Finding>& kept = findings_[static_cast<std::size_t>(flaw)];
    if (!kept) kept = Finding{flaw, position, message()};
  }

  const Program& program_;
  const Placement& from_;
  const Placement& to_;
  PositionList sources_;
  PositionList destinations_;
  std::int64_t positions_;            // of the destination
  std::vector<std::int32_t> owner_;   // the element that each is for
  std::vector<std::uint8_t> copied_;  // whether a copy wrote it
  std::vector<std::uint8_t> filled_;
  bool copies_followed_ = true;
  bool fills_followed_ = true;
  std::array<std::optional<Finding>, kFlawNames.size()> findings_;
};

Status Verifier::settle_owners() {
  for (std::int64_t element = 0; element < destinations_.elements(); ++element) {
    for (const std::int64_t distance : destinations_.copies(element)) {
      const std::int64_t position = destinations_.first(element) + distance;
      std::int32_t& owner = owner_[static_cast<std::size_t>(position)];
      if (owner != kNobody) {
        return Error{ErrorCode::kNotInjective,
                     cat("elements ", bracketed(to_.shape().delinear(owner)), " and ",
                         bracketed(to_.shape().delinear(element)), " share ",
                         position_name(position, to_), " of the destination"),
                     std::nullopt, "write to a layout in which every element has a separate slot"};
      }
      owner = static_cast<std::int32_t>(element);
    }
  }
  return ok_status();
}

void Verifier::check_memory(const Memory& memory, const Placement& placement,
                            std::string_view which) {
  if (memory.mesh == placement.mesh() && memory.slots == placement.slots() &&
      memory.atom == placement.atom() && memory.bytes == placement.allocated_bytes()) {
    return;
  }
  found(Flaw::kOutside, 0, [&] {
    return cat("the program is for a ", which, " of ", memory.mesh.elements(), " places of ",
               memory.slots, " slots and ", memory.bytes, " bytes, but it has ", placement.places(),
               " of ", placement.slots(), " and ", placement.allocated_bytes());
  });
}

template <typename Visit>
bool Verifier::walk(PositionPair at, const std::vector<Turn>& turns, std::int64_t& steps_left,
                    const Visit& visit) const {
  if (--steps_left < 0) return false;  // also for nests without elements
  for (const Turn& turn : turns) {
    if (turn.extent <= 0) return true;
  }
  std::vector<std::int64_t> count(turns.size(), 0);
  while (true) {
    if (--steps_left < 0) return false;
    visit(at);
    std::size_t turn = turns.size();
    while (true) {
      if (turn == 0) return true;
      const Turn& inner = turns[--turn];
      if (++count[turn] < inner.extent) {
        at.a += inner.move.a;
        at.b += inner.move.b;
        break;
      }
      count[turn] = 0;
      at.a = at.a - inner.move.a * (inner.extent - 1);
      at.b = at.b - inner.move.b * (inner.extent - 1);
    }
  }
}

void Verifier::fill(Position at, bool wanted) {
  if (!inside(at, to_)) {
    found(Flaw::kOutside, flat(at), [&] { return "a fill writes " + outside_name(at, to_); });
    return;
  }
  const std::int64_t position = flat(at);
  const std::int32_t owner = owner_[static_cast<std::size_t>(position)];
  filled_[static_cast<std::size_t>(position)] = 1;
  if (owner != kNobody && !program_.fills_cover_data) {
    found(Flaw::kFilled, position, [&] {
      return cat("a fill writes ", position_name(position, to_), ", which is for ",
                 element_name(owner));
    });
  }
  if (owner == kNobody && !wanted) {
    found(Flaw::kFilled, position, [&] {
      return cat("a fill writes ", position_name(position, to_),
                 ", padding that must not be written");
    });
  }
}

void Verifier::copy(const PositionPair& at) {
  if (!inside(at.a, from_)) {
    found(Flaw::kOutside, flat(at.b), [&] { return "a copy reads " + outside_name(at.a, from_); });
  }
  if (!inside(at.b, to_)) {
    found(Flaw::kOutside, flat(at.b), [&] { return "a copy writes " + outside_name(at.b, to_); });
    return;
  }
  const std::int64_t position = flat(at.b);
  const std::int32_t owner = owner_[static_cast<std::size_t>(position)];
  if (owner == kNobody) {
    found(Flaw::kWrongPosition, position, [&] {
      return cat("a copy writes ", position_name(position, to_), ", which holds no element");
    });
    return;
  }
  std::uint8_t& copied = copied_[static_cast<std::size_t>(position)];
  if (copied != 0) {
    found(Flaw::kWrittenTwice, position, [&] {
      return cat(position_name(position, to_), ", which is for ", element_name(owner),
                 ", is written twice");
    });
  }
  copied = 1;
  if (!inside(at.a, from_)) return;
  const std::int64_t source = at.a.place * from_.slots() + at.a.slot;
  if (sources_.holds(owner, source)) return;
  found(Flaw::kWrongSource, position, [&] {
    return cat(element_name(owner), " is read from ", position_name(source, from_),
               ", but the source stores it in ", position_name(sources_.first(owner), from_));
  });
}

void Verifier::follow_fills(bool wanted) {
  // The fills of a normal program write each position about once.
  std::int64_t steps_left = 4 * positions_ + (std::int64_t{1} << 16);
  std::vector<Turn> turns;
  for (const FillNest& nest : program_.fills) {
    turns.clear();
    for (const FillLoop& loop : nest.loops) turns.push_back({loop.extent, {{}, loop.step}});
    fills_followed_ =
        walk({{}, nest.at}, turns, steps_left, [&](const PositionPair& at) { fill(at.b, wanted); });
    if (!fills_followed_) return;
  }
}

void Verifier::follow_copies() {
  // More copies than positions are always wrong: one of them is outside, or writes a position a
  // second time.
  std::int64_t steps_left = 2 * positions_ + (std::int64_t{1} << 16);
  std::vector<Turn> turns;
  for (const Refinement& refinement : program_.copies) {
    for (std::int64_t i = 0; i < refinement.nests(); ++i) {
      const Nest nest = refinement.nest(i);
      turns.clear();
      for (const Loop& loop : nest.loops) turns.push_back({loop.extent, loop.move});
      copies_followed_ =
          walk(nest.at, turns, steps_left, [&](const PositionPair& at) { copy(at); });
      if (!copies_followed_) return;
    }
  }
}

void Verifier::look_for_gaps(std::optional<double> padding) {
  bool any_fill = false;
  for (std::int64_t position = 0; position < positions_; ++position) {
    const auto s = static_cast<std::size_t>(position);
    const std::int32_t owner = owner_[s];
    if (owner != kNobody && copies_followed_ && copied_[s] == 0) {
      found(Flaw::kNotWritten, position, [&] {
        return cat(position_name(position, to_), ", which is for ", element_name(owner),
                   ", is not written");
      });
    }
    if (owner != kNobody || !padding) continue;
    any_fill = any_fill || filled_[s] != 0;
    if (fills_followed_ && filled_[s] == 0) {
      found(Flaw::kNotFilled, position,
            [&] { return cat(position_name(position, to_), ", which is padding, is not filled"); });
    }
  }
  if (any_fill && program_.padding != *padding) {
    found(Flaw::kNotFilled, 0, [&] {
      return cat("padding is filled with ", std::to_string(program_.padding), " instead of ",
                 std::to_string(*padding));
    });
  }
}

Result<std::vector<Finding>> Verifier::run(std::optional<double> padding) {
  TESSERA_CHECK_OK(settle_owners());
  check_memory(program_.from, from_, "source");
  check_memory(program_.to, to_, "destination");
  follow_fills(padding.has_value());
  follow_copies();
  look_for_gaps(padding);
  std::vector<Finding> findings;
  for (std::optional<Finding>& finding : findings_) {
    if (finding) findings.push_back(*std::move(finding));
  }
  if (findings.empty() && !(fills_followed_ && copies_followed_)) {
    return Error{ErrorCode::kTooLarge,
                 cat("the fills write the ", positions_, " slots of the destination repeatedly"),
                 std::nullopt, "fill each slot once"};
  }
  return findings;
}

}  // namespace

std::string_view flaw_name(Flaw flaw) { return kFlawNames[static_cast<std::size_t>(flaw)]; }

Result<std::vector<Finding>> verify(const Program& program, const Placement& from,
                                    const Placement& to, PaddingRule padding) {
  if (from.shape() != to.shape()) {
    return Error{ErrorCode::kShapeMismatch,
                 cat("a tensor of shape ", bracketed(from.shape().extents()),
                     " cannot be moved to one of shape ", bracketed(to.shape().extents())),
                 std::nullopt, "source and destination are placements of one tensor"};
  }
  TESSERA_TRY(PositionList sources, PositionList::make(from, "source"));
  TESSERA_TRY(PositionList destinations, PositionList::make(to, "destination"));
  return Verifier(program, from, to, std::move(sources), std::move(destinations))
      .run(padding_to_write(to, padding));
}

}  // namespace tessera::relayout

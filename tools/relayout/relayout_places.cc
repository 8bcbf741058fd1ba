// SPDX-License-Identifier: Apache-2.0
#include "tools/relayout/relayout_places.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

struct NumberedLoop {
  std::int64_t extent = 1;
  PositionPair move;
};

/// A nest whose places are still numbers.
struct NumberedNest {
  PositionPair at;
  std::vector<NumberedLoop> loops;
};

/// One side of such a nest: a mesh, a first place and what each loop adds to its number.
struct Track {
  const Shape& mesh;
  std::int64_t first = 0;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> moves;

  /// Coordinates of the first place, and the change of the first step of each loop. If any constant
  /// steps describe the loops, these do.
  Place origin() const { return mesh.delinear(first); }
  Place step(std::size_t loop) const {
    const Place from = origin();
    Place to = mesh.delinear(first + moves[loop]);
    for (std::size_t a = 0; a < to.size(); ++a) to[a] -= from[a];
    return to;
  }

  /// Whether loops with these steps stay on the mesh. The numbers that they reach are correct by
  /// construction, and coordinates on the mesh are determined by their number; so the steps
  /// describe the loops if and only if no coordinate leaves its axis.
  bool stays(const std::vector<Place>& steps, const std::vector<std::int64_t>& counts) const {
    const Place from = origin();
    for (std::size_t a = 0; a < mesh.rank(); ++a) {
      Checked low(from[a]);
      Checked high(from[a]);
      for (std::size_t l = 0; l < steps.size(); ++l) {
        const Checked reach = Checked(steps[l][a]) * (counts[l] - 1);
        (steps[l][a] < 0 ? low : high) += reach;
      }
      if (low.overflowed() || high.overflowed() || low.raw() < 0 || high.raw() >= mesh[a]) {
        return false;
      }
    }
    return true;
  }

  std::vector<Place> steps() const {
    std::vector<Place> list;
    for (std::size_t l = 0; l < moves.size(); ++l) list.push_back(step(l));
    return list;
  }

  /// How many steps of `loop`, with all other loops at 0, have constant coordinate steps: at least
  /// 2 for a loop of at least 2 steps.
  std::int64_t straight(std::size_t loop) const {
    const Place by = step(loop);
    const Place from = origin();
    std::int64_t most = extents[loop];
    for (std::size_t a = 0; a < mesh.rank(); ++a) {
      if (by[a] > 0) most = std::min(most, (mesh[a] - 1 - from[a]) / by[a] + 1);
      if (by[a] < 0) most = std::min(most, from[a] / -by[a] + 1);
    }
    return most;
  }
};

Track track_of(const NumberedNest& nest, const Shape& mesh, Position PositionPair::* side) {
  Track track{mesh, (nest.at.*side).place, {}, {}};
  for (const NumberedLoop& loop : nest.loops) {
    track.extents.push_back(loop.extent);
    track.moves.push_back((loop.move.*side).place);
  }
  return track;
}

/// Where a nest has to be split: `loop` after every `after` steps, or only once.
struct Cutting {
  std::size_t loop = 0;
  std::int64_t after = 1;
  bool once = false;
};

/// Nothing for a track whose coordinate steps are all constant.
std::optional<Cutting> cutting_of(const Track& track) {
  const std::vector<Place> steps = track.steps();
  if (track.stays(steps, track.extents)) return std::nullopt;
  std::optional<std::size_t> longest;
  for (std::size_t l = 0; l < steps.size(); ++l) {
    if (track.moves[l] == 0) continue;
    const std::int64_t straight = track.straight(l);
    if (straight < track.extents[l]) return Cutting{l, straight, false};
    if (!longest || track.extents[l] > track.extents[*longest]) longest = l;
  }
  // Each loop alone has constant steps, but together they wrap.
  return Cutting{*longest, track.extents[*longest] / 2, true};
}

NumberedNest advanced(NumberedNest nest, std::size_t loop, std::int64_t by) {
  const PositionPair& move = nest.loops[loop].move;
  nest.at.a += move.a * by;
  nest.at.b += move.b * by;
  return nest;
}

void drop_single_loops(NumberedNest& nest) {
  std::erase_if(nest.loops, [](const NumberedLoop& loop) { return loop.extent == 1; });
}

/// The parts of `nest`, which together are `nest`.
std::vector<NumberedNest> cut(const NumberedNest& nest, const Cutting& cutting) {
  const std::size_t l = cutting.loop;
  const std::int64_t extent = nest.loops[l].extent;
  const std::int64_t whole = cutting.once ? 1 : extent / cutting.after;
  std::vector<NumberedNest> parts = {nest, advanced(nest, l, whole * cutting.after)};
  parts[0].loops[l].extent = cutting.after;
  const PositionPair move = nest.loops[l].move;
  parts[0].loops.insert(parts[0].loops.begin() + static_cast<std::ptrdiff_t>(l),
                        {whole, {move.a * cutting.after, move.b * cutting.after}});
  parts[1].loops[l].extent = extent - whole * cutting.after;
  if (parts[1].loops[l].extent == 0) parts.pop_back();
  for (NumberedNest& part : parts) drop_single_loops(part);
  return parts;
}

PlacedSide placed(const NumberedNest& nest, const Track& track, Position PositionPair::* side) {
  PlacedSide out;
  out.place = track.origin();
  out.slot = (nest.at.*side).slot;
  for (std::size_t l = 0; l < nest.loops.size(); ++l) {
    out.steps.push_back({track.step(l), (nest.loops[l].move.*side).slot});
  }
  return out;
}

Error too_many(std::int64_t nests) {
  return Error{
      ErrorCode::kTooLarge,
      cat("the program has at least ", nests, " nests; at most ", kMostNests, " are listed"),
      std::nullopt, "run it instead: --in x.npy --out y.npy"};
}

/// Appends `nest`, split where its places wrap. A fill has no source side.
Status add(NumberedNest nest, const Shape* from, const Shape& to, std::vector<PlacedNest>& nests) {
  for (const NumberedLoop& loop : nest.loops) {
    if (loop.extent == 0) return ok_status();
  }
  drop_single_loops(nest);
  std::vector<NumberedNest> left = {std::move(nest)};
  while (!left.empty()) {
    const NumberedNest next = std::move(left.back());
    left.pop_back();
    std::optional<Cutting> cutting;
    if (from != nullptr) cutting = cutting_of(track_of(next, *from, &PositionPair::a));
    if (!cutting) cutting = cutting_of(track_of(next, to, &PositionPair::b));
    if (cutting) {
      std::vector<NumberedNest> parts = cut(next, *cutting);
      left.insert(left.end(), parts.rbegin(), parts.rend());
      continue;
    }
    if (static_cast<std::int64_t>(nests.size()) == kMostNests) return too_many(kMostNests + 1);
    PlacedNest out;
    for (const NumberedLoop& loop : next.loops) out.extents.push_back(loop.extent);
    if (from != nullptr)
      out.from = placed(next, track_of(next, *from, &PositionPair::a), &PositionPair::a);
    out.to = placed(next, track_of(next, to, &PositionPair::b), &PositionPair::b);
    nests.push_back(std::move(out));
  }
  return ok_status();
}

}  // namespace

Result<PlacedProgram> place_program(const relayout::Program& program) {
  PlacedProgram out;
  if (program.nests() > kMostNests) return too_many(program.nests());
  for (std::int64_t i = 0; i < program.nests(); ++i) {
    const Nest nest = program.nest(i);
    NumberedNest numbered{nest.at, {}};
    for (const Loop& loop : nest.loops) numbered.loops.push_back({loop.extent, loop.move});
    TESSERA_CHECK_OK(add(std::move(numbered), &program.from.mesh, program.to.mesh, out.copies));
  }
  const auto fills = static_cast<std::int64_t>(program.fills.size());
  if (fills > kMostNests) return too_many(fills);
  for (const relayout::FillNest& fill : program.fills) {
    NumberedNest numbered{{{}, fill.at}, {}};
    for (const relayout::FillLoop& loop : fill.loops) {
      numbered.loops.push_back({loop.extent, {{}, loop.step}});
    }
    TESSERA_CHECK_OK(add(std::move(numbered), nullptr, program.to.mesh, out.fills));
  }
  return out;
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/notation/refusals.h"

#include <algorithm>
#include <set>

#include "tessera/base/text.h"
#include "tessera/testing/notation/refusals_own.h"
#include "tessera/testing/notation/rule_spyre.h"
#include "tessera/testing/notation/sayable.h"

namespace tessera::test {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// How many characters of `text` a hole of this kind matches.
std::size_t taken(char kind, std::string_view text) {
  std::size_t end = 0;
  const auto skip_while = [&](auto accepts) {
    while (end < text.size() && accepts(text[end])) ++end;
  };
  switch (kind) {
    case 'n':
      if (text.starts_with("-")) end = 1;
      skip_while(is_digit);
      break;
    case 'w':
      skip_while([](char c) { return c != ' ' && c != ',' && c != ';' && c != ':'; });
      break;
    case 'x':
      skip_while([](char c) { return is_digit(c) || c == 'x'; });
      break;
    case 'i':
      if (text.starts_with("[")) end = std::min(text.find(']'), text.size() - 1) + 1;
      break;
    default:
      end = text.size();
  }
  return end;
}

// Checks of what each reason of `outside_scope` claims, by counting.

Mistake not_padded(const Refused& refused, const Holes& holes) {
  const Spots& spots = refused.spots;
  const std::size_t dim = static_cast<std::size_t>(holes.number(0));
  if (dim >= spots.shape.size()) return cat("there is no dim ", dim);
  if (spots.shape[dim] != holes.number(1)) return cat("dim ", dim, " is ", spots.shape[dim]);
  if (holes.number(2) <= holes.number(1)) return "that is no padding";
  if (empty_slots(spots) == 0) return "no slot is empty";
  return {};
}

Mistake not_emptied(const Refused& refused, const Holes& holes) {
  const Spots& spots = refused.spots;
  const std::int64_t slots = spots.slots * spots.places();
  const auto held = static_cast<std::int64_t>(spots.held.size());
  if (slots != holes.number(0)) return cat("there are ", slots, " slots");
  // Copies of an empty tensor hold nothing.
  if (held != holes.number(1)) return cat(held, " slots are held");
  return slots > held ? "" : "no slot is empty";
}

Mistake not_on_one_place(const Refused& refused, const Holes& holes) {
  const std::string mesh = join(refused.spots.mesh, "x");
  if (mesh != holes[0]) return cat("the mesh is ", mesh);
  return refused.spots.places() == 1 ? "that is one place" : "";
}

Mistake not_on_so_many_axes(const Refused& refused, const Holes& holes) {
  // "2 axes", "1 axis", "1 to 64 axes"
  const std::size_t rank = refused.spots.mesh.size();
  const std::string mesh = join(refused.spots.mesh, "x");
  if (mesh != holes[1]) return cat("the mesh is ", mesh);
  const auto range = match("{n} to {n} axes", holes[0]);
  const auto one = match("{n} {w}", holes[0]);
  if (!range && !one) return cat("'", holes[0], "' says no rank");
  const std::int64_t least = range ? range->number(0) : one->number(0);
  const std::int64_t most = range ? range->number(1) : one->number(0);
  const auto axes = static_cast<std::int64_t>(rank);
  return axes >= least && axes <= most ? cat("it has ", axes, " axes") : "";
}

Mistake not_shared_out(const Refused& refused, const Holes& holes) {
  const auto shares = match("{*} on {n} places", refused.spots.shares);
  if (!shares) return "no element is a share";
  if ((*shares)[0].find(holes[0]) == std::string::npos) return cat("shares are a ", (*shares)[0]);
  return shares->number(1) % holes.number(1) == 0 ? "" : cat("on ", shares->number(1), " places");
}

Mistake not_replicated(const Refused& refused, const Holes& holes) {
  const auto axis = static_cast<std::size_t>(holes.number(1));
  if (axis >= refused.spots.mesh.size()) return cat("there is no axis ", axis);
  for (const RuleSpot& spot : refused.spots.spots) {
    std::set<std::int64_t> coordinates;
    for (const Numbers& place : spot.places) coordinates.insert(place[axis]);
    if (static_cast<std::int64_t>(coordinates.size()) % holes.number(0) != 0) {
      return cat("an element has ", coordinates.size(), " coordinates on axis ", axis);
    }
  }
  return holes.number(0) > 1 ? "" : "one copy is no copy";
}

Mistake not_tiled(const Refused& refused, const Holes& holes) {
  return refused.spots.tile == Numbers{holes.number(0), holes.number(1)} ? "" : "no such tiles";
}

Mistake not_shared(const Refused& refused, const Holes&) {
  for (const auto& [cell, elements] : refused.spots.held) {
    if (elements.size() > 1) return {};
  }
  return "no two elements share a slot";
}

Mistake not_pieced(const Refused& refused, const Holes& holes) {
  const Piecewise* pieces = refused.tensor.placement.pieces();
  if (pieces == nullptr) return "it is no tensor of boxes";
  const auto count = static_cast<std::int64_t>(pieces->pieces().size());
  return count == holes.number(0) ? "" : cat("it has ", count, " boxes");
}

const std::vector<Reason> kScopeReasons = {
    {"", "cannot pad: dim {n} is {n}, padded to {n}", not_padded},
    {"", "cannot leave slots empty: {n} slots for {n} elements", not_emptied},
    {"", "has one place: the tensor is on {x} places", not_on_one_place},
    {"", "has a mesh of {*}: the tensor is on {x} places", not_on_so_many_axes},
    {"", "cannot say a partial {w} on {n} places", not_shared_out},
    {"", "cannot replicate: each element is on {n} places along mesh axis {n}", not_replicated},
    {"", "cannot say tiles: elements are kept in tiles of {n}x{n}", not_tiled},
    {"", "cannot say elements that share a slot", not_shared},
    {"", "has one rule for all elements: the tensor is {n} boxes with a layout each", not_pieced},
};

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find("; ", from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 2;
  }
  return parts;
}

/// All parts of the sentence as reasons of the notation's scope; nothing when a part is not such a
/// reason.
std::optional<Recheck> recheck_scope(const Refused& refused, std::string_view message) {
  const std::string name = cat(refused.notation, " ");
  if (!message.starts_with(name)) return std::nullopt;
  Recheck result;
  for (const std::string_view part : split(message.substr(name.size()))) {
    const std::size_t before = result.patterns.size();
    for (const Reason& reason : kScopeReasons) {
      const auto holes = match(reason.pattern, part);
      if (!holes) continue;
      result.patterns.push_back(reason.pattern);
      const Mistake mistake = reason.check(refused, *holes);
      if (result.mistake.empty() && !mistake.empty()) result.mistake = cat(part, ": ", mistake);
      break;
    }
    if (result.patterns.size() == before) return std::nullopt;
  }
  return result;
}

}  // namespace

std::int64_t Holes::number(std::size_t i) const {
  return std::stoll(texts[i]);  // a hole {n} holds digits alone
}

Numbers Holes::numbers(std::size_t i) const {
  Numbers out;
  for (std::size_t at = 0; at < texts[i].size();) {
    if (texts[i][at] != '-' && !is_digit(texts[i][at])) {
      ++at;
      continue;
    }
    const std::size_t end = at + taken('n', std::string_view(texts[i]).substr(at));
    out.push_back(std::stoll(texts[i].substr(at, end - at)));
    at = end;
  }
  return out;
}

std::optional<Holes> match(std::string_view pattern, std::string_view text) {
  const std::size_t hole = pattern.find('{');
  if (hole == std::string_view::npos)
    return pattern == text ? std::optional<Holes>(Holes{}) : std::nullopt;
  if (text.substr(0, hole) != pattern.substr(0, hole)) return std::nullopt;
  text.remove_prefix(hole);
  const char kind = pattern[hole + 1];
  const std::string_view rest = pattern.substr(hole + 3);
  // The longest piece after which the rest still matches.
  const std::size_t least = kind == '*' ? 0 : 1;
  for (std::size_t length = taken(kind, text); length + 1 > least; --length) {
    std::optional<Holes> found = match(rest, text.substr(length));
    if (found) {
      found->texts.insert(found->texts.begin(), std::string(text.substr(0, length)));
      return found;
    }
    if (kind != '*' || length == 0) break;
  }
  return std::nullopt;
}

std::int64_t empty_slots(const Spots& spots) {
  return spots.slots * spots.places() - static_cast<std::int64_t>(spots.held.size());
}

Recheck recheck(const Refused& refused, std::string_view message) {
  if (auto scope = recheck_scope(refused, message)) return *std::move(scope);
  for (const Reason& reason : own_reasons(refused.notation)) {
    const auto holes = match(reason.pattern, message);
    if (!holes) continue;
    Recheck result{{reason.pattern}, reason.check(refused, *holes)};
    if (result.mistake.empty() && (finds_words(refused.notation, refused.spots) ||
                                   finds_words(refused.notation, untiled(refused.spots)))) {
      result.mistake = "a search finds words for it";
    }
    return result;
  }
  return {{}, "nobody knows this reason"};
}

}  // namespace tessera::test

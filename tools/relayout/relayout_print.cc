// SPDX-License-Identifier: Apache-2.0
#include "tools/relayout/relayout_print.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

#include "tessera/base/text.h"
#include "tools/json/json.h"
#include "tools/relayout/relayout_places.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMostInWords = 32;

/// JSON has no infinities; they are written as strings.
Json value_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  constexpr double kExact = 9007199254740992;  // 2^53
  if (std::fabs(value) <= kExact && value == std::floor(value) && !std::signbit(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

std::string value_text(double value) {
  const Json json = value_json(value);
  return json.is_string() ? json.get<std::string>() : dump(json);
}

Json strides_json(const PlacedSide& side) {
  Json list = Json::array();
  for (const PlacedStep& step : side.steps) list.push_back(step.slot);
  return list;
}

Json place_steps_json(const PlacedSide& side) {
  Json list = Json::array();
  for (const PlacedStep& step : side.steps) list.push_back(step.place);
  return list;
}

Json copy_json(const PlacedNest& nest) {
  Json json;
  json["extent"] = nest.extents;
  json["src_stride"] = strides_json(nest.from);
  json["dst_stride"] = strides_json(nest.to);
  json["src_offset"] = nest.from.slot;
  json["dst_offset"] = nest.to.slot;
  json["src_place"] = nest.from.place;
  json["dst_place"] = nest.to.place;
  json["src_place_step"] = place_steps_json(nest.from);
  json["dst_place_step"] = place_steps_json(nest.to);
  return json;
}

Json fill_json(const PlacedNest& nest, double value) {
  Json json;
  json["extent"] = nest.extents;
  json["dst_stride"] = strides_json(nest.to);
  json["dst_offset"] = nest.to.slot;
  json["dst_place"] = nest.to.place;
  json["dst_place_step"] = place_steps_json(nest.to);
  json["value"] = value_json(value);
  return json;
}

std::string signed_text(std::int64_t number) { return cat(number < 0 ? "" : "+", number); }

std::string spot_text(const PlacedSide& side) {
  return side.place.empty() ? cat("slot ", side.slot)
                            : cat("place ", bracketed(side.place), " slot ", side.slot);
}

/// "place +[0, 1] slot +32"; "stays" for a side that a loop does not move.
std::string step_text(const PlacedStep& step) {
  std::string text;
  const bool moves = std::any_of(step.place.begin(), step.place.end(), [](auto n) { return n; });
  if (moves) text = cat("place +", bracketed(step.place));
  if (step.slot != 0) text += cat(moves ? " " : "", "slot ", signed_text(step.slot));
  return text.empty() ? "stays" : text;
}

void print_nest(const PlacedNest& nest, bool has_source, std::ostream& out) {
  out << "  " << (has_source ? cat("from ", spot_text(nest.from), " to ") : "at ")
      << spot_text(nest.to) << '\n';
  std::string indent = "  ";
  for (std::size_t l = 0; l < nest.extents.size(); ++l) {
    out << indent << "for i" << l << " < " << nest.extents[l] << ": ";
    if (has_source) out << "from " << step_text(nest.from.steps[l]) << ", to ";
    out << step_text(nest.to.steps[l]) << '\n';
    indent += "  ";
  }
}

std::int64_t size_of(const PlacedNest& nest) {
  std::int64_t product = 1;
  for (const std::int64_t extent : nest.extents) product *= extent;
  return product;
}

void print_nests(const std::vector<PlacedNest>& nests, bool has_source, std::ostream& out) {
  const std::string_view name = has_source ? "copy" : "fill";
  const std::size_t shown = std::min(nests.size(), kMostInWords);
  for (std::size_t i = 0; i < shown; ++i) {
    out << name << ' ' << i + 1 << " of " << nests.size() << ": "
        << count_of(size_of(nests[i]), has_source ? "element" : "slot") << '\n';
    print_nest(nests[i], has_source, out);
  }
  if (shown == nests.size()) return;
  const auto left = static_cast<std::int64_t>(nests.size() - shown);
  out << ".. and " << left << " more (--json lists all)\n";
}

}  // namespace

std::int64_t moved_bytes(const relayout::Program& program) {
  return dtype_bytes(program.to.storage(), program.elements()).value_or(INT64_MAX);
}

Status print_program_text(const relayout::Program& program, std::ostream& out) {
  TESSERA_TRY(const PlacedProgram placed, place_program(program));
  const auto copies = static_cast<std::int64_t>(placed.copies.size());
  const auto fills = static_cast<std::int64_t>(placed.fills.size());
  out << "moves " << count_of(program.elements(), "element") << " in "
      << count_of(copies, "copy", "copies") << ", " << count_of(moved_bytes(program), "byte")
      << " of " << dtype_name(program.to.storage()) << '\n';
  if (program.from.storage() != program.to.storage()) {
    out << "converts " << dtype_name(program.from.storage()) << " to "
        << dtype_name(program.to.storage()) << '\n';
  }
  if (fills > 0) {
    std::int64_t slots = 0;
    for (const PlacedNest& nest : placed.fills) slots += size_of(nest);
    out << "first fills " << count_of(slots, "slot") << " with " << value_text(program.padding)
        << " in " << count_of(fills, "fill")
        << (program.fills_cover_data ? ", including data, which the copies overwrite" : "") << '\n';
  }
  print_nests(placed.fills, /*has_source=*/false, out);
  print_nests(placed.copies, /*has_source=*/true, out);
  return ok_status();
}

Status print_program_json(const relayout::Program& program, const std::string& fields,
                          std::ostream& out) {
  TESSERA_TRY(const PlacedProgram placed, place_program(program));
  // Nest by nest, because a JSON tree of all nests takes ten times the memory of their text.
  std::string_view separator;
  out << "{" << fields << "\"nests\":[";
  for (const PlacedNest& nest : placed.copies) {
    out << separator << dump(copy_json(nest));
    separator = ",";
  }
  out << "],\"fills\":[";
  separator = "";
  for (const PlacedNest& nest : placed.fills) {
    out << separator << dump(fill_json(nest, program.padding));
    separator = ",";
  }
  out << "],\"fills_cover_data\":" << (program.fills_cover_data ? "true" : "false")
      << ",\"bytes\":" << moved_bytes(program) << "}\n";
  return ok_status();
}

}  // namespace tessera::tools

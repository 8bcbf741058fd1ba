// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tools/reshard_move.h"
#include "tools/words.h"

namespace tessera::tools {
namespace {

constexpr std::array<std::string_view, 2> kRules = {"blocks", "cyclic"};
constexpr std::int32_t kNone = -1;

/// One rank a physical place; kNone where nothing is said of it.
using Table = std::vector<std::int32_t>;

/// Gives the physical places of one side the ranks that `rule` gives to its own, where they have
/// none yet. Of places that are stacked on one the first counts.
void add_side(const Reshard& reshard, const PlaceMap ReshardPart::* side, const RankMap& rule,
              Table& table) {
  const PlaceMap* last = nullptr;
  for (const ReshardPart& part : reshard.parts()) {
    const PlaceMap& map = part.*side;
    if (last != nullptr && *last == map) continue;  // most parts share one
    last = &map;
    for (std::int64_t place = 0; place < rule.places(); ++place) {
      std::int32_t& rank = table[static_cast<std::size_t>(map.physical(place))];
      if (rank == kNone) rank = rule.rank_of(place);
    }
  }
}

Result<RankMap> map_of(Table table, int ranks) {
  std::replace(table.begin(), table.end(), kNone, 0);  // neither A nor B is there
  return RankMap::table(std::move(table), ranks);
}

Result<Table> read_list(const std::string& text) {
  Table table;
  std::string_view rest = text;
  while (true) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const std::size_t from = std::min(word.find_first_not_of(' '), word.size());
    const char* const end = word.data() + word.find_last_not_of(' ') + 1;
    std::int32_t rank = 0;
    const auto [stop, error] = std::from_chars(word.data() + from, end, rank);
    if (error != std::errc() || stop != end) {
      return Error{ErrorCode::kBadNumber, cat("--ranks-of-places: ", quote(word), " is no rank"),
                   std::nullopt, "list a rank for each place: 0,0,1,1"};
    }
    table.push_back(rank);
    if (word.size() == rest.size()) return table;
    rest.remove_prefix(word.size() + 1);
  }
}

Result<RankMaps> listed(const std::string& text, std::int64_t places, int ranks) {
  TESSERA_TRY(Table table, read_list(text));
  const auto count = static_cast<std::int64_t>(table.size());
  if (count != places) {
    return Error{ErrorCode::kUsage,
                 cat("--ranks-of-places lists ", count_of(count, "rank"), " for ",
                     count_of(places, "place")),
                 std::nullopt, "list a rank for each physical place, row by row"};
  }
  TESSERA_TRY(RankMap map, RankMap::table(std::move(table), ranks));
  return RankMaps{map, map};
}

}  // namespace

Result<RankMaps> rank_maps_of(const std::string& text, const Reshard& reshard, int ranks,
                              bool is_relabelled) {
  const std::int64_t places = reshard.ground().mesh.elements();
  if (!text.empty() && text.find_first_not_of("0123456789, ") == std::string::npos) {
    return listed(text, places, ranks);
  }
  const bool is_cyclic = text == "cyclic";
  if (!is_cyclic && !text.empty() && text != "blocks") {
    return Error{
        ErrorCode::kUnknownName, cat("there is no --ranks-of-places ", quote(text)), std::nullopt,
        did_you_mean(text, kRules, "it is blocks, cyclic, or a rank for each place: 0,0,1,1")};
  }
  const auto rule = is_cyclic ? &RankMap::cyclic : &RankMap::blocks;
  TESSERA_TRY(const RankMap of_ground, rule(places, ranks));  // also says what is too large
  TESSERA_TRY(const RankMap of_a, rule(reshard.from().places(), ranks));
  TESSERA_TRY(const RankMap of_b, rule(reshard.to().places(), ranks));
  if (reshard.parts().empty()) return RankMaps{of_ground, of_ground};
  Table table(static_cast<std::size_t>(places), kNone);
  add_side(reshard, &ReshardPart::map_a, of_a, table);
  TESSERA_TRY(RankMap from, map_of(table, ranks));
  if (!is_relabelled) table.assign(table.size(), kNone);
  add_side(reshard, &ReshardPart::map_b, of_b, table);
  TESSERA_TRY(RankMap to, map_of(std::move(table), ranks));
  return RankMaps{std::move(from), std::move(to)};
}

}  // namespace tessera::tools

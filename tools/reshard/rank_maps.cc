// SPDX-License-Identifier: Apache-2.0
#include "tools/reshard/rank_maps.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/ranks/rank_plan.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::array<std::string_view, 2> kRules = {"blocks", "cyclic"};

/// One rank per physical place.
using Table = std::vector<std::int32_t>;

Result<Table> read_list(const std::string& text) {
  Table table;
  std::string_view rest = text;
  while (true) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const std::size_t from = std::min(word.find_first_not_of(' '), word.size());
    // Only blanks: nothing is left, which is not a number.
    const char* const end = word.data() + std::max(from, word.find_last_not_of(' ') + 1);
    std::int32_t rank = 0;
    const auto [stop, error] = std::from_chars(word.data() + from, end, rank);
    if (error != std::errc() || stop != end) {
      return Error{ErrorCode::kBadNumber, cat("--ranks-of-places: ", quote(word), " is not a rank"),
                   std::nullopt, "give one rank per place: 0,0,1,1"};
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
                 std::nullopt, "give one rank per place, in the order of their numbers"};
  }
  TESSERA_TRY(exchange::RankMap map, exchange::RankMap::table(std::move(table), ranks));
  return RankMaps{map, map};
}

}  // namespace

Result<RankMaps> rank_maps_of(const std::string& text, const reshard::Reshard& reshard, int ranks) {
  const reshard::PhysicalMesh& physical = reshard.physical();
  if (!text.empty() && text.find_first_not_of("0123456789, ") == std::string::npos) {
    return listed(text, physical.mesh.elements(), ranks);
  }
  const bool is_cyclic = text == "cyclic";
  if (!is_cyclic && !text.empty() && text != "blocks") {
    return Error{ErrorCode::kUnknownName, cat("--ranks-of-places ", quote(text), " is invalid"),
                 std::nullopt,
                 did_you_mean(text, kRules, "use blocks, cyclic, or one rank per place: 0,0,1,1")};
  }
  const exchange::RankOrder order =
      is_cyclic ? exchange::RankOrder::kCyclic : exchange::RankOrder::kBlocks;
  TESSERA_TRY(exchange::RankMap from,
              exchange::distribute_places(reshard.from(), physical, ranks, order));
  TESSERA_TRY(exchange::RankMap to,
              exchange::distribute_places(reshard.to(), physical, ranks, order));
  return RankMaps{std::move(from), std::move(to)};
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "tessera/base/text.h"
#include "tessera/reshard/reshard.h"
#include "tessera/testing/reshard/reshard_laws.h"

namespace tessera::test {
namespace {

std::string refused(std::string_view what, const Error& error) {
  return cat(what, " refuses: ", code_name(error.code), ": ", error.message);
}

std::string kind_text(reshard::ReshardKind kind) {
  constexpr std::string_view kNames[] = {"IDENTITY",  "REDUCE",    "SCATTER",      "GATHER",
                                         "REPLICATE", "TRANSPOSE", "REDISTRIBUTE", "RESHARD"};
  return std::string(kNames[static_cast<std::size_t>(kind)]);
}

}  // namespace

std::string cost_text(const reshard::ReshardCost& cost) {
  std::string text = cat("bytes ", cost.bytes, ", local ", cost.local_bytes, ", messages ",
                         cost.messages, ", wavelets ", cost.wavelets);
  if (!cost.fabric) return text + ", no fabric";
  const reshard::FabricCost& fabric = *cost.fabric;
  return cat(text, ", hops ", fabric.hops, ", link hops ", fabric.link_hops, ", link ",
             fabric.max_link_wavelets, ", ramp ", fabric.max_ramp_wavelets, ", longest ",
             fabric.longest_distance, ", depth ", fabric.depth, ", cycles ", fabric.cycles);
}

std::string cost_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return refused("Reshard::make", reshard.error());
  const Result<reshard::ReshardCost> cost = reshard::cost_of(*reshard);
  if (!cost.ok()) return refused("cost_of", cost.error());
  const reshard::ReshardCost expected = naive_cost(moves, pair.from, pair.physical);
  if (*cost == expected) return "";
  return cat("cost_of\n    is ", cost_text(*cost), "\n    not ", cost_text(expected));
}

std::string loads_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return refused("Reshard::make", reshard.error());
  const Result<reshard::LinkLoads> loads = reshard::link_loads(*reshard);
  if (!pair.physical.fabric) {
    if (!loads.ok() && loads.error().code == ErrorCode::kNotSupported) return "";
    return "link_loads of a physical without routes";
  }
  if (!loads.ok()) return refused("link_loads", loads.error());
  const reshard::LinkLoads expected = naive_loads(moves, pair.from, pair.physical);
  const auto differs = [](const char* way, const std::vector<std::int64_t>& is,
                          const std::vector<std::int64_t>& not_) {
    return is == not_ ? std::string()
                      : cat(way, " loads are ", bracketed(is), ", not ", bracketed(not_));
  };
  if (loads->rows != expected.rows || loads->cols != expected.cols) return "loads of another mesh";
  for (std::string mistake :
       {differs("east", loads->east, expected.east), differs("west", loads->west, expected.west),
        differs("south", loads->south, expected.south),
        differs("north", loads->north, expected.north)}) {
    if (!mistake.empty()) return mistake;
  }
  return "";
}

std::string kind_mistake(const ReshardPair& pair, const NaiveReshard& moves) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return refused("Reshard::make", reshard.error());
  const Result<reshard::ReshardKind> kind = reshard::kind_of(*reshard);
  if (!kind.ok()) return refused("kind_of", kind.error());
  const reshard::ReshardKind expected = naive_kind(moves, pair.from, pair.to, pair.physical);
  if (*kind == expected) return "";
  return cat("kind_of is ", kind_text(*kind), ", not ", kind_text(expected));
}

}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_notation.h"

#include <variant>

#include "tessera/base/text.h"
#include "tessera/notation/morello/facts.h"
#include "tessera/notation/spyre/facts.h"
#include "tessera/notation/terms.h"
#include "tools/terminal/words.h"

namespace tessera::tools {
namespace {

Json intervals_json(const notation::CollapseIntervals& intervals) {
  Json json = Json::array();
  for (const auto& [from, to] : intervals) json.push_back({from, to});
  return json;
}

Json nest_json(const notation::SpyreNest& nest) {
  Json json;
  json["extent"] = nest.extent;
  json["host_stride"] = nest.host_stride;
  json["device_stride"] = nest.device_stride;
  json["host_offset"] = nest.host_offset;
  json["device_offset"] = nest.device_offset;
  return json;
}

std::string nest_line(const notation::SpyreNest& nest) {
  return cat("copy ", bracketed(nest.extent), ": host ", nest.host_offset, " by ",
             bracketed(nest.host_stride), ", device ", nest.device_offset, " by ",
             bracketed(nest.device_stride));
}

/// One overload per notation, for `std::visit`.
struct Teller {
  const Tensor& tensor;

  /// Notations that add nothing to what the layout shows.
  template <typename Plain>
  Result<NotationFacts> operator()(const Plain&) const {
    return NotationFacts{};
  }

  Result<NotationFacts> operator()(const notation::PyflameLayout&) const {
    NotationFacts facts;
    facts.name = "pyflame";
    facts.json["tile_shapes"] = Json::array();
    TESSERA_TRY(const std::vector<TileShape> tiles, tile_shapes(tensor.layout()));
    for (const TileShape& tile : tiles) {
      facts.json["tile_shapes"].push_back({{"places", tile.places}, {"shape", tile.shape}});
      facts.lines.push_back(
          cat("tiles of ", bracketed(tile.shape), " on ", count_of(tile.places, "PE")));
    }
    return facts;
  }

  Result<NotationFacts> operator()(const notation::SpyreLayout& words) const {
    TESSERA_TRY(const notation::SpyreFacts spyre,
                notation::facts_of(words, tensor.shape(), tensor.dtype()));
    NotationFacts facts;
    facts.name = "spyre";
    facts.json["device_size"] = spyre.device_size;
    facts.json["dim_map"] = spyre.dim_map;
    facts.json["stride_map"] = spyre.stride_map;
    facts.json["elements_per_stick"] = spyre.elements_per_stick;
    facts.json["device_bytes"] = spyre.device_bytes;
    facts.json["nests"] = Json::array();
    facts.lines.push_back(cat("device size ", bracketed(spyre.device_size), ", stride map ",
                              bracketed(spyre.stride_map),
                              spyre.dim_map ? cat(", dim map ", bracketed(*spyre.dim_map)) : ""));
    facts.lines.push_back(cat(spyre.elements_per_stick, " elements a stick, ",
                              count_of(spyre.device_bytes, "byte"), " on the device"));
    for (const notation::SpyreNest& nest : spyre.nests) {
      facts.json["nests"].push_back(nest_json(nest));
      facts.lines.push_back(nest_line(nest));
    }
    facts.json["nest_count"] = spyre.nest_count;
    return facts;
  }

  static NotationFacts metal(const notation::MetalFacts& metal) {
    NotationFacts facts;
    facts.name = "metal";
    facts.json["linear"] = metal.linear;
    facts.json["collapsed_intervals"] =
        metal.collapsed_intervals ? intervals_json(*metal.collapsed_intervals) : Json();
    facts.json["grid"] = metal.grid;
    facts.json["memref"] = metal.memref;
    facts.lines = {cat("linear ", metal.linear), cat("shards ", metal.memref)};
    return facts;
  }
  Result<NotationFacts> operator()(const notation::MetalLayout& words) const {
    TESSERA_TRY(const notation::MetalFacts facts, notation::facts_of(words, tensor.shape()));
    return metal(facts);
  }
  Result<NotationFacts> operator()(const notation::MetalTodayLayout& words) const {
    TESSERA_TRY(const notation::MetalFacts facts, notation::facts_of(words));
    NotationFacts told = metal(facts);
    told.shard_shape = facts.shard_shape;
    return told;
  }

  static NotationFacts ttnn(const notation::TtnnFacts& ttnn) {
    NotationFacts facts;
    facts.name = "ttnn";
    facts.json["grid_shape"] = ttnn.grid_shape;
    facts.json["stride"] = ttnn.stride;
    facts.json["physical_shape"] = ttnn.physical_shape;
    facts.json["shard_shape"] = ttnn.shard_shape;
    facts.json["physical_shard_shape"] = ttnn.physical_shard_shape;
    facts.lines = {
        cat("physical shape ", bracketed(ttnn.physical_shape), ", stride ", bracketed(ttnn.stride)),
        cat("shards of ", bracketed(ttnn.shard_shape), ", padded to ",
            bracketed(ttnn.physical_shard_shape), ", on a grid of ", bracketed(ttnn.grid_shape))};
    facts.shard_shape = ttnn.shard_shape;
    return facts;
  }
  Result<NotationFacts> operator()(const notation::TtnnLayout& words) const {
    TESSERA_TRY(const notation::TtnnFacts facts, notation::facts_of(words, tensor.shape()));
    NotationFacts told = ttnn(facts);
    told.shard_bytes = notation::share_bytes(words);
    told.atoms_shape = words.memref.shape;
    return told;
  }
  Result<NotationFacts> operator()(const notation::TtnnTerms& words) const {
    TESSERA_TRY(const notation::TtnnFacts facts, notation::facts_of(words, tensor.shape()));
    return ttnn(facts);
  }

  Result<NotationFacts> operator()(const notation::MorelloLayout& words) const {
    TESSERA_TRY(const notation::MorelloFacts morello, notation::facts_of(words, tensor.shape()));
    NotationFacts facts;
    facts.name = "morello";
    facts.json["physical_sizes"] = morello.physical_sizes;
    facts.json["expression"] = morello.expression;
    facts.json["contiguous"] = morello.contiguous;
    facts.lines = {cat("physical sizes ", bracketed(morello.physical_sizes)),
                   cat("slot = ", morello.expression)};
    return facts;
  }
};

}  // namespace

Result<NotationFacts> notation_facts(const Tensor& tensor) {
  return std::visit(Teller{tensor}, notation::terms_of(tensor));
}

}  // namespace tessera::tools

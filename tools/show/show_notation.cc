// SPDX-License-Identifier: Apache-2.0
#include "tools/show/show_notation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <variant>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/slots/fold_classes.h"
#include "tessera/notation/morello/facts.h"
#include "tessera/notation/spyre/facts.h"
#include "tessera/notation/terms.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

using Counts = std::map<std::vector<std::int64_t>, std::int64_t, std::greater<>>;
constexpr std::size_t kMostKinds = std::size_t{1} << 12;

/// Settings of the fold's mesh digits in this class.
std::int64_t settings(const Fold& fold, const FoldClass& kind) {
  std::int64_t total = 0;
  for (const std::vector<DigitRange>& box : kind.boxes) {
    std::int64_t volume = 1;
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target.is_mesh()) volume *= box[k].to - box[k].from;
    }
    total += volume;
  }
  return total;
}

/// The tiles that places hold, with one length per dim, and how many places hold each; full tiles
/// first.
struct TileShape {
  std::int64_t places = 0;
  std::vector<std::int64_t> shape;
};
/// For layouts whose folds are one dim each. kTooLarge for more than 2^12 kinds of tiles.
Result<std::vector<TileShape>> tile_shapes(const Layout& layout) {
  const Form& form = layout.form();
  const std::size_t rank = layout.shape().rank();
  Counts counts = {{std::vector<std::int64_t>(rank, 0), 1}};
  for (const Fold& fold : form.folds) {
    if (fold.terms.size() != 1) {
      return Error{
          ErrorCode::kNotSupported, "a line of several dims has no tile shape", std::nullopt, {}};
    }
    TESSERA_TRY(const std::vector<FoldClass> kinds, fold_classes(fold, layout.shape()));
    Counts next;
    for (const auto& [shape, places] : counts) {
      for (const FoldClass& kind : kinds) {
        std::vector<std::int64_t> longer = shape;
        longer[static_cast<std::size_t>(fold.terms.front().dim)] = kind.elements;
        next[longer] += places * settings(fold, kind);
      }
    }
    if (next.size() > kMostKinds) {
      return Error{
          ErrorCode::kTooLarge, cat("more than ", kMostKinds, " kinds of tiles"), std::nullopt, {}};
    }
    counts = std::move(next);
  }
  std::int64_t with_data = 0;
  std::vector<TileShape> tiles;
  for (const auto& [shape, places] : counts) {
    tiles.push_back({places * form.replicas(), shape});
    with_data += tiles.back().places;
  }
  // Places next to a fixed coordinate belong to no tile.
  if (with_data < layout.places()) {
    tiles.push_back({layout.places() - with_data, std::vector<std::int64_t>(rank, 0)});
  }
  return tiles;
}

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

  Result<NotationFacts> operator()(const notation::SpyreLayout& layout) const {
    TESSERA_TRY(const notation::SpyreFacts spyre,
                notation::facts_of(layout, tensor.shape(), tensor.dtype()));
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
    facts.lines.push_back(cat(spyre.elements_per_stick, " elements per stick, ",
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
  Result<NotationFacts> operator()(const notation::MetalLayout& layout) const {
    TESSERA_TRY(const notation::MetalFacts facts, notation::facts_of(layout, tensor.shape()));
    return metal(facts);
  }
  Result<NotationFacts> operator()(const notation::MetalTodayLayout& layout) const {
    TESSERA_TRY(const notation::MetalFacts facts, notation::facts_of(layout));
    NotationFacts result = metal(facts);
    result.shard_shape = facts.shard_shape;
    return result;
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
  Result<NotationFacts> operator()(const notation::TtnnLayout& layout) const {
    TESSERA_TRY(const notation::TtnnFacts facts, notation::facts_of(layout, tensor.shape()));
    NotationFacts result = ttnn(facts);
    result.shard_bytes = notation::share_bytes(layout);
    result.atoms_shape = layout.memref.shape;
    return result;
  }
  Result<NotationFacts> operator()(const notation::TtnnTerms& layout) const {
    TESSERA_TRY(const notation::TtnnFacts facts, notation::facts_of(layout, tensor.shape()));
    return ttnn(facts);
  }

  Result<NotationFacts> operator()(const notation::MorelloLayout& layout) const {
    TESSERA_TRY(const notation::MorelloFacts morello, notation::facts_of(layout, tensor.shape()));
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

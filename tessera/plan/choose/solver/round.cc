// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/round.h"

#include <algorithm>

#include "tessera/plan/choose/solver/load_tree.h"

namespace tessera::choose {

Choice rounded(const Model& model, const FloatTables& tables, const Dual& dual, bool forward,
               float scale) {
  Choice choice(model.nodes());
  LoadTree loads(model.room);
  std::vector<std::int64_t> over;
  std::vector<std::int64_t> free_bytes;
  Array<float> belief;
  for (std::uint32_t at = 0; at < model.nodes(); ++at) {
    const std::uint32_t node = forward ? at : model.nodes() - 1 - at;
    const std::uint32_t width = tables.width(node);
    const std::uint32_t count = model.strategies(node);
    if (!belief.assign(width, 0)) return choice;
    for (std::uint32_t k = 0; k < width; ++k) {
      belief[k] = tables.costs(node)[k] + scale * dual.priced(node)[k];
    }
    for (const std::uint32_t link : model.links_at(node)) {
      const bool is_a = model.links[link].a == node;
      const std::uint32_t other = model.other(link, node);
      const bool is_chosen = forward ? other < node : other > node;
      add_row(belief.data(),
              is_chosen ? tables.rows(link, !is_a) + std::size_t{choice[other]} * width
                        : dual.message(link, is_a),
              width);
    }
    over.assign(count, 0);
    for (const Model::Piece& piece : model.pieces_of(node)) {
      const std::int64_t left = -loads.largest(piece.from, piece.to);
      for (std::uint32_t k = 0; k < count; ++k) {
        over[k] = std::max(over[k], model.usages[piece.usage + k] - left);
      }
    }
    std::uint32_t best = 0;
    for (std::uint32_t k = 1; k < count; ++k) {
      if (over[k] != over[best] ? over[k] < over[best] : belief[k] < belief[best]) best = k;
    }
    choice[node] = best;
    for (const Model::Piece& piece : model.pieces_of(node)) {
      loads.add(piece.from, piece.to, model.usages[piece.usage + best]);
    }
  }
  return choice;
}

}  // namespace tessera::choose

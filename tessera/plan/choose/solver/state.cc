// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/solver/state.h"

namespace tessera::choose {

State::State(const Model& model, Choice choice)
    : model_(&model), choice_(std::move(choice)), loads_(model.room), cost_(model.constant) {
  for (std::uint32_t node = 0; node < model.nodes(); ++node) {
    cost_ += model.costs_of(node)[choice_[node]];
    for (const Model::Piece& piece : model.pieces_of(node)) {
      loads_.add(piece.from, piece.to, model.usages[piece.usage + choice_[node]]);
    }
  }
  for (const Model::Link& link : model.links) {
    const std::int64_t pair =
        model.tables[link.table + std::size_t{choice_[link.a]} * model.strategies(link.b) +
                     choice_[link.b]];
    if (pair >= kForbidden) {
      ++forbidden_;
    } else {
      cost_ += pair;
    }
  }
}

void State::change(std::uint32_t node, std::uint32_t strategy) {
  const std::uint32_t before = choice_[node];
  if (before == strategy) return;
  cost_ += model_->costs_of(node)[strategy] - model_->costs_of(node)[before];
  for (const std::uint32_t e : model_->links_at(node)) {
    const Model::Link& link = model_->links[e];
    const std::size_t width = model_->strategies(link.b);
    const std::size_t base =
        link.table + (link.a == node ? choice_[link.b] : choice_[link.a] * width);
    const std::size_t step = link.a == node ? width : 1;
    const std::int64_t old_pair = model_->tables[base + before * step];
    const std::int64_t new_pair = model_->tables[base + strategy * step];
    if (old_pair >= kForbidden) {
      --forbidden_;
    } else {
      cost_ -= old_pair;
    }
    if (new_pair >= kForbidden) {
      ++forbidden_;
    } else {
      cost_ += new_pair;
    }
  }
  for (const Model::Piece& piece : model_->pieces_of(node)) {
    const std::int64_t* usages = model_->usages.data() + piece.usage;
    loads_.add(piece.from, piece.to, usages[strategy] - usages[before]);
  }
  choice_[node] = strategy;
}

}  // namespace tessera::choose

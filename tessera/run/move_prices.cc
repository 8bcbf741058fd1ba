// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/move_prices.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/base/work.h"
#include "tessera/moves/least.h"

namespace tessera::run {
namespace {

void append(std::string& out, std::int64_t number) {
  out += std::to_string(number);
  out += ',';
}

void append(std::string& out, const Form& form) {
  for (const std::int64_t extent : form.shape.extents()) append(out, extent);
  out += 'm';
  for (const std::int64_t extent : form.mesh.extents()) append(out, extent);
  append(out, form.offset);
  for (const Fold& fold : form.folds) {
    out += 'f';
    append(out, fold.start);
    for (const Term& term : fold.terms) {
      append(out, term.dim);
      append(out, term.coef);
    }
    for (const Cut& cut : fold.cuts) {
      out += cut.target.is_mesh() ? 'c' : cut.target.is_memory() ? 'd' : 'n';
      append(out, cut.target.axis());
      append(out, cut.width);
      append(out, cut.count);
      append(out, cut.stride);
    }
  }
  for (const Fill& fill : form.fills) {
    out += 'r';
    append(out, fill.axis);
    append(out, static_cast<std::int64_t>(fill.kind));
    append(out, fill.count);
    append(out, fill.stride);
    append(out, fill.value);
    append(out, static_cast<std::int64_t>(fill.reduction));
  }
}

}  // namespace

std::string text_key(const Placement& placement) {
  const Form* form = nullptr;
  if (const Layout* const layout = placement.layout()) {
    if (layout->spec().device_map.kind() != DeviceMap::Kind::kIdentity) return "";
    form = &layout->form();
  } else if (const View* const view = placement.view()) {
    form = &view->form();
  }
  if (form == nullptr) return "";
  const Atom& atom = placement.atom();
  std::string key = cat(placement.layout() != nullptr ? "layout " : "view ",
                        dtype_name(placement.dtype()), " ", dtype_name(atom.storage), " ");
  append(key, atom.rows);
  append(key, atom.cols);
  append(key, placement.slots());
  append(key, *form);
  return key;
}

MovePrices::Number MovePrices::number_of(const moves::Stored& from, const moves::Stored& to) {
  const std::string key_a = text_key(from.placement);
  const std::string key_b = text_key(to.placement);
  const auto add = [&] {
    entries_.push_back(std::make_unique<Entry>(
        Entry{from, to, moves::least_cycles(model_.machine(), from, to), false, {}, {}}));
    return entries_.size() - 1;
  };
  if (key_a.empty() || key_b.empty()) return add();
  std::string key = cat(from.space, from.spread == target::Spread::kWhole ? ":" : ";", key_a, "->",
                        to.space, to.spread == target::Spread::kWhole ? ":" : ";", key_b);
  const auto [found, is_new] = numbers_.try_emplace(std::move(key), entries_.size());
  return is_new ? add() : found->second;
}

void MovePrices::price(Entry& entry) const {
  const Work work(kQuestionSteps);
  entry.is_priced = true;
  Result<moves::Move> priced = model_.price(entry.from, entry.to);
  if (!priced) return;
  entry.steps = std::move(priced->steps);
  double sum = 0;
  for (const moves::Step& step : entry.steps) {
    if (!step.cycles) return;
    sum += *step.cycles;
  }
  entry.cycles = sum;
}

Status MovePrices::price(const std::vector<Number>& moves, ThreadPool& pool) {
  std::vector<Number> unknown;
  for (const Number move : moves) {
    if (!entries_[move]->is_priced) unknown.push_back(move);
  }
  std::ranges::sort(unknown);
  const auto repeated = std::ranges::unique(unknown);
  unknown.erase(repeated.begin(), repeated.end());
  if (unknown.size() < 2) {
    if (!unknown.empty()) price(*entries_[unknown[0]]);
    return ok_status();
  }
  std::atomic<std::size_t> next = 0;
  return pool.run([&](int) {
    for (std::size_t n = next++; n < unknown.size(); n = next++) price(*entries_[unknown[n]]);
  });
}

std::optional<double> MovePrices::cycles(Number move) {
  Entry& entry = *entries_[move];
  if (!entry.is_priced) price(entry);
  return entry.cycles;
}

const std::vector<moves::Step>& MovePrices::steps(Number move) {
  Entry& entry = *entries_[move];
  if (!entry.is_priced) price(entry);
  return entry.steps;
}

double MovePrices::at_least(Number move) const {
  const Entry& entry = *entries_[move];
  if (!entry.is_priced) return entry.least;
  return entry.cycles.value_or(std::numeric_limits<double>::infinity());
}

std::size_t MovePrices::priced() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      entries_, [](const std::unique_ptr<Entry>& entry) { return entry->is_priced; }));
}

}  // namespace tessera::run

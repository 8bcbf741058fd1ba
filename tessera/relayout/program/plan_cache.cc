// SPDX-License-Identifier: Apache-2.0
#include "tessera/relayout/program/plan_cache.h"

#include <functional>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace tessera::relayout {
namespace {

/// A hash of a description. It covers only the parts that usually differ, so that it is cheap;
/// equality decides.
class Name {
 public:
  void add(std::int64_t number) {
    value_ = (value_ ^ static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
    value_ ^= value_ >> 32;
  }
  void add(const Shape& shape) {
    add(static_cast<std::int64_t>(shape.rank()));
    for (const std::int64_t extent : shape.extents()) add(extent);
  }
  void add(const Form& form) {
    add(form.offset);
    for (const Fold& fold : form.folds) {
      add(fold.start);
      for (const Term& term : fold.terms) {
        add(term.dim);
        add(term.coef);
      }
      for (const Cut& cut : fold.cuts) {
        add(cut.width);
        add(cut.count);
        add(cut.stride);
      }
    }
  }
  void add(const Placement& placement) {
    add(placement.shape());
    add(placement.mesh());
    add(placement.slots());
    add(static_cast<std::int64_t>(placement.atom().storage));
    const std::vector<FormPiece> pieces = form_pieces(placement);
    add(static_cast<std::int64_t>(pieces.size()));
    add(*pieces.front().form);
    add(*pieces.back().form);
  }
  std::size_t value() const { return static_cast<std::size_t>(value_); }

 private:
  std::uint64_t value_ = 0x853C49E6748FEA9BU;
};

struct Move {
  Placement from;
  Placement to;
  PaddingRule padding = PaddingRule::kPromised;
  PlanOptions options;
};

}  // namespace

struct PlanCache::State {
  struct Entry {
    std::size_t name = 0;
    Move move;
    Plan plan;
  };
  using Entries = std::list<Entry>;

  explicit State(std::size_t most) : capacity(most) {}

  /// The entry of a move, or the end.
  Entries::iterator find(std::size_t name, const Placement& from, const Placement& to,
                         PaddingRule padding, const PlanOptions& options) {
    const auto [first, last] = by_name.equal_range(name);
    for (auto at = first; at != last; ++at) {
      const Move& move = at->second->move;
      if (move.padding == padding && move.options == options && move.from == from &&
          move.to == to) {
        return at->second;
      }
    }
    return entries.end();
  }

  void forget(Entries::iterator entry) {
    const auto [first, last] = by_name.equal_range(entry->name);
    for (auto at = first; at != last; ++at) {
      if (at->second != entry) continue;
      by_name.erase(at);
      break;
    }
    entries.erase(entry);
  }

  const std::size_t capacity;
  std::mutex mutex;
  Entries entries;  // most recently used first
  std::unordered_multimap<std::size_t, Entries::iterator> by_name;
  std::int64_t hits = 0;
  std::int64_t misses = 0;
};

PlanCache::PlanCache(std::size_t capacity) : state_(std::make_unique<State>(capacity)) {}
PlanCache::~PlanCache() = default;

Result<Plan> PlanCache::plan(const Placement& from, const Placement& to, PaddingRule padding,
                             const PlanOptions& options) {
  Name named;
  named.add(from);
  named.add(to);
  const std::size_t name = named.value();
  {
    const std::lock_guard lock(state_->mutex);
    const auto entry = state_->find(name, from, to, padding, options);
    if (entry != state_->entries.end()) {
      ++state_->hits;
      state_->entries.splice(state_->entries.begin(), state_->entries, entry);
      return entry->plan;
    }
    ++state_->misses;
  }
  // Made without holding the lock, so that other threads need not wait.
  TESSERA_TRY(Program program, make_program(from, to, padding));
  TESSERA_TRY(Plan plan, Plan::make(std::move(program), options));
  if (state_->capacity == 0) return plan;
  State::Entry entry{name, {from, to, padding, options}, plan};
  const std::lock_guard lock(state_->mutex);
  if (state_->find(name, from, to, padding, options) != state_->entries.end()) return plan;
  if (state_->entries.size() == state_->capacity) state_->forget(std::prev(state_->entries.end()));
  state_->entries.push_front(std::move(entry));
  state_->by_name.emplace(name, state_->entries.begin());
  return plan;
}

PlanCache::Counts PlanCache::counts() const {
  const std::lock_guard lock(state_->mutex);
  return {state_->entries.size(), state_->hits, state_->misses};
}

std::size_t PlanCache::capacity() const { return state_->capacity; }

void PlanCache::clear() {
  const std::lock_guard lock(state_->mutex);
  state_->by_name.clear();
  state_->entries.clear();
}

}  // namespace tessera::relayout

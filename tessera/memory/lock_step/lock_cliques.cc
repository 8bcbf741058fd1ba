// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/lock_step/lock_cliques.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::memory {
namespace {

constexpr std::int64_t kMostMembers = std::int64_t{1} << 16;  ///< of all cliques together
constexpr std::int64_t kMostWork = std::int64_t{1} << 24;     ///< conflicts visited to add blocks

using Numbers = std::vector<std::uint32_t>;

/// The fullest class of each section and the fullest section of each class, as (section, class).
std::vector<std::pair<std::size_t, std::size_t>> fullest(const Relation& relation,
                                                         const LockBlocks& blocks) {
  const auto sections = static_cast<std::size_t>(relation.packing.sections);
  std::vector<std::pair<std::int64_t, std::size_t>> of_section(sections, {0, 0});
  std::vector<std::pair<std::size_t, std::size_t>> out;
  std::vector<std::int64_t> live(sections + 1);
  for (std::size_t c = 0; c < relation.classes; ++c) {
    std::fill(live.begin(), live.end(), 0);
    for (const LockBlock& own : blocks.blocks) {
      const Block& block = relation.packing.blocks[own.id];
      const std::int64_t size = relation.size(own.id, c);
      live[static_cast<std::size_t>(block.from)] += size;
      live[static_cast<std::size_t>(block.to)] -= size;
    }
    std::partial_sum(live.begin(), live.end(), live.begin());
    for (std::size_t s = 0; s < sections; ++s) {
      if (live[s] > of_section[s].first) of_section[s] = {live[s], c};
    }
    const auto most = std::max_element(live.begin(), live.end());
    if (*most > 0) out.emplace_back(static_cast<std::size_t>(most - live.begin()), c);
  }
  for (std::size_t s = 0; s < sections; ++s) {
    if (of_section[s].first > 0) out.emplace_back(s, of_section[s].second);
  }
  return out;
}

/// A clique that grows block by block.
class Growing {
 public:
  Growing(const LockBlocks& blocks, std::int64_t& work)
      : blocks_(blocks), work_(work), met_(blocks.count(), 0), clears_(blocks.count(), -1) {}

  void add(std::uint32_t b) {
    clears_[b] = INT64_MAX;
    for (const Meeting& meeting : blocks_.blocks[b].meetings) {
      ++met_[meeting.other];
      if (clears_[meeting.other] < 0) continue;
      clears_[b] = std::min(clears_[b], meeting.clear_us);
      clears_[meeting.other] = std::min(clears_[meeting.other], meeting.clear_other);
    }
    work_ += static_cast<std::int64_t>(blocks_.blocks[b].meetings.size());
    members_.push_back(b);
  }

  /// Adds the block that adds the most to the sum, as long as one does.
  void grow() {
    while (work_ < kMostWork) {
      std::pair<std::int64_t, std::uint32_t> best = {0, 0};
      for (const Meeting& meeting : blocks_.blocks[members_[0]].meetings) {
        const std::uint32_t b = meeting.other;
        if (clears_[b] >= 0 || met_[b] != members_.size()) continue;
        best = std::max(best, {gain(b), b});
      }
      if (best.first <= 0) return;
      add(best.second);
    }
  }

  LockClique done() {
    std::sort(members_.begin(), members_.end());
    // If every offset is a multiple of `step`, all blocks but the top take whole steps.
    std::int64_t step = 0;
    for (const std::uint32_t b : members_) step = std::gcd(step, blocks_.blocks[b].alignment);
    LockClique clique;
    for (const std::uint32_t b : members_) {
      const std::int64_t clears = align_up(clears_[b], step);
      clique.members.push_back({b, clears, blocks_.blocks[b].size - clears});
    }
    return clique;
  }

 private:
  /// The amount by which block b increases the sum of the bytes that must be cleared.
  std::int64_t gain(std::uint32_t b) {
    std::int64_t own = INT64_MAX;
    std::int64_t lost = 0;
    for (const Meeting& meeting : blocks_.blocks[b].meetings) {
      const std::int64_t before = clears_[meeting.other];
      if (before < 0) continue;
      own = std::min(own, meeting.clear_us);
      lost += before - std::min(before, meeting.clear_other);
    }
    work_ += static_cast<std::int64_t>(blocks_.blocks[b].meetings.size());
    return own - lost;
  }

  const LockBlocks& blocks_;
  std::int64_t& work_;
  Numbers members_;
  std::vector<std::size_t> met_;      // number of members that conflict with a block
  std::vector<std::int64_t> clears_;  // of members; -1 for others
};

}  // namespace

std::vector<LockClique> find_cliques(const Relation& relation, const LockBlocks& blocks) {
  std::vector<Numbers> seeds;
  std::int64_t members = 0;
  for (const auto& [section, c] : fullest(relation, blocks)) {
    Numbers seed;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      const Block& block = relation.packing.blocks[blocks.blocks[b].id];
      if (static_cast<std::size_t>(block.from) <= section &&
          section < static_cast<std::size_t>(block.to) &&
          relation.size(blocks.blocks[b].id, c) > 0) {
        seed.push_back(static_cast<std::uint32_t>(b));
      }
    }
    members += static_cast<std::int64_t>(seed.size());
    if (members > kMostMembers) break;
    if (seed.size() > 1) seeds.push_back(std::move(seed));
  }
  std::sort(seeds.begin(), seeds.end());
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  std::vector<LockClique> out;
  std::int64_t work = 0;
  for (const Numbers& seed : seeds) {
    if (work >= kMostWork) break;
    Growing growing(blocks, work);
    for (const std::uint32_t b : seed) growing.add(b);
    growing.grow();
    out.push_back(growing.done());
  }
  return out;
}

}  // namespace tessera::memory

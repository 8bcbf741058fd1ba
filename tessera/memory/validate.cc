// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/validate.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "tessera/base/decimal.h"
#include "tessera/base/text.h"

namespace tessera::memory {
namespace {

/// Holds every sum of two 64-bit numbers, so that the end of a hostile offset cannot wrap around.
using Wide = __int128;

/// "[16, 24)".
std::string range(Wide from, Wide to) { return cat("[", decimal(from), ", ", decimal(to), ")"); }

/// Memory that is one range for some time: a buffer, with all of its parts that are at their
/// positions; or what a buffer keeps of itself between two ends of its gaps.
struct Extent {
  std::size_t buffer = 0;  ///< that contains all the others
  std::size_t family = 0;  ///< extents that share memory by aliases, correctly placed or not
  std::size_t members = 0;
  bool has_bytes = false;
  bool is_slice = false;  ///< of the life of a buffer with gaps
  std::int64_t birth = INT64_MAX;
  std::int64_t death = INT64_MIN;
  std::int64_t first = INT64_MAX;  ///< byte, used or not
  /// The last used byte, inclusive; INT64_MAX when it is beyond that. First bytes never are, so
  /// comparing them with this value gives the same answer as with the true one.
  std::int64_t last = INT64_MIN;

  void add(const Buffer& part, std::int64_t offset) {
    ++members;
    birth = std::min(birth, part.lower);
    death = std::max(death, part.upper);
    first = std::min(first, offset);
    if (part.size <= 0) return;
    has_bytes = true;
    last = static_cast<std::int64_t>(
        std::max<Wide>(last, std::min<Wide>(Wide{offset} + part.size - 1, INT64_MAX)));
  }
};

class Validator {
 public:
  Validator(const Problem& problem, std::span<const std::int64_t> offsets,
            std::optional<std::int64_t> capacity, std::size_t most)
      : buffers_(problem.buffers), offsets_(offsets), capacity_(capacity), most_(most) {}

  std::vector<Finding> run() {
    if (offsets_.size() != buffers_.size()) {
      report(Flaw::kWrongCount, std::min(offsets_.size(), buffers_.size()), {},
             cat("the plan has ", offsets_.size(), " offsets for ", buffers_.size(), " buffers"));
      return std::move(findings_);
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i) one(i);
    pairs();
    std::sort(findings_.begin(), findings_.end(), [](const Finding& a, const Finding& b) {
      return std::tie(a.buffer, a.flaw, a.other) < std::tie(b.buffer, b.flaw, b.other);
    });
    return std::move(findings_);
  }

 private:
  bool enough() const { return findings_.size() >= most_; }

  void report(Flaw flaw, std::size_t buffer, std::optional<std::size_t> other, std::string text) {
    if (!enough()) findings_.push_back({flaw, buffer, other, std::move(text)});
  }

  /// What can be wrong with a buffer alone, or with its position in the buffer that it is part of.
  void one(std::size_t i) {
    const Buffer& buffer = buffers_[i];
    const std::int64_t offset = offsets_[i];
    const std::string at = cat("buffer ", i, " at offset ", offset);
    if (offset < 0) report(Flaw::kNegative, i, {}, at + " begins below 0");
    const Wide end = Wide{offset} + buffer.size;
    if (buffer.size > 0 && end > capacity_.value_or(INT64_MAX)) {
      report(Flaw::kBeyondCapacity, i, {},
             cat(at, " with ", buffer.size, " bytes ends at ", decimal(end), ", above ",
                 capacity_ ? cat("the capacity ", *capacity_) : cat("2^63 - 1")));
    }
    if (buffer.alignment < 1 || offset % buffer.alignment != 0) {
      report(Flaw::kMisaligned, i, {},
             cat(at, " is not at a multiple of its alignment ", buffer.alignment));
    }
    if (buffer.fixed && *buffer.fixed != offset) {
      report(Flaw::kMoved, i, {}, cat(at, " must be at ", *buffer.fixed));
    }
    if (buffer.alias && torn(i)) {
      const auto [of, delta] = *buffer.alias;
      report(Flaw::kTornAlias, i, of,
             of >= buffers_.size()
                 ? cat(at, " is part of buffer ", of, ", and there are ", buffers_.size())
                 : cat(at, " is the part at ", delta, " of buffer ", of, ", which is at ",
                       offsets_[of], ": expected ", decimal(Wide{offsets_[of]} + delta)));
    }
  }

  bool torn(std::size_t i) const {
    const Alias& alias = *buffers_[i].alias;
    return alias.of >= buffers_.size() ||
           Wide{offsets_[alias.of]} + alias.delta != Wide{offsets_[i]};
  }

  /// For each buffer, the end of its chain of aliases: of correctly placed ones only if `whole`,
  /// otherwise of all. A cyclic chain ends where it closes.
  std::vector<std::size_t> ends_of_chains(bool whole) const {
    constexpr std::size_t kUnknown = SIZE_MAX;
    constexpr std::size_t kOnTheWay = SIZE_MAX - 1;
    std::vector<std::size_t> ends(buffers_.size(), kUnknown);
    std::vector<std::size_t> chain;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      std::size_t at = i;
      while (ends[at] == kUnknown) {
        ends[at] = kOnTheWay;
        chain.push_back(at);
        const std::optional<Alias>& alias = buffers_[at].alias;
        if (alias && alias->of < buffers_.size() && !(whole && torn(at))) at = alias->of;
      }
      const std::size_t end = ends[at] == kOnTheWay ? at : ends[at];
      for (; !chain.empty(); chain.pop_back()) ends[chain.back()] = end;
    }
    return ends;
  }

  std::vector<Extent> extents() const {
    const std::vector<std::size_t> families = ends_of_chains(false);
    const std::vector<std::size_t> wholes = ends_of_chains(true);
    std::vector<Extent> extents(buffers_.size());
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      Extent& extent = extents[wholes[i]];
      extent.buffer = wholes[i];
      extent.family = families[i];
      extent.add(buffers_[i], offsets_[i]);
    }
    std::vector<std::size_t> members(buffers_.size());
    for (const std::size_t family : families) ++members[family];
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (buffers_[i].gaps.empty() || members[families[i]] != 1) continue;
      slice(i, families[i], extents);
      extents[i].has_bytes = false;
    }
    std::erase_if(extents, [](const Extent& extent) {
      return !extent.has_bytes || extent.birth >= extent.death;
    });
    return extents;
  }

  /// Adds what a buffer keeps between its gaps, and in each of them.
  void slice(std::size_t i, std::size_t family, std::vector<Extent>& extents) const {
    const Buffer& buffer = buffers_[i];
    const auto add = [&](std::int64_t birth, std::int64_t death, Wide from, Wide to) {
      const Wide start = Wide{offsets_[i]} + from;
      if (birth >= death || from >= to || start > INT64_MAX || start < INT64_MIN) return;
      Buffer kept;
      kept.lower = birth;
      kept.upper = death;
      kept.size = static_cast<std::int64_t>(std::min<Wide>(to - from, INT64_MAX));
      Extent& extent = extents.emplace_back();
      extent.buffer = i;
      extent.family = family;
      extent.is_slice = true;
      extent.add(kept, static_cast<std::int64_t>(start));
    };
    std::vector<Gap> gaps = buffer.gaps;
    std::sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) {
      return a.lower != b.lower ? a.lower < b.lower : a.upper < b.upper;
    });
    std::int64_t done = buffer.lower;
    for (const Gap& gap : gaps) {
      const std::int64_t from = std::clamp(gap.lower, done, std::max(done, buffer.upper));
      const std::int64_t to = std::clamp(gap.upper, from, std::max(from, buffer.upper));
      add(done, from, 0, buffer.size);
      add(from, to, gap.kept_from, gap.kept_to);
      done = to;
    }
    add(done, buffer.upper, 0, buffer.size);
  }

  /// True when no two of these, sorted by birth, share a byte at any moment. As long as that holds,
  /// live extents lie one above the other, and a new one can only overlap the one that begins below
  /// it or the one that begins above. So millions that are live together can be checked quickly.
  static bool lie_apart(const std::vector<Extent>& by_birth) {
    std::vector<const Extent*> by_death;
    for (const Extent& extent : by_birth) by_death.push_back(&extent);
    std::sort(by_death.begin(), by_death.end(),
              [](const Extent* a, const Extent* b) { return a->death < b->death; });
    std::map<std::int64_t, std::int64_t> alive;  // last byte by first byte
    std::size_t dead = 0;
    for (const Extent& born : by_birth) {
      for (; by_death[dead]->death <= born.birth; ++dead) alive.erase(by_death[dead]->first);
      const auto above = alive.lower_bound(born.first);
      if (above != alive.end() && above->first <= born.last) return false;
      if (above != alive.begin() && std::prev(above)->second >= born.first) return false;
      alive.emplace_hint(above, born.first, born.last);
    }
    return true;
  }

  /// Compares every extent with all those that are live when it is born.
  void pairs() {
    std::vector<Extent> all = extents();
    std::sort(all.begin(), all.end(), [](const Extent& a, const Extent& b) {
      return std::tie(a.birth, a.buffer) < std::tie(b.birth, b.buffer);
    });
    if (lie_apart(all)) return;
    // Only the data that are compared, so that many live extents stay in cache.
    struct Living {
      std::int64_t first, last, death;
      const Extent* extent;
    };
    std::vector<Living> alive;
    for (const Extent& born : all) {
      if (enough()) return;
      for (std::size_t k = 0; k < alive.size();) {
        const Living& other = alive[k];
        if (other.death <= born.birth) {
          alive[k] = alive.back();
          alive.pop_back();
          continue;
        }
        if (other.first <= born.last && born.first <= other.last) meet(*other.extent, born);
        ++k;
      }
      alive.push_back({born.first, born.last, born.death, &born});
    }
  }

  void meet(const Extent& a, const Extent& b) {
    if (a.family == b.family || enough()) return;
    const Extent& low = a.buffer < b.buffer ? a : b;
    const Extent& high = a.buffer < b.buffer ? b : a;
    if ((a.is_slice || b.is_slice) && is_reported(low.buffer, high.buffer)) return;
    report(Flaw::kOverlap, low.buffer, high.buffer,
           cat(described(low), " and ", described(high), " share bytes ",
               range(std::max(a.first, b.first), Wide{std::min(a.last, b.last)} + 1), " at moment ",
               std::max(a.birth, b.birth)));
  }

  /// Whether an overlap of these two was found already, at another moment.
  bool is_reported(std::size_t low, std::size_t high) const {
    return std::any_of(findings_.begin(), findings_.end(), [&](const Finding& finding) {
      return finding.flaw == Flaw::kOverlap && finding.buffer == low && finding.other == high;
    });
  }

  static std::string described(const Extent& extent) {
    const std::string_view aliases = extent.members > 1 ? " with its aliases" : "";
    return cat("buffer ", extent.buffer, aliases, " (bytes ",
               range(extent.first, Wide{extent.last} + 1), extent.is_slice ? " in " : ", life ",
               range(extent.birth, extent.death), ")");
  }

  const std::vector<Buffer>& buffers_;
  std::span<const std::int64_t> offsets_;
  std::optional<std::int64_t> capacity_;
  std::size_t most_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view flaw_name(Flaw flaw) {
  switch (flaw) {
    case Flaw::kWrongCount:
      return "wrong_count";
    case Flaw::kNegative:
      return "negative";
    case Flaw::kBeyondCapacity:
      return "beyond_capacity";
    case Flaw::kMisaligned:
      return "misaligned";
    case Flaw::kMoved:
      return "moved";
    case Flaw::kTornAlias:
      return "torn_alias";
    case Flaw::kOverlap:
      return "overlap";
  }
  return "unknown";
}

std::vector<Finding> validate(const Problem& problem, std::span<const std::int64_t> offsets,
                              std::optional<std::int64_t> capacity, std::size_t most) {
  return Validator(problem, offsets, capacity, most).run();
}

}  // namespace tessera::memory

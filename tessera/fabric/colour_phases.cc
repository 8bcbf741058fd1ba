// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/colour_phases.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

constexpr std::int64_t kMaxLooks = std::int64_t{1} << 31;
constexpr std::int64_t kMaxMarks = std::int64_t{1} << 25;

/// The colours that routers see, phase by phase, as sets of bits.
class ColourTable {
 public:
  ColourTable(const XyTrees& trees, std::int32_t rows, std::int32_t cols, std::int64_t budget)
      : trees_(trees),
        cols_(cols),
        all_((std::uint64_t{1} << budget) - 1),
        seen_(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols)),
        open_(seen_.size(), 0) {}

  /// Takes the first free colour of a tree in the first phase from `earliest` on that has one.
  Result<PhaseColour> take(std::size_t tree, std::int32_t earliest) {
    routers_.clear();
    trees_.for_each(tree, [&](RouterAt at, TreeCell) {
      routers_.push_back(static_cast<std::size_t>(at.row * cols_ + at.col));
    });
    std::int32_t phase = earliest;
    for (const std::size_t router : routers_) phase = std::max(phase, open_[router]);
    for (;; ++phase) {
      const auto p = static_cast<std::size_t>(phase);
      std::uint64_t taken = 0;
      for (const std::size_t router : routers_) {
        if (p < seen_[router].size()) taken |= seen_[router][p];
      }
      looks_ += static_cast<std::int64_t>(routers_.size());
      if (looks_ > kMaxLooks) return too_large();
      if (taken == all_) continue;
      for (const std::size_t router : routers_) {
        const std::size_t known = seen_[router].size();
        marks_ += static_cast<std::int64_t>(p < known ? 0 : p + 1 - known);
      }
      if (marks_ > kMaxMarks) return too_large();
      const int colour = std::countr_zero(~taken);
      mark(p, std::uint64_t{1} << colour);
      return PhaseColour{phase, colour};
    }
  }

 private:
  void mark(std::size_t phase, std::uint64_t colour) {
    for (const std::size_t router : routers_) {
      std::vector<std::uint64_t>& seen = seen_[router];
      if (seen.size() <= phase) seen.resize(phase + 1);
      seen[phase] |= colour;
      std::int32_t& open = open_[router];
      while (static_cast<std::size_t>(open) < seen.size() &&
             seen[static_cast<std::size_t>(open)] == all_)
        ++open;
    }
  }

  static Error too_large() {
    return Error{ErrorCode::kTooLarge,
                 cat("assigning messages to phases takes more than ", kMaxLooks,
                     " checks of a router, or ", kMaxMarks, " pairs of router and phase"),
                 std::nullopt, "use the ideal mode, or simulate fewer messages at a time"};
  }

  const XyTrees& trees_;
  std::int32_t cols_;
  std::uint64_t all_;
  std::vector<std::vector<std::uint64_t>> seen_;  ///< of each router, in each phase
  std::vector<std::int32_t> open_;    ///< in all phases before this, a router sees all colours
  std::vector<std::size_t> routers_;  ///< of the current tree
  std::int64_t looks_ = 0;
  std::int64_t marks_ = 0;
};

}  // namespace

Result<ColourPhases> deal_to_phases(const Traffic& traffic, std::span<const std::uint32_t> order,
                                    const XyTrees& trees, std::span<const std::uint32_t> tree_of,
                                    std::int32_t rows, std::int32_t cols, std::int64_t budget) {
  ColourTable table(trees, rows, cols, budget);
  ColourPhases dealt;
  dealt.messages.resize(traffic.messages.size());
  std::vector<PhaseColour> last_of_tree(trees.count(), PhaseColour{-1, 0});
  std::unordered_map<std::int32_t, std::int32_t> last_of_source;
  for (const std::uint32_t m : order) {
    const FabricMessage& message = traffic.messages[m];
    std::int32_t& before = last_of_source[message.source];
    std::int32_t earliest = before;
    for (const std::int64_t awaited : traffic.after_of(message)) {
      earliest = std::max(earliest, dealt.messages[static_cast<std::size_t>(awaited)].phase);
    }
    PhaseColour& last = last_of_tree[tree_of[m]];
    if (last.phase < earliest) {
      TESSERA_TRY(last, table.take(tree_of[m], earliest));
    }
    dealt.messages[m] = last;
    before = last.phase;
    dealt.phases = std::max(dealt.phases, last.phase + 1);
    dealt.colours = std::max(dealt.colours, last.colour + 1);
  }
  return dealt;
}

}  // namespace tessera::fabric

// SPDX-License-Identifier: Apache-2.0
#include "tools/graph/repeated_layers.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kMostPeriods = 16;  ///< tried for each fold, the most frequent ones
constexpr int kMostFolds = 64;
constexpr std::size_t kNone = SIZE_MAX;

/// `times` repetitions of `period` nodes from position `first` of the nodes that are left.
struct Run {
  std::size_t first = 0;
  std::size_t period = 0;
  std::size_t times = 0;
  std::size_t saved() const { return times < 2 ? 0 : (times - 1) * period; }
};

class Folder {
 public:
  explicit Folder(const graph::Graph& graph)
      : graph_(graph), producer_(graph.values.size(), kNone) {
    std::unordered_map<std::string, std::size_t> numbers;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      for (const graph::ValueId v : graph.nodes[n].outputs) producer_[v] = n;
      kind_.push_back(numbers.try_emplace(text_of(graph.nodes[n]), numbers.size()).first->second);
      folded_.shown.push_back(n);
      folded_.stands_for.push_back(n);
    }
    position_ = folded_.shown;
    next_kind_ = numbers.size();
  }

  FoldedGraph run(std::size_t enough) {
    for (int folds = 0; folds < kMostFolds && folded_.shown.size() > enough; ++folds) {
      const Run best = find_best();
      if (best.saved() == 0) break;
      fold(best);
    }
    return std::move(folded_);
  }

 private:
  /// Everything about a node but names and which nodes it reads.
  std::string text_of(const graph::Node& node) const {
    std::string text(node.op.name());
    for (const auto& [name, value] : node.attributes) {
      text += cat(" ", name, "=", graph::to_string(value));
    }
    for (const graph::ValueId v : node.inputs) {
      if (v == graph::kAbsent) {
        text += " -";
        continue;
      }
      const graph::Value& value = graph_.values[v];
      const bool is_weight =
          value.kind == graph::Kind::kParameter || value.kind == graph::Kind::kConstant;
      text += cat(is_weight ? " weight " : " ", value.type.to_string());
    }
    for (const graph::ValueId v : node.outputs) text += " " + graph_.values[v].type.to_string();
    return text;
  }

  std::size_t kind_at(std::size_t position) const { return kind_[folded_.shown[position]]; }

  /// Distances between equal nodes, the most frequent first.
  std::vector<std::size_t> periods() const {
    std::unordered_map<std::size_t, std::size_t> last;  // by kind
    std::map<std::size_t, std::size_t> counts;
    for (std::size_t i = 0; i < folded_.shown.size(); ++i) {
      const auto [at, fresh] = last.try_emplace(kind_at(i), i);
      if (!fresh) ++counts[i - at->second];
      at->second = i;
    }
    std::vector<std::pair<std::size_t, std::size_t>> order(counts.begin(), counts.end());
    std::ranges::sort(order, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < std::min(order.size(), kMostPeriods); ++i) {
      out.push_back(order[i].first);
    }
    return out;
  }

  Run find_best() const {
    Run best;
    for (const std::size_t period : periods()) {
      const std::size_t count = folded_.shown.size();
      std::size_t from = 0;
      for (std::size_t i = 0; i + period <= count; ++i) {
        const bool same = i + period < count && kind_at(i) == kind_at(i + period);
        if (same) continue;
        // Positions from .. i - 1 are equal to those one period on.
        if (i - from >= period) {
          const Run run = longest_in(from, period, (i - from) / period + 1);
          const bool better = run.saved() > best.saved() ||
                              (run.saved() == best.saved() && run.period < best.period);
          if (better) best = run;
        }
        from = i + 1;
      }
    }
    return best;
  }

  /// The longest part of these repetitions in which each reads like the one before.
  Run longest_in(std::size_t first, std::size_t period, std::size_t times) const {
    Run best;
    Run run{first, period, 1};
    for (std::size_t t = 1; t < times; ++t) {
      if (reads_alike(run, t - (run.first - first) / period)) {
        ++run.times;
      } else {
        run = {first + t * period, period, 1};
      }
      if (run.saved() > best.saved()) best = run;
    }
    return best;
  }

  /// Whether repetition t of a run reads like repetition t - 1.
  bool reads_alike(const Run& run, std::size_t t) const {
    const std::size_t start = run.first + t * run.period;
    for (std::size_t i = start; i < start + run.period; ++i) {
      const graph::Node& now = graph_.nodes[folded_.shown[i]];
      const graph::Node& before = graph_.nodes[folded_.shown[i - run.period]];
      for (std::size_t k = 0; k < now.inputs.size(); ++k) {
        if (now.inputs[k] == graph::kAbsent) continue;
        const std::size_t a = source(now.inputs[k]);
        const std::size_t b = source(before.inputs[k]);
        if (a == kNone || a < run.first) {  // given, or from before all: its own, or the same
          if (a != b) return false;
        } else if (a >= start || t > 1) {
          if (a + run.period < start || b != a - run.period) return false;
        } else if (b != kNone && b >= run.first) {  // the first time reads from before it
          return false;
        }
      }
    }
    return true;
  }

  /// The position of the node that is shown for the one that computes a value; kNone if it is
  /// given.
  std::size_t source(graph::ValueId v) const {
    return producer_[v] == kNone ? kNone : position_[folded_.stands_for[producer_[v]]];
  }

  void fold(const Run& run) {
    const auto begin = folded_.shown.begin() + static_cast<std::ptrdiff_t>(run.first);
    RepeatedLayer layer;
    layer.times = static_cast<std::int64_t>(run.times);
    layer.nodes.assign(begin, begin + static_cast<std::ptrdiff_t>(run.period));
    std::unordered_map<std::size_t, std::size_t> moved;
    for (std::size_t i = 0; i < run.times * run.period; ++i) {
      moved.emplace(folded_.shown[run.first + i], layer.nodes[i % run.period]);
    }
    for (std::size_t& node : folded_.stands_for) {
      const auto at = moved.find(node);
      if (at != moved.end()) node = at->second;
    }
    // A node of a layer is in no other one.
    for (const std::size_t n : layer.nodes) kind_[n] = next_kind_++;
    folded_.shown.erase(begin + static_cast<std::ptrdiff_t>(run.period),
                        begin + static_cast<std::ptrdiff_t>(run.times * run.period));
    for (std::size_t i = 0; i < folded_.shown.size(); ++i) position_[folded_.shown[i]] = i;
    folded_.layers.push_back(std::move(layer));
  }

  const graph::Graph& graph_;
  std::vector<std::size_t> producer_;  ///< of each value, a node
  std::vector<std::size_t> kind_;      ///< of each node; equal for equal texts
  std::vector<std::size_t> position_;  ///< of shown nodes in `shown`
  std::size_t next_kind_ = 0;
  FoldedGraph folded_;
};

}  // namespace

FoldedGraph fold_repeated_layers(const graph::Graph& graph, std::size_t enough) {
  return Folder(graph).run(enough);
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tessera/memory/advice.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/memory/solver/packing.h"

namespace tessera::memory {
namespace {

constexpr std::size_t kMaxTried = 64;  ///< pairs of an op for which in-place is tried

/// Bytes of a panel of `panel` steps when only `steps` are kept at a time.
std::int64_t panel_bytes(const Scratch& scratch, std::int64_t steps) {
  // bytes · steps / panel, rounded up, without the product.
  const std::int64_t whole = scratch.bytes / scratch.panel;
  const std::int64_t rest = scratch.bytes % scratch.panel;
  const Checked part = Checked(rest) * steps;
  return whole * steps + (part.overflowed() ? rest : ceil_div(part.raw(), scratch.panel));
}

class Adviser {
 public:
  Adviser(const Program& program, const FitsInside& inside, std::span<const std::int64_t> sizes,
          const Shortfall& shortfall, std::int64_t align_bytes)
      : program_(program),
        inside_(inside),
        sizes_(sizes),
        shortfall_(shortfall),
        align_(align_bytes),
        op_(static_cast<std::size_t>(shortfall.moment)) {
    scratch_ = program.values.size();
    for (std::size_t k = 0; k < op_; ++k) scratch_ += program.ops[k].scratch.size();
  }

  std::vector<Advice> run() {
    try_panels();
    try_buffers();
    try_in_place();
    std::sort(found_.begin(), found_.end(),
              [](const Advice& a, const Advice& b) { return a.saves_bytes > b.saves_bytes; });
    return std::move(found_);
  }

 private:
  const Op& op() const { return program_.ops[op_]; }
  std::string op_name() const {
    return op().name.empty() ? cat("op ", op_) : quote_name(op().name);
  }
  std::string name(std::size_t v) const {
    return program_.values[v].name.empty() ? cat("value ", v) : quote_name(program_.values[v].name);
  }
  /// True when the place of the shortfall has this scratch of the op.
  bool is_here(std::size_t i) const { return sizes_[scratch_ + i] > 0; }

  void add(Advice advice) {
    if (advice.saves_bytes <= 0) return;
    advice.op = op_;
    advice.enough = advice.saves_bytes >= shortfall_.missing();
    found_.push_back(std::move(advice));
  }

  std::int64_t panel_saves(std::int64_t panel, std::int64_t steps) const {
    std::int64_t saved = 0;
    for (std::size_t i = 0; i < op().scratch.size(); ++i) {
      const Scratch& scratch = op().scratch[i];
      if (scratch.panel != panel || !is_here(i)) continue;
      saved += sizes_[scratch_ + i] - align_up(panel_bytes(scratch, steps), align_);
    }
    return saved;
  }

  /// The most steps of K that save the missing bytes, or one step when even that does not.
  void try_panels() {
    std::set<std::int64_t> panels;
    for (std::size_t i = 0; i < op().scratch.size(); ++i) {
      if (op().scratch[i].panel > 1 && is_here(i)) panels.insert(op().scratch[i].panel);
    }
    for (const std::int64_t panel : panels) {
      std::int64_t steps = 1;
      for (std::int64_t low = 1, high = panel - 1; low <= high;) {
        const std::int64_t middle = low + (high - low) / 2;
        if (panel_saves(panel, middle) >= shortfall_.missing()) {
          steps = middle;
          low = middle + 1;
        } else {
          high = middle - 1;
        }
      }
      Advice advice;
      advice.remedy = Remedy::kSmallerPanel;
      advice.saves_bytes = panel_saves(panel, steps);
      advice.panel = steps;
      advice.panel_was = panel;
      advice.text =
          cat("block K: panels of ", steps, " steps instead of ", panel, " in ", op_name());
      add(std::move(advice));
    }
  }

  void try_buffers() {
    for (std::size_t i = 0; i < op().scratch.size(); ++i) {
      const Scratch& scratch = op().scratch[i];
      if (scratch.buffers < 2 || !is_here(i)) continue;
      const std::int64_t one = scratch.bytes / scratch.buffers;
      if (one == 0) continue;
      const std::int64_t left = scratch.bytes - shortfall_.missing();
      Advice advice;
      advice.remedy = Remedy::kSmallerBuffers;
      advice.scratch = i;
      advice.buffers = scratch.buffers;
      advice.bytes = left <= 0 ? 0 : left / scratch.buffers / align_ * align_;
      if (advice.bytes == 0) {  // smaller ones are not enough: then one buffer, without overlap
        advice.buffers = 1;
        advice.bytes = one;
      }
      advice.saves_bytes = sizes_[scratch_ + i] - align_up(advice.bytes * advice.buffers, align_);
      advice.text =
          cat("smaller buffers: ", advice.buffers, " of ", advice.bytes, " bytes instead of ",
              scratch.buffers, " of ", one, " for ", quote_name(scratch.name), " in ", op_name(),
              advice.buffers == 1 ? ", but load and compute then alternate" : "");
      add(std::move(advice));
    }
  }

  void try_in_place() {
    const Result<Lifetimes> before = lifetimes(program_, inside_);
    if (!before) return;
    std::size_t tried = 0;
    const std::set<std::size_t> inputs(op().inputs.begin(), op().inputs.end());
    for (const std::size_t output : op().outputs) {
      if (before->buffers[output].alias || sizes_[output] == 0) continue;
      for (const std::size_t input : inputs) {
        if (sizes_[input] == 0 || tried++ >= kMaxTried) continue;
        Advice advice;
        advice.remedy = Remedy::kInPlace;
        advice.op = op_;
        advice.output = output;
        advice.input = input;
        const Result<Lifetimes> after = lifetimes(followed(program_, advice, align_), inside_);
        if (!after || !after->buffers[output].alias) continue;
        advice.saves_bytes = live_at(*before, sizes_, shortfall_.moment) -
                             live_at(*after, sizes_, shortfall_.moment);
        advice.text = cat("in place: ", name(output), " in the memory of ", name(input), ", which ",
                          op_name(), " reads last");
        add(std::move(advice));
      }
    }
  }

  const Program& program_;
  const FitsInside& inside_;
  std::span<const std::int64_t> sizes_;
  const Shortfall& shortfall_;
  std::int64_t align_;
  std::size_t op_;
  std::size_t scratch_;  ///< the index of the op's first scratch among the buffers
  std::vector<Advice> found_;
};

}  // namespace

std::string_view remedy_name(Remedy remedy) {
  switch (remedy) {
    case Remedy::kInPlace:
      return "in_place";
    case Remedy::kSmallerPanel:
      return "smaller_panel";
    case Remedy::kSmallerBuffers:
      return "smaller_buffers";
    case Remedy::kFinerGrid:
      return "finer_grid";
    case Remedy::kSmallerReserve:
      return "smaller_reserve";
  }
  return "";
}

std::int64_t live_at(const Lifetimes& lives, std::span<const std::int64_t> sizes,
                     std::int64_t moment) {
  const std::size_t count = lives.buffers.size();
  struct Group {
    std::int64_t bytes = 0;
    std::int64_t lower = INT64_MAX;
    std::int64_t upper = INT64_MIN;
  };
  std::vector<Group> groups(count);
  std::vector<std::pair<std::size_t, std::int64_t>> root(count);  // with the bytes from its start
  std::vector<bool> known(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::size_t> chain;
    std::size_t at = i;
    for (; !known[at] && lives.buffers[at].alias; at = lives.buffers[at].alias->of) {
      chain.push_back(at);
    }
    if (!known[at]) {
      root[at] = {at, 0};
      known[at] = true;
    }
    for (; !chain.empty(); chain.pop_back()) {
      const Alias& alias = *lives.buffers[chain.back()].alias;
      root[chain.back()] = {root[alias.of].first, root[alias.of].second + alias.delta};
      known[chain.back()] = true;
    }
    const Buffer& buffer = lives.buffers[i];
    Group& group = groups[root[i].first];
    if (sizes[i] > 0) group.bytes = std::max(group.bytes, root[i].second + sizes[i]);
    group.lower = std::min(group.lower, buffer.lower);
    group.upper = std::max(group.upper, buffer.upper);
  }
  std::int64_t live = 0;
  for (const Group& group : groups) {
    if (group.lower <= moment && moment < group.upper) live += group.bytes;
  }
  return live;
}

std::string Advice::sentence() const { return cat(text, " (", saves_bytes, " bytes less)"); }

Program followed(const Program& program, const Advice& advice, std::int64_t align_bytes) {
  Program out = program;
  if (advice.op >= out.ops.size()) return out;
  Op& op = out.ops[advice.op];
  switch (advice.remedy) {
    case Remedy::kInPlace:
      op.in_place.push_back({advice.output, advice.input});
      break;
    case Remedy::kSmallerPanel:
      for (Scratch& scratch : op.scratch) {
        if (scratch.panel != advice.panel_was) continue;
        scratch.bytes = align_up(panel_bytes(scratch, advice.panel), align_bytes);
        scratch.panel = advice.panel;
      }
      break;
    case Remedy::kSmallerBuffers:
      op.scratch[advice.scratch].bytes = advice.bytes * advice.buffers;
      op.scratch[advice.scratch].buffers = advice.buffers;
      break;
    case Remedy::kFinerGrid:
    case Remedy::kSmallerReserve:
      break;
  }
  return out;
}

std::vector<Advice> advise(const Program& program, const FitsInside& inside,
                           std::span<const std::int64_t> sizes, const Shortfall& shortfall,
                           std::int64_t align_bytes) {
  if (shortfall.moment < 0 || shortfall.moment >= static_cast<std::int64_t>(program.ops.size())) {
    return {};
  }
  return Adviser(program, inside, sizes, shortfall, align_bytes).run();
}

}  // namespace tessera::memory

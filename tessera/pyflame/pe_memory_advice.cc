// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/pyflame/pe_memory_planner.h"

namespace tessera::pyflame {
namespace {

using memory::Advice;
using memory::Remedy;

constexpr std::size_t kMaxGrids = 24;   ///< finer grids to try for one layout
constexpr std::size_t kMaxLayouts = 3;  ///< layouts of the largest tensors to make finer

/// The grids with twice, four times, .. as many rows and columns, fewest PEs first.
std::vector<std::pair<std::int64_t, std::int64_t>> finer_grids(const MeshLayout& layout,
                                                               const Shape& wafer) {
  const auto steps = [](std::int64_t now, std::int64_t most) {
    std::vector<std::int64_t> list = {now};
    while (list.back() < most) list.push_back(std::min(most, list.back() * 2));
    return list;
  };
  const bool rows = layout.type != LayoutType::COL_PARTITION;
  const bool cols = layout.type != LayoutType::ROW_PARTITION;
  std::vector<std::pair<std::int64_t, std::int64_t>> grids;
  if (layout.type == LayoutType::CUSTOM) return grids;
  const std::int64_t most_rows = rows ? wafer[0] - layout.origin.row : layout.pe_rows;
  const std::int64_t most_cols = cols ? wafer[1] - layout.origin.col : layout.pe_cols;
  for (const std::int64_t r : steps(layout.pe_rows, most_rows)) {
    for (const std::int64_t c : steps(layout.pe_cols, most_cols)) {
      if (r != layout.pe_rows || c != layout.pe_cols) grids.emplace_back(r, c);
    }
  }
  std::sort(grids.begin(), grids.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first * a.second, a.first) < std::pair(b.first * b.second, b.first);
  });
  if (grids.size() > kMaxGrids) grids.resize(kMaxGrids);
  return grids;
}

/// The most bytes of a reserve that the scratch of one op uses.
std::int64_t used_of_reserve(const memory::Program& program, const target::Reserve& reserve) {
  std::int64_t most = 0;
  for (const memory::Op& op : program.ops) {
    Checked wanted = 0;
    for (const memory::Scratch& scratch : op.scratch) {
      if (scratch.reserve == reserve.name) wanted += scratch.bytes;
    }
    if (wanted.saturated() <= reserve.bytes) most = std::max(most, wanted.saturated());
  }
  return most;
}

/// Advice that is enough comes first, then advice that saves more.
bool is_better(const Advice& a, const Advice& b) {
  return std::pair(a.enough, a.saves_bytes) > std::pair(b.enough, b.saves_bytes);
}

}  // namespace

/// Explains which PEs lack memory, when, and for what.
void PEMemoryPlanner::explain(const PEGraph& graph, MemoryPlan& plan) const {
  const MemoryPlan::State& state = *plan.state_;
  const std::vector<std::int64_t> used = state.plan.used_by_class(state.sizes);
  std::size_t worst = state.plan.worst;
  if (state.plan.lower_bound <= state.available) {
    worst = static_cast<std::size_t>(std::max_element(used.begin(), used.end()) - used.begin());
  }
  const memory::Problem problem = memory::problem_of(state.lives.buffers, state.sizes, worst);
  const Result<std::optional<memory::Shortfall>> found =
      memory::shortfall(problem, state.available, state.plan.offsets_of(state.sizes, worst));
  if (!found || !*found) return;
  PEShortfall out;
  out.at = **found;
  const Place place = state.sizes.example(worst);
  out.example = {static_cast<std::int32_t>(place[0]), static_cast<std::int32_t>(place[1])};
  out.pes = state.sizes.places(worst);
  for (std::size_t c = 0; c < used.size(); ++c) {
    if (used[c] > state.available) out.pes_short += state.sizes.places(c);
  }
  const auto moment = static_cast<std::size_t>(out.at.moment);
  if (moment < graph.ops()) out.op = graph.graph().nodes[moment].name;
  const std::string when = out.op.empty() ? cat("moment ", out.at.moment) : quote_name(out.op);
  const std::string where =
      cat(out.pes, out.pes == 1 ? " PE, (" : " PEs such as (", place[0], ", ", place[1], ")");
  plan.error = memory::does_not_fit(out.at, state.lives.names, when, where);
  plan.shortfall = std::move(out);
}

PEGraph PEMemoryPlanner::followed(const PEGraph& graph, const Advice& advice) const {
  PEGraph out = graph;
  if (advice.op >= graph.ops()) return out;
  const memory::Program before = graph.program();
  const memory::Op& was = before.ops[advice.op];
  const memory::Program program = memory::followed(before, advice, align_bytes());
  const memory::Op& is = program.ops[advice.op];
  graph::NodeMemory& memory = out.memory(advice.op);
  memory.scratch = is.scratch;
  memory.in_place.insert(memory.in_place.end(), is.in_place.begin() + std::ssize(was.in_place),
                         is.in_place.end());
  return out;
}

std::map<TensorId, MeshLayout> PEMemoryPlanner::followed(
    const std::map<TensorId, MeshLayout>& layouts, const Advice& advice) {
  std::map<TensorId, MeshLayout> out = layouts;
  const auto found = layouts.find(advice.output);
  if (advice.remedy != Remedy::kFinerGrid || found == layouts.end()) return out;
  for (auto& [id, layout] : out) {
    if (layout != found->second) continue;
    layout.pe_rows = static_cast<std::int32_t>(advice.rows);
    layout.pe_cols = static_cast<std::int32_t>(advice.cols);
    if (layout.type == LayoutType::SINGLE_PE) layout.type = LayoutType::GRID;
  }
  return out;
}

PEMemoryPlanner PEMemoryPlanner::followed(const Advice& advice) const {
  PEMemoryPlanner out = *this;
  if (advice.remedy != Remedy::kSmallerReserve) return out;
  for (target::MemorySpace& space : out.machine_.memory) {
    if (space.name != machine_.data_space) continue;
    space.reserved[advice.scratch].bytes = advice.bytes;
    if (advice.bytes == 0) {
      space.reserved.erase(space.reserved.begin() + static_cast<std::ptrdiff_t>(advice.scratch));
    }
  }
  return out;
}

void PEMemoryPlanner::advise(const PEGraph& graph, const std::map<TensorId, MeshLayout>& layouts,
                             const Options& options, MemoryPlan& plan) const {
  const MemoryPlan::State& state = *plan.state_;
  const memory::Shortfall& at = plan.shortfall->at;
  Options again = options;
  again.advise = false;
  again.minimize = false;
  again.seconds = std::min(again.seconds, 0.1);
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(options.seconds);

  // What the op that lacks memory could do, on the worst PEs.
  std::vector<std::int64_t> sizes(state.sizes.tensors());
  const Place place = {plan.shortfall->example.row, plan.shortfall->example.col};
  state.sizes.sizes(state.sizes.class_of(place), sizes);
  for (Advice& advice :
       memory::advise(graph.program(), state.sizes.inside(), sizes, at, align_bytes())) {
    const Result<MemoryPlan> with = attempt(followed(graph, advice), layouts, again);
    // A small output in place keeps the whole large input alive for its own lifetime, which may be
    // worse later.
    if (!with || with->state_->plan.lower_bound > state.plan.lower_bound) continue;
    advice.enough = with->valid;
    // Smaller scratch may now also fit a reserve, and then saves all its bytes.
    std::vector<std::int64_t> left(sizes.size());
    with->sizes()->sizes(with->sizes()->class_of(place), left);
    advice.saves_bytes = memory::live_at(state.lives, sizes, at.moment) -
                         memory::live_at(*with->lifetimes(), left, at.moment);
    if (advice.saves_bytes <= 0 && !advice.enough) continue;
    plan.advice.push_back(std::move(advice));
  }

  // The target's reserves for moving data.
  const target::MemorySpace& space = machine_.default_space();
  for (std::size_t i = 0; i < space.reserved.size() && !space.usable_bytes; ++i) {
    const target::Reserve& reserve = space.reserved[i];
    if (reserve.name != "double_buffers" && reserve.name != "receive_queues" &&
        reserve.name != "transform_staging") {
      continue;
    }
    // Scratch that no longer fits the smaller reserve is stored with the data. Taking all missing
    // bytes may be too much; taking only the bytes that no op uses is always safe.
    Advice best;
    for (const std::int64_t left : {reserve.bytes - std::min(reserve.bytes, at.missing()),
                                    used_of_reserve(graph.program(), reserve)}) {
      Advice advice;
      advice.remedy = Remedy::kSmallerReserve;
      advice.scratch = i;
      advice.bytes = left;
      const Result<MemoryPlan> with = followed(advice).attempt(graph, layouts, again);
      if (!with) continue;
      advice.saves_bytes = (with->state_->available - state.available) -
                           (with->state_->plan.lower_bound - state.plan.lower_bound);
      advice.enough = with->valid;
      if (is_better(advice, best)) best = advice;
      if (best.enough) break;
    }
    if (best.saves_bytes <= 0) continue;
    best.text = cat("reserve ", best.bytes, " bytes instead of ", reserve.bytes, " for ",
                    quote_name(reserve.name), " in the target");
    plan.advice.push_back(std::move(best));
  }

  // Finer grids for the largest tensors that are live then.
  std::vector<const MeshLayout*> tried;
  for (const memory::Shortfall::Live& live : at.live) {
    if (live.buffer >= state.tensors) continue;
    const MeshLayout& layout = layouts.at(live.buffer);
    if (tried.size() == kMaxLayouts) break;
    if (std::any_of(tried.begin(), tried.end(), [&](auto* each) { return *each == layout; })) {
      continue;
    }
    tried.push_back(&layout);
    Advice best;
    for (const auto& [rows, cols] : finer_grids(layout, machine_.shape())) {
      if (std::chrono::steady_clock::now() > end) break;
      Advice advice;
      advice.remedy = Remedy::kFinerGrid;
      advice.output = live.buffer;
      advice.rows = rows;
      advice.cols = cols;
      const Result<MemoryPlan> with = attempt(graph, followed(layouts, advice), again);
      if (!with) continue;
      advice.saves_bytes = state.plan.lower_bound - with->state_->plan.lower_bound;
      advice.enough = with->valid;
      if (advice.enough || advice.saves_bytes > best.saves_bytes) best = advice;
      if (advice.enough) break;
    }
    if (best.saves_bytes <= 0) continue;
    best.text = cat("a finer grid: ", best.rows, "x", best.cols, " PEs instead of ", layout.pe_rows,
                    "x", layout.pe_cols, " for ", quote_name(state.lives.names[live.buffer]),
                    " and tensors with the same layout");
    plan.advice.push_back(std::move(best));
  }
  std::sort(plan.advice.begin(), plan.advice.end(), is_better);
}

}  // namespace tessera::pyflame

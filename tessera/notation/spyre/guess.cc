// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/spyre/guess.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/notation/raising/refusal.h"

namespace tessera::notation::spyre {
namespace {

Error cannot(std::string_view reason, std::string_view words, std::vector<Fact> facts = {}) {
  return as_error(obstacle(reason, words, std::move(facts)));
}

/// The memory of one place, innermost device dim first.
Result<std::vector<Guess::Dim>> arrange_memory(std::vector<Step> steps, const Room& room) {
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.move.slot < b.move.slot; });
  std::vector<Guess::Dim> dims;
  const auto synthetic = [&](std::int64_t extent) {
    if (extent > 1) dims.push_back({-1, -1, extent, 1});
  };
  const std::int64_t first = steps.empty() ? room.slots : steps.front().move.slot;
  if (first != 1) {
    if (first % room.per_stick != 0) {
      return cannot(why::kApartInSticks, "elements {slots} slots apart in sticks of {per_stick}",
                    {fact("slots", first), fact("per_stick", room.per_stick)});
    }
    dims.push_back({-1, -1, room.per_stick, 1});
    synthetic(first / room.per_stick);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    const std::int64_t next = i + 1 < steps.size() ? steps[i + 1].move.slot : room.slots;
    if (next % step.move.slot != 0 || next / step.move.slot < step.need()) {
      return cannot(why::kStepsNotNested,
                    "steps of {step} and {outer_step} slots in one row-major tensor",
                    {fact("step", step.move.slot), fact("outer_step", next)});
    }
    const std::int64_t space = next / step.move.slot;
    const bool whole = room.exact && step.above != 0;
    if (whole && (step.above % step.width != 0 || space % (step.above / step.width) != 0)) {
      return cannot(why::kPiecesInSteps, "pieces of {piece} in {steps} steps of {width}",
                    {fact("piece", step.above), fact("steps", space), fact("width", step.width)});
    }
    std::int64_t extent = whole ? step.above / step.width : space;
    std::int64_t width = step.width;
    if (step.move.slot == 1) {
      // The stick is a separate device dim; the rest counts sticks.
      if (extent % room.per_stick != 0) {
        return cannot(why::kRunsInSticks, "runs of {run} slots in sticks of {per_stick}",
                      {fact("run", extent), fact("per_stick", room.per_stick)});
      }
      dims.push_back({step.dim, width, room.per_stick, 1});
      extent /= room.per_stick;
      width = (Checked(width) * room.per_stick).saturated();
      if (!room.exact && step.need() <= room.per_stick) {
        synthetic(extent);
        extent = 1;
      }
      if (extent > 1) dims.push_back({step.dim, width, extent, 1});
    } else {
      dims.push_back({step.dim, width, extent, 1});
    }
    if (whole) synthetic(space / (step.above / step.width));
  }
  return dims;
}

/// A digit on the mesh, and how many places it has. Without a width it is a factor of the mesh that
/// no digit uses.
struct MeshDigit {
  Step step;
  std::int64_t cores = 1;
  /// As a separate device dim, one coordinate per core.
  Guess::Dim alone() const {
    return step.width < 0 ? Guess::Dim{-1, -1, 1, cores}
                          : Guess::Dim{step.dim, step.width, step.need(), cores};
  }
};

/// By decreasing stride.
Result<std::vector<MeshDigit>> arrange_mesh(std::vector<Step> steps, const Room& room) {
  std::sort(steps.begin(), steps.end(),
            [](const Step& a, const Step& b) { return a.move.place > b.move.place; });
  std::vector<MeshDigit> digits;
  std::int64_t above = room.places;
  for (const Step& step : steps) {
    const std::int64_t stride = step.move.place;
    if (above % stride != 0 || above / stride < step.need()) {
      return cannot(why::kCoresApart, "data on cores {step} and {outer_step} apart",
                    {fact("step", stride), fact("outer_step", above)});
    }
    digits.push_back({step, above / stride});
    above = stride;
  }
  if (above > 1) digits.push_back({Step{-1, -1, 0, 1, {1, 0}}, above});
  return digits;
}

/// Merges a digit on the mesh and a memory digit into one divided device dim, if the mesh digit
/// counts pieces of the memory digit.
bool merge(const MeshDigit& mesh, Guess::Dim& memory) {
  const std::int64_t piece = memory.extent;
  if (memory.width < 1 || memory.cores != 1 || memory.dim != mesh.step.dim) return false;
  if ((Checked(memory.width) * piece).saturated() != mesh.step.width) return false;
  const Checked most = Checked(mesh.cores) * piece;
  if (most.overflowed()) return false;
  // As many coordinates as hold data, if that number gives pieces of this size.
  memory.extent =
      std::clamp(ceil_div(mesh.step.bound, memory.width), most.raw() - mesh.cores + 1, most.raw());
  memory.cores = mesh.cores;
  return true;
}

}  // namespace

std::int64_t Step::need() const { return ceil_div(bound, width); }

Result<Guess> arrange(const std::vector<Step>& steps, const Room& room) {
  std::vector<Step> memory_steps;
  std::vector<Step> mesh_steps;
  for (const Step& step : steps) {
    const Position& move = step.move;
    if (move.place < 0 || move.slot < 0 || (move.place != 0 && move.slot != 0)) {
      return cannot(why::kMixedStep, "a digit that moves backwards, or both place and slot");
    }
    if (move.slot != 0) memory_steps.push_back(step);
    if (move.place != 0) mesh_steps.push_back(step);
  }
  TESSERA_TRY(std::vector<Guess::Dim> memory, arrange_memory(memory_steps, room));
  std::reverse(memory.begin(), memory.end());
  TESSERA_TRY(const std::vector<MeshDigit> mesh, arrange_mesh(mesh_steps, room));
  // Core numbers are row-major over the device dims, so divided dims are in the order of decreasing
  // stride. A dim without a memory digit may be anywhere that this order allows, and is placed as
  // far out as possible.
  std::vector<std::int64_t> strides(memory.size(), 0);  // of the divided ones
  std::vector<MeshDigit> alone;
  for (const MeshDigit& digit : mesh) {
    std::size_t j = 0;
    const std::size_t end = room.paired ? memory.size() - 1 : 0;  // the stick stays whole
    while (j < end && !merge(digit, memory[j])) ++j;
    if (j < end) {
      strides[j] = digit.step.move.place;
    } else {
      alone.push_back(digit);
    }
  }
  Guess guess;
  auto next = alone.begin();
  for (std::size_t j = 0; j < memory.size(); ++j) {
    if (j == 0 || strides[j - 1] != 0) {
      const auto divided = std::find_if(strides.begin() + static_cast<std::ptrdiff_t>(j),
                                        strides.end(), [](std::int64_t s) { return s != 0; });
      const std::int64_t limit = divided == strides.end() ? 0 : *divided;
      while (next != alone.end() && next->step.move.place > limit) {
        guess.dims.push_back((next++)->alone());
      }
    }
    guess.dims.push_back(memory[j]);
  }
  return guess;
}

std::optional<std::vector<Step>> steps_of_dims(const Lines& lines) {
  std::vector<Step> steps;
  for (const Line& line : lines.lines) {
    if (line.terms.size() != 1 || line.terms[0].coef != 1 || line.start != 0) return std::nullopt;
    const int dim = line.terms[0].dim;
    std::int64_t left = lines.shape[static_cast<std::size_t>(dim)];
    std::int64_t above = 0;
    for (const LineCut& cut : line.cuts) {
      steps.push_back({dim, cut.width, above, left, cut.move});
      left = std::min(left, cut.width);
      above = cut.width;
    }
  }
  return steps;
}

}  // namespace tessera::notation::spyre

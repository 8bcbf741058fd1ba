// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {
namespace {

using ops::FactorKind;

/// An element that is a position along a dim of this extent; it may count from the end.
template <typename I>
std::optional<std::int64_t> position_of(I element, std::int64_t extent) {
  auto at = static_cast<std::int64_t>(element);
  if (at < 0) at += extent;
  return at >= 0 && at < extent ? std::optional(at) : std::nullopt;
}

template <typename I>
Error not_a_position(const Task& task, I element, std::int64_t extent) {
  return {ErrorCode::kOutOfRange,
          cat(task.call->op().name(), ": position ", static_cast<std::int64_t>(element),
              " along a dim of ", extent, " elements"),
          std::nullopt, cat("positions are ", -extent, " to ", extent - 1)};
}

/// Gather, embedding, gather_elements and gather_nd: masked factors are the dims of the table that
/// positions choose. A block adds the element if it has the chosen row of each of them.
template <typename W, typename I>
Status gather(const Task& task) {
  const ops::Loops& loops = *task.loops;
  const Elements<const W> table = input_of<W>(task, 0);
  const Elements<const I> indices = input_of<I>(task, 1);
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr || indices.data == nullptr) return ok_status();
  set_all<W>(task, 0, W{});
  const Factors passes = factors_of(loops, FactorKind::kPass);
  const Factors rows = factors_of(loops, FactorKind::kReduce);
  const Factors coordinate =
      those_in(*loops.inputs[1], factors_of(loops, FactorKind::kWhole));  // of gather_nd
  std::optional<Error> wrong;
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, passes, f, [&] {
      bool has_all = true;
      for (std::size_t n = 0; n < rows.size(); ++n) {
        if (!coordinate.empty()) f[coordinate[0]] = static_cast<std::int64_t>(n);
        const std::int64_t extent = loops.factors[rows[n]].extent;
        const std::optional<std::int64_t> row = position_of(indices(f), extent);
        if (!row) {
          wrong = not_a_position(task, indices(f), extent);
          has_all = false;
          continue;
        }
        f[rows[n]] = *row;
        has_all = has_all && *row >= block.from[rows[n]] && *row < block.to[rows[n]];
      }
      if (has_all && table.data != nullptr) to(f) = table(f);
      for (const std::size_t row : rows) f[row] = block.from[row];
      for (const std::size_t k : coordinate) f[k] = block.from[k];
    });
  }
  if (wrong) return *wrong;
  return ok_status();
}

Status gather_any(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    return with_type(task.call->dtype(1),
                     [&](auto index) { return gather<decltype(zero), decltype(index)>(task); });
  });
}

/// Scatter: the input is copied, and updates are put, added or multiplied where positions say. The
/// dims that positions name are whole factors of the output, in order; each update has a setting of
/// its own factors.
template <typename W, typename I>
Status scatter(const Task& task) {
  const ops::Loops& loops = *task.loops;
  const Elements<const W> from = input_of<W>(task, 0);
  const Elements<const I> indices = input_of<I>(task, 1);
  const Elements<const W> updates = input_of<W>(task, 2);
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr) return ok_status();
  const bool by_element = task.call->op().is("scatter_elements");
  const std::string_view how = task.call->text("reduction");
  const Factors passes = factors_of(loops, FactorKind::kPass);
  const Factors wholes = factors_of(loops, FactorKind::kWhole);
  const Factors targets = those_in(loops.outputs[0], wholes);
  const Factors coordinates = [&] {  // the last dim of the indices of scatter_nd
    return by_element ? Factors{}
                      : those_not_in(*loops.inputs[2], those_in(*loops.inputs[1], wholes));
  }();
  const Factors sources = those_in(*loops.inputs[2], wholes);
  std::optional<Error> wrong;
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, joined(passes, targets), f, [&] { to(f) = from(f); });
    if (updates.data == nullptr || indices.data == nullptr) continue;
    for (const std::size_t k : targets) f[k] = 0;
    each_setting(block, joined(sources, passes), f, [&] {
      if (!updates.at.inside(f)) return;  // updates may have fewer elements along dims that pass
      for (std::size_t n = 0; n < targets.size(); ++n) {
        if (!coordinates.empty()) f[coordinates[0]] = static_cast<std::int64_t>(n);
        const std::int64_t extent = loops.factors[targets[n]].extent;
        const std::optional<std::int64_t> at = position_of(indices(f), extent);
        if (!at) {
          wrong = not_a_position(task, indices(f), extent);
          return;
        }
        f[targets[n]] = *at;
      }
      W& element = to(f);
      const W update = updates(f);
      element = how == "add"   ? plus(element, update)
                : how == "mul" ? times(element, update)
                               : update;
    });
  }
  if (wrong) return *wrong;
  return ok_status();
}

Status scatter_any(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    return with_type(task.call->dtype(1),
                     [&](auto index) { return scatter<decltype(zero), decltype(index)>(task); });
  });
}

/// [off, on] are the elements of input 1; the new dim compares its index with the element.
template <typename W, typename I>
Status one_hot(const Task& task) {
  const Elements<const I> indices = input_of<I>(task, 0);
  const Elements<const W> values = input_of<W>(task, 1);
  const Elements<W> to = output_of<W>(task, 0);
  if (to.data == nullptr || indices.data == nullptr || values.data == nullptr) return ok_status();
  const ops::Loops& loops = *task.loops;
  const Factors passes = factors_of(loops, FactorKind::kPass);
  const std::size_t depth = those_not_in(*loops.inputs[0], passes).front();
  const std::size_t value = factors_of(loops, FactorKind::kWhole).front();
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, passes, f, [&] {
      const std::optional<std::int64_t> at =
          position_of(indices(f), loops.factors[depth].extent);  // outside: all are off
      f[value] = at && *at == f[depth] ? 1 : 0;
      to(f) = values(f);
      f[value] = 0;
    });
  }
  return ok_status();
}

Status one_hot_any(const Task& task) {
  return with_type(task.call->dtype(1), [&](auto zero) {
    return with_type(task.call->dtype(0),
                     [&](auto index) { return one_hot<decltype(zero), decltype(index)>(task); });
  });
}

}  // namespace

std::vector<Entry> gather_kernels() {
  return {{"gather", gather_any},    {"embedding", gather_any},   {"gather_elements", gather_any},
          {"gather_nd", gather_any}, {"scatter_nd", scatter_any}, {"scatter_elements", scatter_any},
          {"one_hot", one_hot_any}};
}

}  // namespace tessera::run::kernels

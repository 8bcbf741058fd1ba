// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tessera/run/kernels/nest.h"

namespace tessera::run::kernels {

/// Calls visit(f, line) for every setting of the factors that pass: `line` has the elements of
/// input 0 along its whole factors, in their order, and f their first values.
template <typename W, typename Visit>
void each_line(const Task& task, const Visit& visit) {
  const Elements<const W> from = input_of<W>(task, 0);
  if (from.data == nullptr) return;
  const Factors passes = factors_of(*task.loops, ops::FactorKind::kPass);
  const Factors wholes =
      those_in(*task.loops->inputs[0], factors_of(*task.loops, ops::FactorKind::kWhole));
  std::vector<W> line;
  for (const Box& block : task.blocks) {
    Index f = first_of(block);
    each_setting(block, passes, f, [&] {
      line.clear();
      each_setting(block, wholes, f, [&] { line.push_back(from(f)); });
      for (const std::size_t k : wholes) f[k] = block.from[k];
      visit(f, line);
    });
  }
}

/// Calls visit(n) for the elements of such a line: f is then that of element n.
template <typename Visit>
void along_line(const Task& task, Index& f, const Visit& visit) {
  Box whole{std::vector<std::int64_t>(f.size()), std::vector<std::int64_t>(f.size())};
  for (std::size_t k = 0; k < f.size(); ++k) whole.to[k] = task.loops->factors[k].extent;
  const Factors wholes =
      those_in(*task.loops->inputs[0], factors_of(*task.loops, ops::FactorKind::kWhole));
  std::size_t n = 0;
  each_setting(whole, wholes, f, [&] { visit(n++); });
  for (const std::size_t k : wholes) f[k] = 0;
}

}  // namespace tessera::run::kernels

// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kernels/lines.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tessera/base/sort_stably.h"

namespace tessera::run::kernels {
namespace {

/// Softmax, its logarithm, or 1 at the first largest element.
template <typename W>
void normalize(const graph::Op op, std::vector<W>& line) {
  if (line.empty()) return;
  const auto largest = std::ranges::max_element(line);
  if (op.is("hardmax")) {
    const auto at = static_cast<std::size_t>(largest - line.begin());
    std::ranges::fill(line, W{0});
    line[at] = 1;
    return;
  }
  const W most = *largest;
  double sum = 0;
  for (const W x : line) sum += std::exp(static_cast<double>(x - most));
  const double log_sum = std::log(sum);
  for (W& x : line) {
    const auto shifted = static_cast<double>(x - most);
    x = static_cast<W>(op.is("softmax") ? std::exp(shifted) / sum : shifted - log_sum);
  }
}

template <typename W>
void accumulate(const graph::Call& call, std::vector<W>& line) {
  const bool exclusive = call.integer("exclusive") != 0;
  const bool reverse = call.integer("reverse") != 0;
  if (reverse) std::ranges::reverse(line);
  W running{};
  for (W& x : line) {
    const W next = plus(running, x);
    x = exclusive ? running : next;
    running = next;
  }
  if (reverse) std::ranges::reverse(line);
}

/// Ops whose output has a line for each line of the input.
Status line_to_line(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const Elements<W> to = output_of<W>(task, 0);
    each_line<W>(task, [&](Index& f, std::vector<W>& line) {
      if (task.call->op().is("cumsum")) {
        accumulate(*task.call, line);
      } else {
        normalize(task.call->op(), line);
      }
      along_line(task, f, [&](std::size_t n) { to(f) = line[n]; });
    });
    return ok_status();
  });
}

/// The position of the largest or smallest element.
Status position(const Task& task) {
  const bool largest = task.call->op().is("argmax");
  const bool last = task.call->integer("select_last") != 0;
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const Elements<std::int64_t> to = output_of<std::int64_t>(task, 0);
    each_line<W>(task, [&](const Index& f, const std::vector<W>& line) {
      std::size_t best = 0;
      for (std::size_t n = 1; n < line.size(); ++n) {
        const bool better = largest ? line[n] > line[best] : line[n] < line[best];
        if (better || (last && line[n] == line[best])) best = n;
      }
      to(f) = static_cast<std::int64_t>(best);
    });
    return ok_status();
  });
}

/// The first of equal elements comes first.
Status top_k(const Task& task) {
  const bool largest = task.call->integer("largest") != 0;
  const Factors wholes = factors_of(*task.loops, ops::FactorKind::kWhole);
  const Factors tops = those_in(task.loops->outputs[0], wholes);
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const Elements<W> values = output_of<W>(task, 0);
    const Elements<std::int64_t> positions = output_of<std::int64_t>(task, 1);
    std::vector<std::int64_t> order;
    each_line<W>(task, [&](Index& f, const std::vector<W>& line) {
      order.resize(line.size());
      std::iota(order.begin(), order.end(), 0);
      const auto at = [&](std::int64_t n) { return line[static_cast<std::size_t>(n)]; };
      sort_stably(order, [&](std::int64_t a, std::int64_t b) {
        return largest ? at(a) > at(b) : at(a) < at(b);
      });
      for (const std::size_t top : tops) {
        for (f[top] = 0; f[top] < task.loops->factors[top].extent; ++f[top]) {
          const std::int64_t chosen = order[static_cast<std::size_t>(f[top])];
          if (values.data != nullptr) values(f) = at(chosen);
          if (positions.data != nullptr) positions(f) = chosen;
        }
        f[top] = 0;
      }
    });
    return ok_status();
  });
}

/// The first `length` elements of each sequence in the opposite order.
Status reverse_sequence(const Task& task) {
  return with_type(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const Elements<W> to = output_of<W>(task, 0);
    return with_type(task.call->dtype(1), [&](auto index) {
      const auto lengths = input_of<decltype(index)>(task, 1);
      each_line<W>(task, [&](Index& f, std::vector<W>& line) {
        const auto length = static_cast<std::int64_t>(lengths(f));
        std::reverse(line.begin(),
                     line.begin() + std::clamp<std::int64_t>(length, 0, std::ssize(line)));
        along_line(task, f, [&](std::size_t n) { to(f) = line[n]; });
      });
      return ok_status();
    });
  });
}

}  // namespace

std::vector<Entry> line_kernels() {
  return {{"softmax", line_to_line}, {"log_softmax", line_to_line},
          {"hardmax", line_to_line}, {"cumsum", line_to_line},
          {"argmax", position},      {"argmin", position},
          {"topk", top_k},           {"reverse_sequence", reverse_sequence}};
}

}  // namespace tessera::run::kernels

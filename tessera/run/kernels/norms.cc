// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <vector>

#include "tessera/run/kernels/lines.h"

namespace tessera::run::kernels {
namespace {

/// Of the elements that are normalized together, in double.
struct Moments {
  double mean = 0;
  double variance = 0;
  double squares = 0;  ///< the mean of the squares
};

template <typename W>
Moments moments_of(const std::vector<W>& line) {
  Moments moments;
  const auto count = static_cast<double>(line.size());
  for (const W x : line) {
    const auto value = static_cast<double>(x);
    moments.mean += value;
    moments.squares += value * value;
  }
  moments.mean /= count;
  moments.squares /= count;
  for (const W x : line) {
    const double apart = static_cast<double>(x) - moments.mean;
    moments.variance += apart * apart;
  }
  moments.variance /= count;
  return moments;
}

/// (x - mean) / sqrt(variance + epsilon)·scale + bias, or x / sqrt(mean of squares + epsilon)·scale
/// for rms_norm. Further outputs of layer_norm are the mean and the reciprocal deviation.
Status norm(const Task& task) {
  const bool rms = task.call->op().is("rms_norm");
  const double epsilon = task.call->real("epsilon");
  return with_float(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const Elements<const W> scale = input_of<W>(task, 1);
    const Elements<const W> bias = input_of<W>(task, 2);
    const Elements<W> to = output_of<W>(task, 0);
    each_line<W>(task, [&](Index& f, const std::vector<W>& line) {
      if (line.empty()) return;
      const Moments moments = moments_of(line);
      const double deviation = std::sqrt((rms ? moments.squares : moments.variance) + epsilon);
      const auto middle = static_cast<W>(rms ? 0 : moments.mean);
      const auto factor = static_cast<W>(1 / deviation);
      along_line(task, f, [&](std::size_t n) {
        W y = (line[n] - middle) * factor;
        if (scale.data != nullptr) y *= scale(f);
        if (bias.data != nullptr) y += bias(f);
        to(f) = y;
      });
      for (std::size_t o = 1; o < task.results.size(); ++o) {
        const Elements<W> statistic = output_of<W>(task, o);
        if (statistic.data != nullptr) statistic(f) = o == 1 ? middle : factor;
      }
    });
    return ok_status();
  });
}

/// x / (bias + alpha / size·Σ squares of neighbouring channels)^beta. The whole factor runs over
/// the neighbours.
Status lrn(const Task& task) {
  const std::size_t window = factors_of(*task.loops, ops::FactorKind::kWhole).front();
  const Factors passes = factors_of(*task.loops, ops::FactorKind::kPass);
  const std::int64_t here = -task.loops->inputs[0]->dims[1].start;
  const auto size = static_cast<double>(task.call->integer("size"));
  const double alpha = task.call->real("alpha");
  const double beta = task.call->real("beta");
  const double bias = task.call->real("bias");
  return with_float(task.call->dtype(0), [&](auto zero) {
    using W = decltype(zero);
    const Elements<const W> from = input_of<W>(task, 0);
    const Elements<W> to = output_of<W>(task, 0);
    if (from.data == nullptr) return ok_status();
    for (const Box& block : task.blocks) {
      Index f = first_of(block);
      each_setting(block, passes, f, [&] {
        const ops::Range range = from.at.inside(f, window, {0, task.loops->factors[window].extent});
        double squares = 0;
        for (f[window] = range.from; f[window] < range.to; ++f[window]) {
          const auto value = static_cast<double>(from(f));
          squares += value * value;
        }
        f[window] = here;
        to(f) = static_cast<W>(static_cast<double>(from(f)) /
                               std::pow(bias + alpha / size * squares, beta));
      });
    }
    return ok_status();
  });
}

}  // namespace

std::vector<Entry> norm_kernels() {
  return {{"layer_norm", norm},
          {"rms_norm", norm},
          {"instance_norm", norm},
          {"group_norm", norm},
          {"lrn", lrn}};
}

}  // namespace tessera::run::kernels

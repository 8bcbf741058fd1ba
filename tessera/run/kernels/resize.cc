// SPDX-License-Identifier: Apache-2.0
#include "tessera/run/kernels/resize.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace tessera::run::kernels {
namespace {

/// One dim of a resize.
class Line {
 public:
  Line(const graph::Call& call, std::size_t dim, std::int64_t in, std::int64_t out)
      : call_(call),
        rule_(call.text("coordinates")),
        mode_(call.text("mode")),
        dim_(dim),
        in_(in),
        out_(out) {
    scale_ = call.given("scales") ? call.reals("scales")[dim]
                                  : static_cast<double>(out) / static_cast<double>(in);
  }

  Taps at(std::int64_t y) const {
    Taps list;
    const double x = coordinate(static_cast<double>(y));
    list.outside = rule_ == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(in_ - 1));
    if (list.outside) {
      list.taps = {{0, 1}};
      return list;
    }
    if (in_ == out_ && x == std::floor(x)) {
      add(list, static_cast<std::int64_t>(x), 1.0);
    } else if (mode_ == "nearest") {
      add(list, nearest(x), 1.0);
    } else if (mode_ == "linear") {
      const double base = std::floor(x);
      add(list, static_cast<std::int64_t>(base), 1 - (x - base));
      add(list, static_cast<std::int64_t>(base) + 1, x - base);
    } else {
      add_cubic(list, x);
    }
    return list;
  }

 private:
  double coordinate(double y) const {
    const auto in = static_cast<double>(in_);
    const auto out = static_cast<double>(out_);
    if (rule_ == "asymmetric") return y / scale_;
    if (rule_ == "align_corners") return out_ == 1 ? 0 : y * (in - 1) / (out - 1);
    if (rule_ == "pytorch_half_pixel") return out_ > 1 ? (y + 0.5) / scale_ - 0.5 : 0;
    if (rule_ == "tf_half_pixel_for_nn") return (y + 0.5) / scale_;
    if (rule_ == "tf_crop_and_resize") {
      const std::vector<double>& roi = call_.reals("roi");
      const double start = roi[dim_];
      const double end = roi[dim_ + call_.shape(0).rank()];
      if (out_ <= 1) return 0.5 * (start + end) * (in - 1);
      return start * (in - 1) + y * (end - start) * (in - 1) / (out - 1);
    }
    return (y + 0.5) / scale_ - 0.5;
  }

  std::int64_t nearest(double x) const {
    const std::string_view rounding = call_.text("nearest_mode");
    double rounded = std::ceil(x - 0.5);
    if (rounding == "floor") rounded = std::floor(x);
    if (rounding == "ceil") rounded = std::ceil(x);
    if (rounding == "round_prefer_ceil") rounded = std::floor(x + 0.5);
    return static_cast<std::int64_t>(rounded);
  }

  /// Four weights from Keys' kernel with the parameter a.
  void add_cubic(Taps& list, double x) const {
    const double a = call_.real("cubic_coeff_a");
    const auto weight = [a](double s) {
      s = std::fabs(s);
      return s <= 1 ? ((a + 2) * s - (a + 3)) * s * s + 1 : ((s - 5) * s + 8) * s * a - 4 * a;
    };
    const auto base = static_cast<std::int64_t>(std::floor(x));
    const bool leaves_out = call_.integer("exclude_outside") != 0;
    double sum = 0;
    for (std::int64_t p = base - 1; p <= base + 2; ++p) {
      const bool outside = p < 0 || p >= in_;
      const double share = leaves_out && outside ? 0 : weight(x - static_cast<double>(p));
      sum += share;
      add(list, p, share);
    }
    if (!leaves_out) return;
    for (Tap& tap : list.taps) tap.weight /= sum;
  }

  void add(Taps& list, std::int64_t position, double weight) const {
    list.taps.push_back({std::clamp<std::int64_t>(position, 0, in_ - 1), weight});
  }

  const graph::Call& call_;
  std::string_view rule_;
  std::string_view mode_;
  std::size_t dim_;
  std::int64_t in_;
  std::int64_t out_;
  double scale_ = 1;
};

}  // namespace

std::vector<std::vector<Taps>> taps_of(const graph::Call& call, const Shape& out) {
  std::vector<std::vector<Taps>> all(out.rank());
  for (std::size_t d = 0; d < out.rank(); ++d) {
    const Line line(call, d, call.shape(0)[d], out[d]);
    for (std::int64_t y = 0; y < out[d]; ++y) all[d].push_back(line.at(y));
  }
  return all;
}

}  // namespace tessera::run::kernels

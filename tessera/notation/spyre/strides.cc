// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/lines.h"

namespace tessera::notation::spyre {
namespace {

/// A part of the line of host offsets: p = Σ coef·x over some dims, and the device digits that
/// depend on it, both by decreasing size.
struct Band {
  std::vector<Term> terms;
  std::vector<Digit> digits;
};

class StrideReader {
 public:
  StrideReader(const SpyreLayout& words, const Shape& shape,
               const std::vector<std::int64_t>& host_stride,
               const std::vector<std::int64_t>& device_stride, const Spans& spans)
      : words_(words),
        shape_(shape),
        host_stride_(host_stride),
        device_stride_(device_stride),
        spans_(spans) {}

  Result<std::vector<DeviceLine>> read() {
    Band whole;
    TESSERA_CHECK_OK(read_digits(whole.digits));
    if (shape_.empty()) {
      keep_empty(whole.digits);
      return std::move(lines_);
    }
    TESSERA_CHECK_OK(check_ties(whole.digits));
    for (std::size_t dim = 0; dim < shape_.rank(); ++dim) {
      if (shape_[dim] > 1) whole.terms.push_back({static_cast<int>(dim), host_stride_[dim]});
    }
    std::sort(whole.terms.begin(), whole.terms.end(), [](const Term& a, const Term& b) {
      return a.coef != b.coef ? a.coef > b.coef : a.dim < b.dim;
    });
    std::vector<Band> left = {std::move(whole)};
    while (!left.empty()) {
      Band band = std::move(left.back());
      left.pop_back();
      if (auto halves = split(band)) {
        left.push_back(std::move(halves->second));
        left.push_back(std::move(halves->first));
      } else {
        TESSERA_CHECK_OK(keep(std::move(band)));
      }
    }
    return std::move(lines_);
  }

 private:
  std::int64_t size(std::size_t j) const { return words_.device_size[j]; }

  Error blame(Item item, std::size_t j, ErrorCode code, std::string message,
              std::string help) const {
    return spans_.blame(item, j, {code, std::move(message), std::nullopt, std::move(help)});
  }

  Status read_digits(std::vector<Digit>& digits) {
    for (std::size_t j = 0; j < words_.map.size(); ++j) {
      const std::int64_t stride = words_.map[j];
      const Digit digit{j, stride, size(j), device_stride_[j]};
      if (size(j) == 1) {
        if (cores_of(words_, j) > 1) lines_.push_back({{}, {{j, 1, 1, device_stride_[j]}}, false});
        continue;
      }
      if (stride == -1) {
        lines_.push_back({{}, {{j, 1, size(j), device_stride_[j]}}, true});
        continue;
      }
      if (stride < 0) {
        return blame(Item::kMap, j, ErrorCode::kOutOfRange,
                     cat("device dim ", j, " has the stride ", stride),
                     "host elements per step, or -1 for a synthetic device dim");
      }
      if (stride == 0 && !shape_.empty()) {
        return blame(Item::kMap, j, ErrorCode::kNotInjective,
                     cat("device dim ", j, " has stride 0: its ", size(j),
                         " coordinates would hold the same elements"),
                     "-1 means that only coordinate 0 holds data");
      }
      digits.push_back(digit);
    }
    return ok_status();
  }

  /// For an empty tensor: the device coordinates count one line that has no positions.
  void keep_empty(std::vector<Digit> digits) {
    int dim = 0;
    while (shape_[static_cast<std::size_t>(dim)] != 0) ++dim;
    std::int64_t width = 1;
    for (std::size_t k = digits.size(); k-- > 0;) {
      digits[k].width = width;
      width *= std::max<std::int64_t>(digits[k].extent, 1);
    }
    // If there are no other digits, a single coordinate is used: it holds nothing.
    if (digits.empty() && size(0) == 1) digits.push_back({0, 1, 1, device_stride_[0]});
    if (!digits.empty()) lines_.push_back({{{dim, 1}}, std::move(digits), false});
  }

  Status check_ties(std::vector<Digit>& digits) const {
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) {
      return a.width != b.width ? a.width > b.width : a.device_dim < b.device_dim;
    });
    for (std::size_t k = 0; k + 1 < digits.size(); ++k) {
      const Digit& a = digits[k];
      const Digit& b = digits[k + 1];
      if (a.width != b.width) continue;
      return blame(Item::kMap, b.device_dim, ErrorCode::kNotInjective,
                   cat("device dims ", a.device_dim, " and ", b.device_dim, " (extents ", a.extent,
                       " and ", b.extent, ") both have the stride ", a.width),
                   "the device dim along which an element moves is ambiguous");
    }
    return ok_status();
  }

  /// p = a·X + y with 0 <= y < a. Digits whose widths are multiples of a depend only on X. If the
  /// narrowest of them is a, the others depend only on y and the band splits in two. If not, the
  /// next digit counts a/width for each step of X beyond them, so this digit splits in two as well,
  /// provided that its width divides a, a/width divides its extent, and cores do not divide it.
  std::optional<std::pair<Band, Band>> split(const Band& band) const {
    std::int64_t a = 0;
    for (std::size_t outer = 1; outer <= band.terms.size(); ++outer) {
      a = std::gcd(a, band.terms[outer - 1].coef);
      const std::vector<Term> inner(band.terms.begin() + static_cast<std::ptrdiff_t>(outer),
                                    band.terms.end());
      if (line_extent(inner, shape_) > a) continue;
      std::size_t k = 0;
      while (k < band.digits.size() && band.digits[k].width % a == 0) ++k;
      const bool cut_at_a = k > 0 && band.digits[k - 1].width == a;
      if (inner.empty() && (!cut_at_a || k == band.digits.size())) continue;
      const bool shared = !cut_at_a && k < band.digits.size() && shares(band.digits[k], a);
      if (!cut_at_a && !shared) continue;
      if (k < band.digits.size() && band.digits[k].width > a) continue;
      const auto at = band.digits.begin() + static_cast<std::ptrdiff_t>(k);
      Band high;
      for (std::size_t i = 0; i < outer; ++i) {
        high.terms.push_back({band.terms[i].dim, band.terms[i].coef / a});
      }
      high.digits.assign(band.digits.begin(), at);
      Band low{inner, {at, band.digits.end()}};
      if (shared) {
        Digit& part = low.digits.front();
        const std::int64_t steps = a / part.width;
        high.digits.push_back({part.device_dim, a, part.extent / steps, part.stride * steps});
        part.extent = steps;
      }
      for (Digit& digit : high.digits) digit.width /= a;
      return std::pair{std::move(high), std::move(low)};
    }
    return std::nullopt;
  }

  bool shares(const Digit& digit, std::int64_t a) const {
    return a % digit.width == 0 && digit.extent % (a / digit.width) == 0 && digit.extent > 0 &&
           cores_of(words_, digit.device_dim) == 1;
  }

  Status keep(Band band) {
    if (band.terms.empty()) {
      // Device dims that no element moves along.
      for (const Digit& digit : band.digits) {
        lines_.push_back({{}, {{digit.device_dim, 1, digit.extent, digit.stride}}, false});
      }
      return ok_status();
    }
    std::int64_t common = 0;
    for (const Term& term : band.terms) common = std::gcd(common, term.coef);
    const std::int64_t apart = common;
    for (const Digit& digit : band.digits) common = std::gcd(common, digit.width);
    if (band.digits.empty() || band.digits.back().width != common) {
      return not_told_apart(band, apart);
    }
    for (Term& term : band.terms) term.coef /= common;
    for (Digit& digit : band.digits) digit.width /= common;
    std::int64_t left = line_extent(band.terms, shape_);
    for (const Digit& digit : band.digits) {
      const std::int64_t need = ceil_div(left, digit.width);
      if (digit.extent < need) return too_short(digit, need);
      left = std::min(left, digit.width);
    }
    lines_.push_back({std::move(band.terms), std::move(band.digits), false});
    return ok_status();
  }

  Error not_told_apart(const Band& band, std::int64_t apart) const {
    const int dim = band.terms.back().dim;
    const std::int64_t step = host_stride_[static_cast<std::size_t>(dim)];
    const std::string help = cat("a device dim whose stride is ", step, ", the host stride of dim ",
                                 dim, ", or divides it");
    if (band.digits.empty()) {
      return spans_.blame(Item::kMap, {ErrorCode::kContradiction,
                                       cat("no device dim moves along dim ", dim, " of extent ",
                                           shape_[static_cast<std::size_t>(dim)]),
                                       std::nullopt, help});
    }
    const std::size_t j = band.digits.back().device_dim;
    const std::int64_t scale = step / band.terms.back().coef;  // each band has its own unit
    return blame(
        Item::kMap, j, ErrorCode::kContradiction,
        cat("device dim ", j, " steps ", words_.map[j], " host elements, but elements of dim ", dim,
            " are ", apart * scale, " apart and no smaller step separates them"),
        help);
  }

  Error too_short(const Digit& digit, std::int64_t need) const {
    const std::size_t j = digit.device_dim;
    const std::int64_t stride = words_.map[j];
    // A digit that two bands share counts only a part of its device dim.
    const std::int64_t parts = digit.extent == 0 ? 1 : size(j) / digit.extent;
    const std::string message =
        cat("device dim ", j, " of stride ", stride, " has the extent ", size(j),
            ", but the tensor needs ", (Checked(need) * parts).saturated());
    // The likely mistake is a single coordinate whose stride is in between.
    for (std::size_t i = 0; i < words_.map.size(); ++i) {
      const std::int64_t wider = words_.map[i];
      if (size(i) != 1 || wider <= stride || wider % stride != 0) continue;
      const std::int64_t steps = ceil_div(need, wider / stride);
      if (steps < 2 || wider / stride > digit.extent) continue;
      return blame(Item::kDeviceSize, i, ErrorCode::kCountTooSmall, message,
                   cat("an extent of ", steps, " for device dim ", i, " of stride ", wider));
    }
    const bool is_stick = j + 1 == words_.map.size();
    return blame(Item::kDeviceSize, j, ErrorCode::kCountTooSmall, message,
                 is_stick ? cat("another device dim of stride ",
                                (Checked(stride) * digit.extent).saturated(), " and extent ",
                                ceil_div(need, std::max<std::int64_t>(digit.extent, 1)), " or more")
                          : cat("an extent of ", (Checked(need) * parts).saturated(), " or more"));
  }

  const SpyreLayout& words_;
  const Shape& shape_;
  const std::vector<std::int64_t>& host_stride_;
  const std::vector<std::int64_t>& device_stride_;
  const Spans& spans_;
  std::vector<DeviceLine> lines_;
};

}  // namespace

Result<std::vector<DeviceLine>> lines_of_strides(const SpyreLayout& words, const Shape& shape,
                                                 const std::vector<std::int64_t>& host_stride,
                                                 const Spans& spans) {
  TESSERA_TRY(const std::vector<std::int64_t> device_stride, device_strides(words.device_size));
  return StrideReader(words, shape, host_stride, device_stride, spans).read();
}

}  // namespace tessera::notation::spyre

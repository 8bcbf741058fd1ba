// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/spyre/part.h"

namespace tessera::notation {
namespace spyre {
namespace {

constexpr std::int64_t kMaxWalk = std::int64_t{1} << 22;

/// Counts distinct values of a line's digits, without the digit of the stick.
class Settings {
 public:
  Settings(const DeviceLine& line, std::size_t stick)
      : line_(line), stick_(stick), in_piece_(line.digits.size() + 1, 1) {
    for (std::size_t k = line.digits.size(); k-- > 1;) {
      in_piece_[k] = below(k, line.digits[k - 1].width);
    }
  }

  /// The number of distinct values of the digits from k on over positions [0, bound). The values
  /// repeat in every full piece, and a full piece has all values of a partial piece.
  std::int64_t below(std::size_t k, std::int64_t bound) const {
    std::int64_t settings = 0;
    for (; k < line_.digits.size() && bound > 0; ++k) {
      const std::int64_t full = bound / line_.digits[k].width;
      if (k == stick_ && full > 0) return settings + in_piece_[k + 1];
      settings += full * in_piece_[k + 1];
      bound %= line_.digits[k].width;
    }
    return settings + (bound > 0 ? 1 : 0);
  }

 private:
  const DeviceLine& line_;
  std::size_t stick_;
  std::vector<std::int64_t> in_piece_;  ///< of digits from k on, in one full piece of digit k-1
};

/// The digits of one position.
std::vector<std::int64_t> digits_at(const DeviceLine& line, std::int64_t position) {
  std::vector<std::int64_t> digits;
  for (const Digit& digit : line.digits) {
    digits.push_back(position / digit.width);
    position %= digit.width;
  }
  return digits;
}

bool divides(const DeviceLine& line) {
  for (std::size_t k = 0; k + 1 < line.digits.size(); ++k) {
    if (line.digits[k].width % line.digits[k + 1].width != 0) return false;
  }
  return true;
}

/// The covered positions of a line as an arithmetic progression, when they are one.
struct Progression {
  std::int64_t first = 0;
  std::int64_t step = 1;
  std::int64_t count = 1;
  std::int64_t last() const { return first + step * (count - 1); }
};

std::optional<Progression> progression(const DeviceLine& line, const std::vector<SpyreRange>& part,
                                       const std::vector<std::int64_t>& counts) {
  Progression result;
  std::vector<Term> terms = line.terms;
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.coef < b.coef; });
  bool begun = false;
  for (const Term& term : terms) {
    const auto dim = static_cast<std::size_t>(term.dim);
    result.first += term.coef * part[dim].start;
    if (counts[dim] == 1) continue;
    const std::int64_t step = term.coef * part[dim].step;
    const Checked next = Checked(result.step) * result.count;
    if (begun && (next.overflowed() || step != next.raw())) return std::nullopt;
    if (!begun) result.step = step;
    begun = true;
    result.count *= counts[dim];
  }
  return result;
}

std::optional<std::int64_t> closed_form(const DeviceLine& line, std::size_t stick,
                                        const Progression& positions) {
  const Settings settings(line, stick);
  const std::int64_t first = positions.first;
  const std::int64_t last = positions.last();
  if (stick + 1 != line.digits.size()) {
    if (first != 0 || positions.step != 1) return std::nullopt;
    return settings.below(0, last + 1);
  }
  // Positions in the order of the line visit sticks one after another.
  if (positions.step == 1) {
    const std::int64_t before = settings.below(0, first);
    const std::int64_t upto = settings.below(0, last + 1);
    if (first == 0) return upto;
    std::vector<std::int64_t> left = digits_at(line, first - 1);
    std::vector<std::int64_t> right = digits_at(line, first);
    left.pop_back();
    right.pop_back();
    return upto - before + (left == right ? 1 : 0);
  }
  if (!divides(line)) return std::nullopt;
  if (stick == 0) return 1;
  const std::int64_t width = line.digits[stick - 1].width;
  return positions.step <= width ? last / width - first / width + 1 : positions.count;
}

Result<std::int64_t> walk(const DeviceLine& line, std::size_t stick,
                          const std::vector<SpyreRange>& part,
                          const std::vector<std::int64_t>& counts) {
  Checked elements = 1;
  for (const Term& term : line.terms) elements *= counts[static_cast<std::size_t>(term.dim)];
  if (elements.saturated() > kMaxWalk) {
    return Error{ErrorCode::kTooLarge,
                 cat("counting sticks among ", elements.saturated(), " elements of fused dims"),
                 std::nullopt, cat("at most ", kMaxWalk, "; ask for a smaller part")};
  }
  std::vector<std::int64_t> sticks;
  std::vector<std::int64_t> at(line.terms.size(), 0);
  for (std::int64_t n = 0; n < elements.raw(); ++n) {
    std::int64_t position = 0;
    for (std::size_t t = 0; t < at.size(); ++t) {
      const SpyreRange& range = part[static_cast<std::size_t>(line.terms[t].dim)];
      position += line.terms[t].coef * (range.start + range.step * at[t]);
    }
    std::int64_t slot = 0;
    for (std::size_t k = 0; k < line.digits.size(); ++k) {
      if (k != stick) slot += position / line.digits[k].width * line.digits[k].stride;
      position %= line.digits[k].width;
    }
    sticks.push_back(slot);
    for (std::size_t t = at.size(); t-- > 0;) {
      if (++at[t] < counts[static_cast<std::size_t>(line.terms[t].dim)]) break;
      at[t] = 0;
    }
  }
  std::sort(sticks.begin(), sticks.end());
  return std::unique(sticks.begin(), sticks.end()) - sticks.begin();
}

}  // namespace

Result<std::int64_t> sticks_of_line(const DeviceLine& line, std::size_t device_rank,
                                    const std::vector<SpyreRange>& part,
                                    const std::vector<std::int64_t>& counts) {
  if (line.terms.empty()) return 1;
  const std::optional<std::size_t> stick = line.stick(device_rank);
  if (!stick) {
    std::int64_t elements = 1;  // no two of them share all their digits
    for (const Term& term : line.terms) elements *= counts[static_cast<std::size_t>(term.dim)];
    return elements;
  }
  if (const auto positions = progression(line, part, counts)) {
    if (const auto sticks = closed_form(line, *stick, *positions)) return *sticks;
  }
  return walk(line, *stick, part, counts);
}

}  // namespace spyre

Result<std::int64_t> covered_sticks(const SpyreLayout& words, const Shape& shape, DType dtype) {
  return covered_sticks(words, shape, dtype, spyre::whole(shape));
}

Result<std::int64_t> covered_sticks(const SpyreLayout& words, const Shape& shape, DType dtype,
                                    const std::vector<SpyreRange>& part) {
  TESSERA_TRY(const std::vector<std::int64_t> counts, spyre::counts_of(part, shape));
  TESSERA_TRY(const spyre::DeviceLines device,
              spyre::device_lines(words, shape, dtype, spyre::Spans()));
  for (const std::int64_t count : counts) {
    if (count == 0) return 0;
  }
  std::int64_t sticks = 1;  // at most as many as elements, so the product fits
  for (const spyre::DeviceLine& line : device.lines) {
    TESSERA_TRY(const std::int64_t factor,
                spyre::sticks_of_line(line, device.device_size.size(), part, counts));
    sticks *= factor;
  }
  return sticks;
}

}  // namespace tessera::notation

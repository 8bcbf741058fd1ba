// SPDX-License-Identifier: Apache-2.0
#include "tessera/check/reading.h"

#include <algorithm>
#include <array>
#include <utility>

#include "tessera/check/mlir_scan.h"
#include "tessera/check/warnings.h"
#include "tessera/notation/notation.h"

namespace tessera::check {
namespace {

constexpr int kMaxRounds = 16;

/// Whether the error is a limit of Tessera, not a fault of the text.
bool is_ours(const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotSupported:
    case ErrorCode::kTooLarge:
    case ErrorCode::kRankTooLarge:
    case ErrorCode::kTextTooLong:
    case ErrorCode::kBadDType:
    case ErrorCode::kUnknownNotation:
      return true;
    case ErrorCode::kUnknownName:  // a typing error has a correction; otherwise the name may be new
      return error.correction.empty();
    default:
      return false;
  }
}

/// The corrected text, and the mapping back to the original.
class Corrected {
 public:
  explicit Corrected(std::string_view text) : text_(text) {}

  const std::string& text() const { return text_; }

  struct Was {
    Span span;
    bool untouched = true;  ///< no earlier correction overlaps it
  };
  Was before(Span now) const {
    Was was{{before(now.from, &Span::from), before(now.to, &Span::to)}, true};
    for (const Change& change : changes_) {
      if (change.now.from < now.to && now.from < change.now.to) was.untouched = false;
    }
    return was;
  }

  void replace(Span now, Span was, std::string_view correction) {
    text_.replace(static_cast<std::size_t>(now.from), static_cast<std::size_t>(now.to - now.from),
                  correction);
    const auto size = static_cast<std::int64_t>(correction.size());
    const std::int64_t grown = size - (now.to - now.from);
    for (Change& change : changes_) {
      if (change.now.from < now.to) continue;
      change.now.from += grown;
      change.now.to += grown;
    }
    changes_.push_back({{now.from, now.from + size}, was});
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& a, const Change& b) { return a.now.from < b.now.from; });
  }

 private:
  struct Change {
    Span now;
    Span was;
  };

  /// The original position of a byte; inside a correction, the given end of the replaced text.
  std::int64_t before(std::int64_t now, std::int64_t Span::* end) const {
    std::int64_t shift = 0;
    for (const Change& change : changes_) {  // in increasing order
      if (now <= change.now.from) break;
      if (now < change.now.to) return change.was.*end;
      shift = change.was.to - change.now.to;
    }
    return now + shift;
  }

  std::string text_;
  std::vector<Change> changes_;
};

}  // namespace

bool is_known_layout(std::string_view encoding) {
  static constexpr std::array<std::string_view, 3> kNames = {
      "#ttnn.ttnn_layout", "#ttcore.metal_layout", "#tt.metal_layout"};
  return std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
    if (!encoding.starts_with(name)) return false;
    const std::size_t next = skip_blanks(encoding, name.size(), encoding.size());
    return next == encoding.size() || encoding[next] == '<';
  });
}

Reading read_mlir_tensor(std::string_view text, std::size_t layout, const CheckOptions& options) {
  Reading reading;
  Corrected corrected(text);
  for (int round = 0; round < kMaxRounds; ++round) {
    Result<Tensor> tensor = parse_tensor(corrected.text());
    if (tensor) {
      if (reading.findings.empty()) add_warnings(*tensor, text, layout, options, reading);
      return reading;
    }
    const Error& error = tensor.error();
    if (is_ours(error)) {
      reading.known = !reading.findings.empty();
      return reading;
    }
    const Span now = error.span.value_or(Span{0, static_cast<std::int64_t>(text.size())});
    const Corrected::Was was = corrected.before(now);
    Finding finding{Severity::kError, std::string(code_name(error.code)),
                    was.span,         error.message,
                    error.help,       {}};
    const bool again =
        std::any_of(reading.findings.begin(), reading.findings.end(), [&](const Finding& earlier) {
          return earlier.code == finding.code && earlier.message == finding.message &&
                 earlier.span == finding.span;
        });
    if (again) {  // the correction did not help, so drop it
      reading.findings.back().correction.clear();
      return reading;
    }
    if (was.untouched) finding.correction = error.correction;
    reading.findings.push_back(std::move(finding));
    if (error.correction.empty() || !was.untouched) return reading;
    corrected.replace(now, was.span, error.correction);
  }
  return reading;
}

}  // namespace tessera::check

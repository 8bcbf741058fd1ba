// SPDX-License-Identifier: Apache-2.0
#include "tools/alloc/alloc_gaps.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr std::size_t kMostShown = 80;  // letters of a text that is no gap

/// Reads the numbers and marks of one gap.
class GapReader {
 public:
  GapReader(std::string_view text, Span span) : text_(text), span_(span) {}

  Result<WrittenGap> read(bool is_inclusive) {
    WrittenGap written;
    written.span = span_;
    memory::Gap& gap = written.gap;
    TESSERA_TRY(gap.lower, number());
    TESSERA_CHECK_OK(mark('-'));
    TESSERA_TRY(gap.upper, number());
    if (at_ < text_.size()) {
      written.has_window = true;
      TESSERA_CHECK_OK(mark('@'));
      TESSERA_TRY(gap.kept_from, number());
      TESSERA_CHECK_OK(mark(':'));
      TESSERA_TRY(gap.kept_to, number());
      if (at_ < text_.size()) return no_gap();
    }
    if (is_inclusive && gap.upper == INT64_MAX) {
      return Error{ErrorCode::kOverflow, cat("the end ", gap.upper, " of a gap has no next moment"),
                   span_, "use a smaller number"};
    }
    gap.upper += is_inclusive ? 1 : 0;
    return written;
  }

 private:
  Error no_gap() const {
    const std::string shown = text_.size() <= kMostShown
                                  ? quote(text_)
                                  : cat(quote(text_.substr(0, kMostShown)), " and more");
    return Error{ErrorCode::kSyntax,
                 cat("expected a gap as lower-upper or lower-upper@from:to, found ", shown), span_,
                 "as in 7-9, or 7-9@0:64 to keep the first 64 bytes; separate gaps with blanks"};
  }

  Status mark(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return no_gap();
    ++at_;
    return ok_status();
  }

  Result<std::int64_t> number() {
    std::int64_t value = 0;
    const char* const from = text_.data() + at_;
    const auto [end, error] = std::from_chars(from, text_.data() + text_.size(), value);
    if (error == std::errc::invalid_argument) return no_gap();
    const auto length = static_cast<std::size_t>(end - from);
    if (error == std::errc::result_out_of_range) {
      const auto start = span_.from + static_cast<std::int64_t>(at_);
      const std::string digits(from, std::min(length, kMostShown));
      return Error{
          ErrorCode::kBadNumber,
          cat("the number ", quote(digits), " of a gap does not fit a signed 64-bit integer"),
          Span{start, start + static_cast<std::int64_t>(length)}, "use a smaller number"};
    }
    at_ += length;
    return value;
  }

  std::string_view text_;
  Span span_;
  std::size_t at_ = 0;
};

Status check_window(const WrittenGap& written, const memory::Buffer& buffer) {
  const auto [from, to] = std::pair(written.gap.kept_from, written.gap.kept_to);
  if (from >= to) {
    return Error{ErrorCode::kBadBuffer,
                 cat("the window from ", from, " to ", to, " of a gap is empty"), written.span,
                 "the second number is one past the last byte that is kept; omit the window of a "
                 "gap that keeps nothing"};
  }
  if (from < 0 || to > buffer.size) {
    return Error{ErrorCode::kBadBuffer,
                 cat("the window from ", from, " to ", to, " of a gap leaves the ", buffer.size,
                     " bytes of the buffer"),
                 written.span,
                 cat("windows count bytes of the buffer: from 0 to at most ", buffer.size)};
  }
  return ok_status();
}

}  // namespace

Result<std::vector<WrittenGap>> read_gaps(const Cell& cell, bool is_inclusive, std::size_t most) {
  std::vector<WrittenGap> gaps;
  const std::string_view text = cell.value;
  // Doubled quotes would move what follows them; no gap has any.
  const bool is_plain = text.find('"') == std::string_view::npos;
  const std::int64_t start = cell.span.from + (cell.quoted ? 1 : 0);
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    if (gaps.size() == most) {
      return Error{ErrorCode::kTooLarge, cat("there are more than ", kMostGaps, " gaps"), cell.span,
                   "use a file with fewer gaps"};
    }
    const Span span{start + static_cast<std::int64_t>(at), start + static_cast<std::int64_t>(end)};
    GapReader reader(text.substr(at, end - at), is_plain ? span : cell.span);
    TESSERA_TRY(const WrittenGap gap, reader.read(is_inclusive));
    gaps.push_back(gap);
    at = text.find_first_not_of(kBlanks, end);
  }
  return gaps;
}

Status add_gaps(std::vector<WrittenGap> gaps, memory::Buffer& buffer) {
  std::sort(gaps.begin(), gaps.end(), [](const WrittenGap& a, const WrittenGap& b) {
    return a.gap.lower != b.gap.lower ? a.gap.lower < b.gap.lower : a.span.from < b.span.from;
  });
  const WrittenGap* before = nullptr;
  for (const WrittenGap& written : gaps) {
    const memory::Gap& gap = written.gap;
    if (gap.lower >= gap.upper) {
      return Error{ErrorCode::kBadBuffer,
                   cat("the gap from ", gap.lower, " to ", gap.upper, " is empty"), written.span,
                   "the second number is the first moment after the gap and must be above the "
                   "first; with a column end it is the last moment of the gap"};
    }
    if (gap.lower < buffer.lower || gap.upper > buffer.upper) {
      return Error{ErrorCode::kBadBuffer,
                   cat("the gap from ", gap.lower, " to ", gap.upper,
                       " is outside the lifetime from ", buffer.lower, " to ", buffer.upper),
                   written.span,
                   cat("gaps are parts of the lifetime: use moments from ", buffer.lower, " to ",
                       buffer.upper)};
    }
    if (before != nullptr && gap.lower < before->gap.upper) {
      return Error{ErrorCode::kBadBuffer,
                   cat("the gap from ", gap.lower, " to ", gap.upper, " overlaps the gap from ",
                       before->gap.lower, " to ", before->gap.upper),
                   written.span, "gaps may touch, but not overlap"};
    }
    if (written.has_window) TESSERA_CHECK_OK(check_window(written, buffer));
    buffer.gaps.push_back(gap);
    before = &written;
  }
  return ok_status();
}

}  // namespace tessera::tools

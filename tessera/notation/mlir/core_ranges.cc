// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/mlir/core_ranges.h"

#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxRanges = 1024;

std::string coords(const std::array<std::int64_t, 2>& xy) {
  return cat("(", xy[0], ",", xy[1], ")");
}

std::string name_of(const CoreRange& range) {
  return cat(coords(range.start), "-", coords(range.end));
}

Status check_range(const CoreRange& range) {
  std::array<std::int64_t, 2> low = range.start;
  std::array<std::int64_t, 2> high = range.end;
  for (std::size_t i = 0; i < 2; ++i) {
    if (low[i] > high[i]) std::swap(low[i], high[i]);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (range.start[i] < 0) {
      return Error{ErrorCode::kOutOfRange, cat("a core range starts at ", coords(range.start)),
                   std::nullopt, "cores count from (0,0)"};
    }
    if (range.start[i] > range.end[i]) {
      return Error{ErrorCode::kContradiction,
                   cat("a core range from ", coords(range.start), " to ", coords(range.end),
                       " runs backward"),
                   std::nullopt, "give the lower corner first",
                   cat(coords(low), ", ", coords(high))};
    }
  }
  const Checked cores =
      (Checked(range.end[0]) - range.start[0] + 1) * (Checked(range.end[1]) - range.start[1] + 1);
  TESSERA_CHECK_OK(cores.value("the number of cores of a range"));
  return ok_status();
}

bool overlap(const CoreRange& a, const CoreRange& b) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (a.end[i] < b.start[i] || b.end[i] < a.start[i]) return false;
  }
  return true;
}

Status check_apart(const std::vector<CoreRange>& earlier, const CoreRange& range) {
  for (const CoreRange& other : earlier) {
    if (!overlap(other, range)) continue;
    return Error{ErrorCode::kContradiction,
                 cat("core ranges ", name_of(other), " and ", name_of(range), " overlap"),
                 std::nullopt, "each core holds one shard: list it once"};
  }
  return ok_status();
}

constexpr std::string_view kHelp =
    "core ranges are such as <[#ttnn.core_range<(0,0), (7,7)>]>, (x,y) corners";

/// '(' x ',' y ')'
Result<std::array<std::int64_t, 2>> read_coords(Cursor& cursor) {
  std::array<std::int64_t, 2> xy{};
  TESSERA_CHECK_OK(cursor.expect("(", kHelp));
  TESSERA_TRY(xy[0], cursor.integer("x", kHelp));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  TESSERA_TRY(xy[1], cursor.integer("y", kHelp));
  TESSERA_CHECK_OK(cursor.expect(")", kHelp));
  return xy;
}

/// The optional `#ttnn.name` before a '<'. An alias has no meaning outside its file.
Status read_prefix(Cursor& cursor, std::string_view name) {
  const std::int64_t from = cursor.position();
  if (!cursor.accept("#")) return ok_status();
  TESSERA_TRY(const Word dialect, cursor.identifier("'ttnn'", kHelp));
  if (!cursor.accept(".")) {
    return Error{ErrorCode::kUnknownName,
                 cat("the alias ", quote_name(cat("#", dialect.text)), " is not defined here"),
                 cursor.since(from), std::string(kHelp)};
  }
  if (dialect.text != "ttnn") {
    return Error{ErrorCode::kUnknownName, cat("unknown dialect ", quote_name(dialect.text)),
                 dialect.span, std::string(kHelp)};
  }
  return cursor.expect_word(name, kHelp);
}

/// `corners` is set to the span of both.
Result<CoreRange> read_range(Cursor& cursor, Span& corners) {
  CoreRange range;
  TESSERA_CHECK_OK(read_prefix(cursor, "core_range"));
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  const std::int64_t from = cursor.position();
  TESSERA_TRY(range.start, read_coords(cursor));
  TESSERA_CHECK_OK(cursor.expect(",", kHelp));
  TESSERA_TRY(range.end, read_coords(cursor));
  corners = cursor.since(from);
  TESSERA_CHECK_OK(cursor.expect(">", kHelp));
  return range;
}

}  // namespace

Result<std::vector<CoreRange>> read_core_ranges(Cursor& cursor, Span* span) {
  std::vector<CoreRange> ranges;
  TESSERA_CHECK_OK(read_prefix(cursor, "core_range_set"));
  const std::int64_t begin = cursor.position();
  TESSERA_CHECK_OK(cursor.expect("<", kHelp));
  if (cursor.accept(">")) {
    if (span != nullptr) *span = cursor.since(begin);
    return ranges;
  }
  TESSERA_CHECK_OK(cursor.expect("[", kHelp));
  do {
    if (ranges.size() == kMaxRanges) {
      return Error{ErrorCode::kTooLarge, cat("more than ", kMaxRanges, " core ranges"),
                   cursor.next().span, "join ranges into larger rectangles"};
    }
    const std::int64_t from = cursor.position();
    Span corners;
    TESSERA_TRY(const CoreRange range, read_range(cursor, corners));
    if (const Status status = check_range(range); !status) return status.error().at(corners);
    if (const Status status = check_apart(ranges, range); !status) {
      return status.error().at(cursor.since(from));
    }
    ranges.push_back(range);
  } while (cursor.accept(","));
  if (!cursor.accept("]")) return cursor.expected("',' or ']'", kHelp);
  TESSERA_CHECK_OK(cursor.expect(">", kHelp));
  if (span != nullptr) *span = cursor.since(begin);
  return ranges;
}

std::string write_core_ranges(const std::vector<CoreRange>& ranges) {
  if (ranges.empty()) return "<>";
  std::string text = "<[";
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    text += cat(i == 0 ? "" : ", ", "#ttnn.core_range<", coords(ranges[i].start), ", ",
                coords(ranges[i].end), ">");
  }
  return text + "]>";
}

Status check_core_ranges(const std::vector<CoreRange>& ranges) {
  if (ranges.size() > kMaxRanges) {
    return Error{ErrorCode::kTooLarge, cat("more than ", kMaxRanges, " core ranges"), std::nullopt,
                 "join ranges into larger rectangles"};
  }
  std::vector<CoreRange> earlier;
  for (const CoreRange& range : ranges) {
    TESSERA_CHECK_OK(check_range(range));
    TESSERA_CHECK_OK(check_apart(earlier, range));
    earlier.push_back(range);
  }
  return ok_status();
}

Result<std::int64_t> cores_in(const std::vector<CoreRange>& ranges) {
  Checked cores = 0;
  for (const CoreRange& range : ranges) cores += Checked(range.width()) * range.height();
  return cores.value("the number of cores");
}

std::vector<CoreRange> canonical_core_ranges(std::int64_t cores, std::int64_t width) {
  std::vector<CoreRange> ranges;
  const std::int64_t rows = cores / width;
  const std::int64_t left = cores % width;
  if (rows > 0) ranges.push_back({{0, 0}, {width - 1, rows - 1}});
  if (left > 0) ranges.push_back({{0, rows}, {left - 1, rows}});
  return ranges;
}

std::vector<CoreRange> core_ranges_from(const std::array<std::int64_t, 2>& start,
                                        std::int64_t cores, std::int64_t width) {
  std::vector<CoreRange> ranges = canonical_core_ranges(cores, width);
  for (CoreRange& range : ranges) {
    for (std::size_t i = 0; i < 2; ++i) {
      range.start[i] = (Checked(range.start[i]) + start[i]).saturated();
      range.end[i] = (Checked(range.end[i]) + start[i]).saturated();
    }
  }
  return ranges;
}

bool are_canonical(const std::vector<CoreRange>& ranges) {
  if (ranges.empty() || ranges.size() > 2 || ranges[0].start != std::array<std::int64_t, 2>{0, 0}) {
    return false;
  }
  if (ranges.size() == 1) return true;
  const CoreRange& rest = ranges[1];
  return rest.height() == 1 && rest.start[0] == 0 && rest.start[1] == ranges[0].height() &&
         rest.width() < ranges[0].width();
}

}  // namespace tessera::notation

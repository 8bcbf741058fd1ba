// SPDX-License-Identifier: Apache-2.0
#include "tools/targets/measurement_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "tessera/base/names.h"
#include "tessera/base/read_real.h"
#include "tessera/base/text.h"
#include "tessera/fabric/calibration/calibrate.h"
#include "tools/files/csv.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

using fabric::Measurement;

enum Column : std::size_t {
  kMechanism,
  kPattern,
  kTransactions,
  kBytes,
  kCycles,
  kMemory,
  kSubordinates,
  kSameAxis,
  kStateful,
  kLoopback,
};
constexpr std::array<std::string_view, 10> kColumns = {
    "mechanism", "pattern",      "transactions", "bytes",    "cycles",
    "memory",    "subordinates", "same_axis",    "stateful", "loopback"};
constexpr std::size_t kRequired = 5;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

template <typename Names>
std::string listed(const Names& names) {
  std::string all;
  for (const auto& name : names) all += cat(all.empty() ? "" : ", ", name);
  return all;
}

/// The column of each cell of a row.
Result<std::vector<Column>> read_header(const CellRow& row) {
  const Span whole{row.from, row.to};
  std::vector<Column> columns;
  for (const Cell& cell : row.cells) {
    const auto found = std::find(kColumns.begin(), kColumns.end(), cell.value);
    if (found == kColumns.end()) {
      return Error{ErrorCode::kUnknownName,
                   cat("the first row names the columns; there is no column ", quote(cell.value)),
                   cell.span,
                   did_you_mean(cell.value, kColumns, cat("expected ", listed(kColumns)))};
    }
    const auto column = static_cast<Column>(found - kColumns.begin());
    if (std::find(columns.begin(), columns.end(), column) != columns.end()) {
      return Error{ErrorCode::kContradiction, cat("two columns are called ", *found), cell.span,
                   "omit one of them"};
    }
    columns.push_back(column);
  }
  for (std::size_t i = 0; i < kRequired; ++i) {
    if (std::find(columns.begin(), columns.end(), i) != columns.end()) continue;
    return Error{ErrorCode::kSyntax, cat("there is no column ", kColumns[i]), whole,
                 cat("expected ", listed(std::span(kColumns).first(kRequired)), ", and optionally ",
                     listed(std::span(kColumns).subspan(kRequired)))};
  }
  return columns;
}

Error unknown(std::string_view what, const Cell& cell, const std::vector<std::string>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::optional<std::string_view> nearest = nearest_name(cell.value, names);
  return Error{ErrorCode::kUnknownName, cat("found the ", what, " ", quote(cell.value)), cell.span,
               cat(nearest ? cat("did you mean '", *nearest, "'? ") : std::string(),
                   "expected one of ", listed(known))};
}

Error bad_number(std::string_view column, const Cell& cell, std::string_view expected) {
  return Error{ErrorCode::kBadNumber, cat("found ", column, " ", quote(cell.value)), cell.span,
               cat("expected ", expected)};
}

Result<std::int64_t> number_in(std::string_view column, const Cell& cell, std::int64_t least,
                               std::int64_t most) {
  const Result<std::int64_t> number = whole_number(column, cell);
  if (number && *number >= least && *number <= most) return *number;
  return bad_number(column, cell, cat("a whole number from ", least, " to ", most));
}

Result<double> cycles_in(const Cell& cell) {
  const std::string_view text = cell.value;
  double cycles = 0;
  const auto [end, error] = read_real(text.data(), text.data() + text.size(), cycles);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && std::isfinite(cycles) && cycles > 0 && cycles <= fabric::kMaxMeasuredCycles) {
    return cycles;
  }
  return bad_number("cycles", cell, "a number above 0, at most 1e15");
}

class TableReader {
 public:
  TableReader(std::string_view text, const Machine& machine)
      : text_(text), memories_(fabric::far_memory_names(machine)) {
    for (const fabric::Pattern& pattern : fabric::all_patterns()) {
      patterns_.push_back(fabric::pattern_name(pattern));
    }
    for (const fabric::Method method : fabric::kMethods) {
      methods_.emplace_back(fabric::method_name(method));
    }
    if (!memories_.empty()) first_.far = memories_[0].memory;
    for (const fabric::FarMemoryName& memory : memories_) {
      memory_names_.push_back(memory.name);
      if (memory.name == machine.data_space) first_.far = memory.memory;
    }
  }

  Result<std::vector<Measurement>> read() {
    if (text_.size() > kMostTableBytes) {
      return Error{ErrorCode::kTextTooLong, cat("a table of ", text_.size(), " bytes"),
                   std::nullopt, cat("at most ", kMostTableBytes, " are read")};
    }
    if (memories_.empty()) {
      return Error{ErrorCode::kNotSupported, "the machine has no memory that transfers could use",
                   std::nullopt, "measured transfers are between memories per place or per bank"};
    }
    std::vector<Measurement> list;
    std::vector<Column> columns;
    CellRow row;
    const std::int64_t begin = text_.starts_with(kByteOrderMark) ? std::ssize(kByteOrderMark) : 0;
    for (std::int64_t at = begin; at < std::ssize(text_); at = row.next) {
      TESSERA_CHECK_OK(read_row(text_, at, kColumns.size() + 1, row));
      if (row.blank()) continue;
      if (columns.empty()) {
        TESSERA_TRY(columns, read_header(row));
        continue;
      }
      const Span span{row.from, row.to};
      if (row.cells.size() != columns.size()) {
        return Error{ErrorCode::kSyntax, cat("found ", row.cells.size(), " cells"), span,
                     cat("expected ", columns.size(), ", one for each column")};
      }
      if (list.size() == fabric::kMaxMeasurements) {
        return Error{ErrorCode::kTooLarge, cat("more than ", list.size(), " measurements"), span,
                     "fit a part of them"};
      }
      TESSERA_TRY(Measurement measurement, read_measurement(columns, row));
      measurement.span = span;
      list.push_back(measurement);
    }
    if (list.empty()) {
      return Error{ErrorCode::kSyntax, "the table has no measurements",
                   Span{std::ssize(text_), std::ssize(text_)},
                   cat("expected a line of column names and rows of numbers: ",
                       listed(std::span(kColumns).first(kRequired)))};
    }
    return list;
  }

 private:
  Result<Measurement> read_measurement(const std::vector<Column>& columns, const CellRow& row) {
    Measurement m = first_;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      TESSERA_CHECK_OK(read_cell(columns[i], row.cells[i], m));
    }
    if (Status status = fabric::check(m); !status) {
      return status.error().at({row.from, row.to});
    }
    return m;
  }

  Status read_cell(Column column, const Cell& cell, Measurement& m) {
    switch (column) {
      case kMechanism: {
        TESSERA_TRY(const std::size_t i, one_of("mechanism", cell, methods_));
        m.method = fabric::kMethods[i];
        break;
      }
      case kPattern: {
        TESSERA_TRY(const std::size_t i, one_of("pattern", cell, patterns_));
        m.pattern = fabric::all_patterns()[i];
        break;
      }
      case kMemory: {
        TESSERA_TRY(const std::size_t i, one_of("memory", cell, memory_names_));
        m.far = memories_[i].memory;
        break;
      }
      case kTransactions:
        return number_to(column, cell, 1, kMost, m.transactions);
      case kBytes:
        return number_to(column, cell, 1, kMost, m.bytes);
      case kSubordinates:
        return number_to(column, cell, 0, kMost, m.subordinates);
      case kSameAxis:
        return flag_to(column, cell, m.same_axis);
      case kStateful:
        return flag_to(column, cell, m.stateful);
      case kLoopback:
        return flag_to(column, cell, m.loopback);
      case kCycles: {
        TESSERA_TRY(m.cycles, cycles_in(cell));
        break;
      }
    }
    return ok_status();
  }

  static Result<std::size_t> one_of(std::string_view what, const Cell& cell,
                                    const std::vector<std::string>& known) {
    const auto found = std::find(known.begin(), known.end(), cell.value);
    if (found == known.end()) return unknown(what, cell, known);
    return static_cast<std::size_t>(found - known.begin());
  }
  static Status number_to(Column column, const Cell& cell, std::int64_t least, std::int64_t most,
                          std::int64_t& out) {
    TESSERA_TRY(out, number_in(kColumns[column], cell, least, most));
    return ok_status();
  }
  static Status flag_to(Column column, const Cell& cell, bool& out) {
    std::int64_t number = 0;
    TESSERA_CHECK_OK(number_to(column, cell, 0, 1, number));
    out = number == 1;
    return ok_status();
  }

  static constexpr std::int64_t kMost = std::int64_t{1} << 40;

  std::string_view text_;
  std::vector<fabric::FarMemoryName> memories_;
  std::vector<std::string> memory_names_;
  std::vector<std::string> patterns_;
  std::vector<std::string> methods_;
  Measurement first_;  // with the default memory
};

}  // namespace

Result<std::vector<Measurement>> read_measurements(std::string_view text, const Machine& machine) {
  return TableReader(text, machine).read();
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/relayout/casts/cast.h"
#include "tessera/relayout/jobs/flat_nest.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {
namespace {

constexpr std::int64_t kMostNests = 1 << 14;
/// Up to this many nests are written as separate loops; more go into tables.
constexpr std::size_t kWrittenOut = 16;

/// A nest as numbers: its start on both sides, the length of its run, and the extent and both steps
/// of every loop. Nests of equal depth share loops; the numbers that differ come from a table.
struct Row {
  std::size_t depth = 0;
  std::vector<std::int64_t> numbers;  ///< dst, src, run, then (extent, dst step, src step) per loop
};
constexpr std::size_t kDst = 0;
constexpr std::size_t kSrc = 1;
constexpr std::size_t kRun = 2;
constexpr std::size_t kLoops = 3;
constexpr std::size_t kPerLoop = 3;

/// In units of `size` bytes; the innermost contiguous loop becomes the run if `joins` is true.
Row row_of(FlatNest nest, std::int64_t size, bool joins) {
  std::int64_t run = 1;
  if (joins && !nest.axes.empty() && nest.axes.back().src == 1 && nest.axes.back().dst == 1) {
    run = nest.axes.back().extent;
    nest.axes.pop_back();
  }
  Row row{nest.axes.size(), {nest.dst * size, nest.src * size, run * size}};
  for (const Axis& axis : nest.axes) {
    row.numbers.insert(row.numbers.end(), {axis.extent, axis.dst * size, axis.src * size});
  }
  return row;
}

/// Rows that share loops: a column is a literal if all rows agree, otherwise a column of a table.
class Group {
 public:
  Group(std::vector<Row> rows, std::size_t number) : rows_(std::move(rows)), number_(number) {
    for (std::size_t c = 0; c < rows_[0].numbers.size(); ++c) {
      const auto agrees = [&](const Row& row) { return row.numbers[c] == rows_[0].numbers[c]; };
      const bool same = std::all_of(rows_.begin(), rows_.end(), agrees);
      column_.push_back(same ? -1 : columns_++);
    }
  }

  std::size_t depth() const { return rows_[0].depth; }
  bool has_table() const { return columns_ > 0; }

  /// " + 24 * i0": the number in column c, times `by`; "" for a term that is always 0.
  std::string term(std::size_t c, std::string_view by) const {
    const std::string times = by.empty() ? "" : cat(" * ", by);
    if (column_[c] >= 0) return cat(" + row[", column_[c], "]", times);
    const std::int64_t number = rows_[0].numbers[c];
    if (number == 0) return "";
    if (number == 1 && !by.empty()) return cat(" + ", by);
    return number < 0 ? cat(" - ", -number, times) : cat(" + ", number, times);
  }

  std::string value(std::size_t c) const {
    return column_[c] >= 0 ? cat("row[", column_[c], "]") : cat(rows_[0].numbers[c]);
  }
  bool is_literal(std::size_t c) const { return column_[c] < 0; }
  std::int64_t literal(std::size_t c) const { return rows_[0].numbers[c]; }

  /// `side` is kDst or kSrc.
  std::string offset(std::size_t side) const {
    std::string text = term(side, "");
    for (std::size_t l = 0; l < depth(); ++l) {
      text += term(kLoops + l * kPerLoop + 1 + side, cat("i", l));
    }
    return text;
  }

  std::string table() const {
    if (!has_table()) return "";
    std::string text =
        cat("  static const int64_t table", number_, "[", rows_.size(), "][", columns_, "] = {\n");
    for (const Row& row : rows_) {
      std::string list;
      for (std::size_t c = 0; c < column_.size(); ++c) {
        if (column_[c] >= 0) list += cat(list.empty() ? "" : ", ", row.numbers[c]);
      }
      text += cat("      {", list, "},\n");
    }
    return text + "  };\n";
  }

  /// The loops around `statement`.
  std::string loops(const std::string& statement) const {
    std::string indent = "  ";
    std::string text;
    std::size_t open = 0;
    const auto enter = [&](const std::string& line) {
      text += cat(indent, line, " {\n");
      indent += "  ";
      ++open;
    };
    if (has_table()) {
      enter(cat("for (int64_t n = 0; n < ", rows_.size(), "; ++n)"));
      text += cat(indent, "const int64_t* const row = table", number_, "[n];\n");
    }
    for (std::size_t l = 0; l < depth(); ++l) {
      enter(cat("for (int64_t i", l, " = 0; i", l, " < ", value(kLoops + l * kPerLoop), "; ++i", l,
                ")"));
    }
    text += cat(indent, statement, "\n");
    for (; open > 0; --open) {
      indent.resize(indent.size() - 2);
      text += cat(indent, "}\n");
    }
    return text;
  }

 private:
  std::vector<Row> rows_;
  std::size_t number_;
  std::vector<int> column_;  ///< of the table, or -1 for a literal
  int columns_ = 0;
};

/// A few nests are written separately; many are grouped by depth.
std::vector<Group> grouped(std::vector<Row> rows, std::size_t first_number) {
  std::vector<Group> groups;
  if (rows.size() <= kWrittenOut) {
    for (Row& row : rows) groups.emplace_back(std::vector<Row>{std::move(row)}, 0);
    return groups;
  }
  std::map<std::size_t, std::vector<Row>> by_depth;
  for (Row& row : rows) by_depth[row.depth].push_back(std::move(row));
  for (auto& [depth, members] : by_depth) {
    groups.emplace_back(std::move(members), first_number + groups.size());
  }
  return groups;
}

Status check_name(std::string_view name) {
  const auto fits = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  static constexpr auto kKeywords = std::to_array<std::string_view>(
      {"auto",     "break",  "case",   "char",     "const",      "continue", "default",  "do",
       "double",   "else",   "enum",   "extern",   "float",      "for",      "goto",     "if",
       "inline",   "int",    "long",   "register", "restrict",   "return",   "short",    "signed",
       "sizeof",   "static", "struct", "switch",   "typedef",    "union",    "unsigned", "void",
       "volatile", "while",  "_Bool",  "_Complex", "_Imaginary", "memcpy",   "memset"});
  const bool taken = std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
  const bool has_digit_first = !name.empty() && name[0] >= '0' && name[0] <= '9';
  const bool good =
      !name.empty() && !has_digit_first && !taken && std::all_of(name.begin(), name.end(), fits);
  if (good) return ok_status();
  return Error{ErrorCode::kSyntax, cat(quote_name(name), " is not a name that C allows"),
               std::nullopt,
               "use letters, digits and '_', not beginning with a digit, and not a keyword of C"};
}

Status check_types(const Program& program) {
  const DType from = program.from.storage();
  const DType to = program.to.storage();
  if (from != to) {
    return Error{ErrorCode::kNotSupported,
                 cat("the program converts ", dtype_name(from), " to ", dtype_name(to),
                     ", which the C function does not"),
                 std::nullopt, "emit a move between layouts of one type, and convert separately"};
  }
  if (!is_block_float(to)) return ok_status();
  return Error{ErrorCode::kNotSupported,
               cat("elements of ", dtype_name(to), " have no byte address"), std::nullopt,
               "emit a move of tiles of plain elements"};
}

/// The lines of a comment, without text that would end it or cause a compiler warning.
std::string comment(std::string_view text) {
  std::string out = "/* ";
  for (const char c : printable(text)) {
    const char last = out.back();
    const bool closes = (last == '*' && c == '/') || (last == '/' && c == '*');
    if (closes || (last == '?' && c == '?')) out += ' ';
    out += c;
  }
  return out + " */\n";
}

std::string title_comment(std::string_view title) {
  std::string text;
  while (!title.empty()) {
    const std::size_t end = title.find('\n');
    if (const std::string_view line = title.substr(0, end); !line.empty()) text += comment(line);
    title.remove_prefix(end == std::string_view::npos ? title.size() : end + 1);
  }
  return text;
}

constexpr std::string_view kPackedGet = R"(
/* Element i of an array of elements of BITS bits, the first in the lowest bits of a byte. */
static unsigned NAME_get(const unsigned char* array, int64_t i) {
  return (unsigned)array[i / EACH] >> (i % EACH * BITS) & MASK;
}
)";
constexpr std::string_view kPackedPut = R"(
static void NAME_put(unsigned char* array, int64_t i, unsigned value) {
  const int shift = (int)(i % EACH * BITS);
  array[i / EACH] = (unsigned char)((array[i / EACH] & ~(MASKu << shift)) | value << shift);
}
)";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

/// Writes the statements of one element type.
class Writer {
 public:
  Writer(const Program& program, std::string_view name)
      : program_(program), name_(name), bits_(*dtype_bits(program.to.storage())) {}

  bool is_packed() const { return bits_ < 8; }
  std::int64_t size() const { return is_packed() ? 1 : bits_ / 8; }

  Result<std::string> write(std::string_view title) const {
    TESSERA_TRY(const Cast cast,
                Cast::make(DType::kF64, program_.to.storage(), Rounding::kSaturate));
    std::array<std::byte, 8> value{};
    cast.run(reinterpret_cast<const std::byte*>(&program_.padding), 0, value.data(), 0, 1);
    const std::span<const std::byte> bytes(value.data(), static_cast<std::size_t>(size()));
    const bool uniform =
        std::all_of(bytes.begin(), bytes.end(), [&](std::byte b) { return b == bytes[0]; });
    const bool fill_runs = uniform && !is_packed();

    std::vector<Row> fill_rows;
    for (const FillNest& fill : program_.fills) {
      if (fill.positions() > 0) fill_rows.push_back(row_of(flat(fill), size(), fill_runs));
    }
    std::vector<Row> copy_rows;
    for (std::int64_t i = 0; i < program_.nests(); ++i) {
      const FlatNest nest = flatten(program_.nest(i), program_.from, program_.to);
      copy_rows.push_back(row_of(nest, size(), !is_packed()));
    }
    const bool has_fills = !fill_rows.empty();
    const bool has_copies = !copy_rows.empty();
    const std::vector<Group> fills = grouped(std::move(fill_rows), 0);
    const std::vector<Group> copies = grouped(std::move(copy_rows), fills.size());

    std::string out = "#include <stdint.h>\n#include <string.h>\n";
    if (is_packed() && (has_fills || has_copies)) out += packed_functions(has_copies);
    out += cat("\n", title_comment(title));
    out += comment(cat("src: ", program_.from.bytes, " bytes, dst: ", program_.to.bytes,
                       " bytes, elements of ", dtype_name(program_.to.storage())));
    out += cat("void ", name_, "(const void* src, void* dst) {\n");
    for (const Group& group : fills) out += group.table();
    for (const Group& group : copies) out += group.table();
    if (has_fills && !uniform) out += pattern(bytes);
    out += has_copies ? "  const unsigned char* const from = (const unsigned char*)src;\n"
                      : "  (void)src;\n";
    out += has_copies || has_fills ? "  unsigned char* const to = (unsigned char*)dst;\n"
                                   : "  (void)dst;\n";
    for (const Group& group : fills) {
      out += group.loops(fill_statement(group, std::to_integer<unsigned>(bytes[0]), uniform));
    }
    for (const Group& group : copies) out += group.loops(copy_statement(group));
    return out + "}\n";
  }

 private:
  FlatNest flat(const FillNest& fill) const {
    FlatNest nest;
    nest.dst = program_.to.flat(fill.at);
    // Equal steps on both sides: loops then join wherever the loops of the destination do.
    nest.src = nest.dst;
    for (const FillLoop& loop : fill.loops) {
      const std::int64_t step = program_.to.flat(loop.step);
      nest.axes.push_back({loop.extent, step, step});
    }
    return simplified(std::move(nest));
  }

  std::string packed_functions(bool has_copies) const {
    std::string text = cat(has_copies ? kPackedGet : "", kPackedPut);
    text = replaced(std::move(text), "NAME", name_);
    text = replaced(std::move(text), "BITS", cat(bits_));
    text = replaced(std::move(text), "EACH", cat(8 / bits_));
    text = replaced(std::move(text), "MASK", cat((1 << bits_) - 1));
    return text;
  }

  static std::string pattern(std::span<const std::byte> bytes) {
    std::string list;
    for (const std::byte b : bytes) {
      list += cat(list.empty() ? "" : ", ", std::to_integer<int>(b));
    }
    return cat("  static const unsigned char padding[", bytes.size(), "] = {", list, "};\n");
  }

  static std::string run_of(const Group& group) {
    return group.is_literal(kRun) ? group.value(kRun) : cat("(size_t)", group.value(kRun));
  }

  /// An index without the pointer before it: "16 * i0", or "0".
  static std::string index(const std::string& offset) {
    if (offset.empty()) return "0";
    return offset.starts_with(" + ") ? offset.substr(3) : cat("-", offset.substr(3));
  }

  std::string fill_statement(const Group& group, unsigned first, bool uniform) const {
    const std::string to = group.offset(kDst);
    if (is_packed()) {
      return cat(name_, "_put(to, ", index(to), ", ", first & ((1U << bits_) - 1), ");");
    }
    if (uniform) return cat("memset(to", to, ", ", first, ", ", run_of(group), ");");
    return cat("memcpy(to", to, ", padding, ", size(), ");");
  }

  std::string copy_statement(const Group& group) const {
    const std::string to = group.offset(kDst);
    const std::string from = group.offset(kSrc);
    if (is_packed()) {
      return cat(name_, "_put(to, ", index(to), ", ", name_, "_get(from, ", index(from), "));");
    }
    return cat("memcpy(to", to, ", from", from, ", ", run_of(group), ");");
  }

  const Program& program_;
  std::string_view name_;
  std::int64_t bits_;
};

}  // namespace

Result<std::string> emit_c(const Program& program, std::string_view name, std::string_view title) {
  TESSERA_CHECK_OK(check_name(name));
  TESSERA_CHECK_OK(check_types(program));
  const auto fills = static_cast<std::int64_t>(program.fills.size());
  if (program.nests() > kMostNests || fills > kMostNests) {
    return Error{ErrorCode::kTooLarge,
                 cat("the program has ", std::max(program.nests(), fills),
                     " nests; a C function is emitted for at most ", kMostNests),
                 std::nullopt, "run the program instead of emitting it"};
  }
  return Writer(program, name).write(title);
}

}  // namespace tessera::relayout

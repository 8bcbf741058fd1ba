// SPDX-License-Identifier: Apache-2.0
#include "tessera/plan/choose/read_problem.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/text.h"

namespace tessera::choose {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr int kMostDepth = 64;  // of values that are ignored

/// A list of lists of numbers, with the position of each inner list in the text.
struct Table {
  std::vector<Numbers> rows;
  std::vector<Span> spans;
  std::optional<Span> span = {};  ///< of the key; missing when the text has no such list
};

/// Everything that the text has, before it is put together.
struct Lists {
  Table intervals, costs, usages, edges, edge_costs;
  std::optional<std::int64_t> limit = {};
  std::optional<Span> limit_span = {};
  std::optional<Span> nodes_span = {};
  std::optional<Span> edges_span = {};
  std::optional<Span> problem_span = {};
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads JSON values one after the other, left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::int64_t at() const { return static_cast<std::int64_t>(at_); }
  /// The next character that is no space; 0 at the end.
  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  Error unexpected(std::string_view expected) {
    const char c = peek();
    const std::string found = at_ >= text_.size()      ? std::string("the end of the text")
                              : (c >= ' ' && c <= '~') ? cat("'", c, "'")
                                                       : std::string("an invalid character");
    return Error{
        ErrorCode::kSyntax, cat("expected ", expected, ", found ", found),
        Span{at(), at() + (at_ < text_.size() ? 1 : 0)},
        "a problem is {\"problem\": {\"nodes\": {\"intervals\": .., \"costs\": .., "
        "\"usages\": ..}, \"edges\": {\"nodes\": .., \"costs\": ..}, \"usage_limit\": N}}"};
  }

  Status expect(char c, std::string_view expected) {
    if (take(c)) return ok_status();
    return unexpected(expected);
  }

  /// The text between two quotes, as it is written. Keys with escapes are no keys of ours.
  Result<std::string_view> string(std::string_view expected) {
    if (!take('"')) return unexpected(expected);
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) {
      at_ = text_.size();
      return unexpected("the closing '\"' of a string");
    }
    return text_.substr(from, at_++ - from);
  }

  /// An integer. Beyond the range of int64_t, 10^18 or more stands for "forbidden" only where
  /// `saturates` is set.
  Result<std::int64_t> integer(bool saturates) {
    peek();
    const std::size_t from = at_;
    const bool negative = at_ < text_.size() && text_[at_] == '-';
    if (negative) ++at_;
    std::uint64_t value = 0;
    const std::size_t first = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
      ++at_;
    }
    const std::size_t digits = at_ - first;
    if (digits == 0) return unexpected("an integer");
    const bool has_more = at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' ||
                                                 text_[at_] == 'E' || is_digit(text_[at_]));
    if (has_more || (digits > 1 && text_[first] == '0')) return bad_number(from, "is no integer");
    if (digits <= 18 || (digits == 19 && value <= std::uint64_t{INT64_MAX})) {
      const auto number = static_cast<std::int64_t>(value);
      return negative ? -number : number;
    }
    if (saturates && !negative) return kForbidden;
    return bad_number(from, "does not fit a signed 64-bit integer");
  }

  /// [1, 2, 3], appended to `numbers`.
  Status numbers(Numbers& numbers, bool saturates) {
    TESSERA_CHECK_OK(expect('[', "'[' and a list of integers"));
    if (take(']')) return ok_status();
    do {
      TESSERA_TRY(const std::int64_t number, integer(saturates));
      numbers.push_back(number);
    } while (take(','));
    return expect(']', "',' or ']' in a list of integers");
  }

  /// [[1, 2], [3]].
  Status table(Table& table, bool saturates) {
    TESSERA_CHECK_OK(expect('[', "'[' and a list of lists"));
    if (take(']')) return ok_status();
    Numbers row;
    do {
      peek();
      const std::int64_t from = at();
      row.clear();
      TESSERA_CHECK_OK(numbers(row, saturates));
      table.rows.push_back(row);  // a copy, which takes no more memory than it needs
      table.spans.push_back({from, at()});
    } while (take(','));
    return expect(']', "',' or ']' in a list of lists");
  }

  /// {"key": value, ..}: calls `member(key, span of the key)` at each value. A key that comes
  /// twice is an error.
  template <typename Member>
  Status object(std::string_view what, const Member& member) {
    TESSERA_CHECK_OK(expect('{', cat("'{' and the ", what)));
    if (take('}')) return ok_status();
    do {
      peek();
      const std::int64_t from = at();
      TESSERA_TRY(const std::string_view key, string("a key in double quotes"));
      const Span span{from, at()};
      TESSERA_CHECK_OK(expect(':', "':' after a key"));
      TESSERA_CHECK_OK(member(key, span));
    } while (take(','));
    return expect('}', cat("',' or '}' in the ", what));
  }

  /// Any value, ignored.
  Status skip(int depth = 0) {
    const char c = peek();
    if (depth > kMostDepth) {
      return Error{ErrorCode::kSyntax, cat("values nested more than ", kMostDepth, " deep"),
                   Span{at(), at() + 1}, "leave out what does not belong to the problem"};
    }
    if (c == '"') {
      const auto ignored = string("a string");
      return ignored ? ok_status() : Status(ignored.error());
    }
    if (c == '{') {
      return object("value", [&](std::string_view, Span) { return skip(depth + 1); });
    }
    if (c == '[') {
      ++at_;
      if (take(']')) return ok_status();
      do {
        TESSERA_CHECK_OK(skip(depth + 1));
      } while (take(','));
      return expect(']', "',' or ']' in a list");
    }
    for (const std::string_view word : {"true", "false", "null"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return ok_status();
      }
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '-' || text_[at_] == '+' ||
                                  text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
    }
    if (at_ == from) return unexpected("a value");
    return ok_status();
  }

 private:
  Error bad_number(std::size_t from, std::string_view why) {
    while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '.' || text_[at_] == 'e' ||
                                  text_[at_] == 'E' || text_[at_] == '-' || text_[at_] == '+')) {
      ++at_;
    }
    constexpr std::size_t kShown = 40;
    const std::string_view number = text_.substr(from, at_ - from);
    return Error{ErrorCode::kBadNumber,
                 cat(number.substr(0, kShown), number.size() > kShown ? ".." : "", " ", why),
                 Span{static_cast<std::int64_t>(from), at()},
                 "numbers are integers such as 1024; 10^18 is a forbidden cost"};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Error repeated(std::string_view key, Span span) {
  return Error{ErrorCode::kSyntax, cat("the key \"", key, "\" comes twice"), span,
               "leave one of the two out"};
}

Error missing(std::string_view key, std::optional<Span> span) {
  return Error{
      ErrorCode::kBadProblem, cat("\"", key, "\" is missing"), span,
      "nodes have \"intervals\", \"costs\" and \"usages\"; edges have \"nodes\" and \"costs\""};
}

class Reader {
 public:
  explicit Reader(std::string_view text) : scanner_(text) {}

  Result<Problem> run() {
    TESSERA_CHECK_OK(scanner_.object("file", [&](std::string_view key, Span span) -> Status {
      if (key != "problem") return scanner_.skip();
      if (lists_.problem_span) return repeated(key, span);
      lists_.problem_span = span;
      return problem();
    }));
    if (scanner_.peek() != '\0') return scanner_.unexpected("the end of the text");
    if (!lists_.problem_span) return missing("problem", Span{0, 1});
    if (!lists_.nodes_span) return missing("nodes", lists_.problem_span);
    return put_together();
  }

 private:
  Status problem() {
    return scanner_.object("problem", [&](std::string_view key, Span span) -> Status {
      if (key == "nodes") {
        if (lists_.nodes_span) return repeated(key, span);
        lists_.nodes_span = span;
        return members("nodes", {{"intervals", &lists_.intervals, false},
                                 {"costs", &lists_.costs, true},
                                 {"usages", &lists_.usages, false}});
      }
      if (key == "edges") {
        if (lists_.edges_span) return repeated(key, span);
        lists_.edges_span = span;
        return members("edges",
                       {{"nodes", &lists_.edges, false}, {"costs", &lists_.edge_costs, true}});
      }
      if (key == "usage_limit") {
        if (lists_.limit) return repeated(key, span);
        scanner_.peek();
        const std::int64_t from = scanner_.at();
        TESSERA_TRY(lists_.limit, scanner_.integer(false));
        lists_.limit_span = Span{from, scanner_.at()};
        return ok_status();
      }
      return scanner_.skip();
    });
  }

  struct Member {
    std::string_view name;
    Table* table = nullptr;
    bool saturates = false;
  };
  Status members(std::string_view what, std::vector<Member> members) {
    return scanner_.object(what, [&](std::string_view key, Span span) -> Status {
      for (const Member& member : members) {
        if (key != member.name) continue;
        if (member.table->span) return repeated(key, span);
        member.table->span = span;
        return scanner_.table(*member.table, member.saturates);
      }
      return scanner_.skip();
    });
  }

  /// The lists of `table` are as many as those of `other`.
  static Status same_count(const Table& table, std::string_view name, const Table& other,
                           std::string_view other_name) {
    if (table.rows.size() == other.rows.size()) return ok_status();
    return Error{ErrorCode::kBadProblem,
                 cat("\"", name, "\" has ", table.rows.size(), " items, and \"", other_name,
                     "\" has ", other.rows.size()),
                 table.span, cat("expected ", other.rows.size(), " items")};
  }

  static Status pairs(const Table& table, std::string_view what, std::string_view expected) {
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (table.rows[i].size() == 2) continue;
      return Error{ErrorCode::kBadProblem,
                   cat(what, " ", i, " has ", table.rows[i].size(), " numbers"), table.spans[i],
                   cat("expected ", expected)};
    }
    return ok_status();
  }

  Result<Problem> put_together() {
    for (const auto& [table, name] : {std::pair{&lists_.costs, "costs"},
                                      {&lists_.intervals, "intervals"},
                                      {&lists_.usages, "usages"}}) {
      if (!table->span) return missing(name, lists_.nodes_span);
    }
    if (lists_.edges.span.has_value() != lists_.edge_costs.span.has_value()) {
      return missing(lists_.edges.span ? "costs" : "nodes", lists_.edges_span);
    }
    TESSERA_CHECK_OK(same_count(lists_.intervals, "intervals", lists_.costs, "costs"));
    TESSERA_CHECK_OK(same_count(lists_.usages, "usages", lists_.costs, "costs"));
    TESSERA_CHECK_OK(same_count(lists_.edge_costs, "costs", lists_.edges, "nodes"));
    TESSERA_CHECK_OK(pairs(lists_.intervals, "interval", "[from, to]"));
    TESSERA_CHECK_OK(pairs(lists_.edges, "edge", "the numbers of two nodes"));
    Problem problem;
    problem.usage_limit = lists_.limit;
    problem.nodes.resize(lists_.costs.rows.size());
    for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
      Node& node = problem.nodes[i];
      node.life = {lists_.intervals.rows[i][0], lists_.intervals.rows[i][1]};
      node.costs = std::move(lists_.costs.rows[i]);
      node.usages = std::move(lists_.usages.rows[i]);
    }
    problem.edges.resize(lists_.edges.rows.size());
    for (std::size_t i = 0; i < problem.edges.size(); ++i) {
      Edge& edge = problem.edges[i];
      const Numbers& ends = lists_.edges.rows[i];
      if (ends[0] < 0 || ends[1] < 0) {
        return Error{ErrorCode::kBadProblem,
                     cat("edge ", i, " names node ", ends[ends[0] < 0 ? 0 : 1]),
                     lists_.edges.spans[i], "nodes are numbered from 0"};
      }
      edge.a = static_cast<std::size_t>(ends[0]);
      edge.b = static_cast<std::size_t>(ends[1]);
      edge.costs = std::move(lists_.edge_costs.rows[i]);
    }
    Place place;
    const Status status = check(problem, &place);
    if (status) return problem;
    return status.error().at(span_of(place).value_or(*lists_.nodes_span));
  }

  std::optional<Span> span_of(const Place& place) const {
    switch (place.part) {
      case Part::kNode:
        return lists_.intervals.spans[place.index];
      case Part::kNodeCosts:
        return lists_.costs.spans[place.index];
      case Part::kNodeUsages:
        return lists_.usages.spans[place.index];
      case Part::kEdge:
        return lists_.edges.spans[place.index];
      case Part::kEdgeCosts:
        return lists_.edge_costs.spans[place.index];
      case Part::kLimit:
        return lists_.limit_span;
    }
    return std::nullopt;
  }

  Scanner scanner_;
  Lists lists_;
};

}  // namespace

Result<Problem> read_problem(std::string_view text) { return Reader(text).run(); }

}  // namespace tessera::choose

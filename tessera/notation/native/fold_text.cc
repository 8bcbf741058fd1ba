// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/native/fold_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

constexpr std::string_view kTargetHelp =
    "a digit goes to a mesh axis (m0, m1, ..), to mem, or to none";

Error too_many(std::string_view what, Span where) {
  return Error{ErrorCode::kRankTooLarge, cat("a fold of more than ", kMaxRank, " ", what), where,
               cat("at most ", kMaxRank, " ", what, " fit in one fold")};
}

bool is_numbered(std::string_view word, char letter) {
  return word.size() > 1 && word[0] == letter &&
         std::all_of(word.begin() + 1, word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// [INT '*'] 'd'INT, or INT: one summand of the line, whose sign was read before.
Status read_summand(Cursor& cursor, bool negative, FoldText& fold) {
  const std::int64_t from = cursor.position();
  std::int64_t number = negative ? -1 : 1;
  if (cursor.next_identifier().text.empty()) {
    TESSERA_TRY(number, cursor.magnitude(negative, "a dim such as d0 or a number",
                                         "a line is a sum such as 64*d0 + d1 + 3"));
    if (!cursor.accept("*")) {
      const Result<std::int64_t> start =
          (Checked(fold.start) + number).value("the start of a fold's line");
      if (!start) return start.error().at(cursor.since(from));
      fold.start = *start;
      return ok_status();
    }
  }
  TESSERA_TRY(const int dim, read_numbered(cursor, 'd', "a dim such as d0"));
  if (fold.terms.size() == kMaxRank) return too_many("dims", cursor.since(from));
  fold.terms.push_back({dim, number});
  fold.term_spans.push_back(cursor.since(from));
  return ok_status();
}

Status read_line(Cursor& cursor, FoldText& fold) {
  const std::int64_t from = cursor.position();
  TESSERA_CHECK_OK(cursor.expect("{"));
  if (cursor.peek() != '}') {
    bool negative = cursor.accept("-");
    do {
      TESSERA_CHECK_OK(read_summand(cursor, negative, fold));
      negative = cursor.peek() == '-';
    } while (cursor.accept("+") || cursor.accept("-"));
  }
  if (!cursor.accept("}")) {
    return cursor.expected("'+', '-' or '}'", "a line is a sum such as {64*d0 + d1 + 3}");
  }
  fold.line = cursor.since(from);
  return ok_status();
}

Status read_target(Cursor& cursor, CutText& text) {
  const std::int64_t from = cursor.position();
  if (cursor.accept_word("mem")) {
    text.cut.target = Target::memory();
  } else if (cursor.accept_word("none")) {
    text.cut.target = Target::nothing();
  } else if (is_numbered(cursor.next_identifier().text, 'm')) {
    TESSERA_TRY(const int axis, read_numbered(cursor, 'm', "a mesh axis such as m0"));
    text.cut.target = Target::mesh(axis);
  } else {
    return cursor.expected("a target", kTargetHelp);
  }
  text.target = cursor.since(from);
  return ok_status();
}

Status read_cause(Cursor& cursor, CutText& text) {
  TESSERA_TRY(const Word name, cursor.identifier("a cause of padding"));
  std::array<std::string_view, kCauses> names;
  for (std::size_t i = 0; i < kCauses; ++i) {
    names[i] = cause_name(static_cast<Cause>(i));
    if (names[i] != name.text) continue;
    text.cut.cause = static_cast<Cause>(i);
    text.cause_said = true;
    return ok_status();
  }
  return Error{ErrorCode::kUnknownName,
               cat("no cause of padding is called ", quote_name(name.text)), name.span,
               did_you_mean(name.text, names)};
}

/// WIDTH ['#' COUNT] '->' TARGET ['*' STRIDE] ['!' CAUSE]
Result<CutText> read_cut(Cursor& cursor) {
  CutText text;
  const std::int64_t from = cursor.position();
  TESSERA_TRY(text.cut.width, cursor.integer("a width", "a cut is such as 32 -> mem*1024"));
  text.width = text.count = cursor.since(from);
  if (cursor.accept("#")) {
    const std::int64_t count_from = cursor.position();
    TESSERA_TRY(text.cut.count, cursor.integer("a count"));
    text.count = cursor.since(count_from);
    text.count_said = true;
  }
  TESSERA_CHECK_OK(cursor.expect("->", "a cut is such as 32 -> mem*1024"));
  TESSERA_CHECK_OK(read_target(cursor, text));
  text.stride = text.target;
  if (cursor.accept("*")) {
    const std::int64_t stride_from = cursor.position();
    TESSERA_TRY(text.cut.stride, cursor.integer("a stride"));
    text.stride = cursor.since(stride_from);
  }
  if (cursor.accept("!")) TESSERA_CHECK_OK(read_cause(cursor, text));
  text.whole = cursor.since(from);
  return text;
}

/// The length of the line, or nullopt when Fold::check would reject the line.
std::optional<std::int64_t> line_length(const FoldText& text, const Shape& shape) {
  Checked last = text.start;
  bool empty = false;
  for (const Term& term : text.terms) {
    const auto dim = static_cast<std::size_t>(term.dim);
    if (dim >= shape.rank()) return std::nullopt;
    empty = empty || shape[dim] == 0;
    if (term.coef > 0 && shape[dim] > 0) last += Checked(term.coef) * (shape[dim] - 1);
  }
  last += 1;
  if (empty) return 0;
  if (last.overflowed() || last.raw() < 0) return std::nullopt;
  return last.raw();
}

Span blame_term(const FoldText& text, const Shape& shape) {
  std::vector<bool> seen(kMaxRank, false);
  for (std::size_t i = 0; i < text.terms.size(); ++i) {
    const auto dim = static_cast<std::size_t>(text.terms[i].dim);
    const std::int64_t coef = text.terms[i].coef;
    if (dim >= shape.rank() || seen[dim] || coef == 0 || coef == INT64_MIN) {
      return text.term_spans[i];
    }
    seen[dim] = true;
  }
  return text.line;
}

Span blame_cut(const FoldText& text, std::size_t mesh_rank) {
  if (text.cuts.back().cut.width != 1) return text.cuts.back().width;
  for (const CutText& cut : text.cuts) {
    if (cut.cut.width < 1) return cut.width;
    if (cut.cut.count < 0) return cut.count;
    const Target target = cut.cut.target;
    if (target.is_mesh() && static_cast<std::size_t>(target.axis()) >= mesh_rank) return cut.target;
    if (!target.is_nothing() && cut.cut.stride < 1) return cut.stride;
  }
  return text.whole;
}

Span blame_count(const FoldText& text, const Fold& fold, const Shape& shape) {
  std::int64_t left = line_length(text, shape).value_or(0);
  for (std::size_t k = 0; k < fold.cuts.size() && fold.cuts[k].width > 0; ++k) {
    if (fold.cuts[k].count < ceil_div(left, fold.cuts[k].width)) return text.cuts[k].count;
    left = std::min(left, fold.cuts[k].width);
  }
  return text.whole;
}

/// The part of the text that an error of Fold::check concerns.
Span blame(const FoldText& text, const Fold& fold, const Shape& shape, std::size_t mesh_rank,
           ErrorCode code) {
  switch (code) {
    case ErrorCode::kBadFold:
      return blame_term(text, shape);
    case ErrorCode::kBadCut:
      return blame_cut(text, mesh_rank);
    case ErrorCode::kCountTooSmall:
      return blame_count(text, fold, shape);
    case ErrorCode::kOverflow:
      return text.line;
    default:
      return text.whole;
  }
}

}  // namespace

Result<int> read_numbered(Cursor& cursor, char letter, std::string_view what) {
  const Word word = cursor.next_identifier();
  if (!is_numbered(word.text, letter)) return cursor.expected(what);
  std::size_t number = 0;
  for (const char c : word.text.substr(1)) {
    number = number * 10 + static_cast<std::size_t>(c - '0');
    if (number < kMaxRank) continue;
    return Error{ErrorCode::kOutOfRange, cat("there is no ", quote_name(word.text)), word.span,
                 cat("at most ", kMaxRank, " are supported, and they count from 0")};
  }
  cursor.accept(word.text);
  return static_cast<int>(number);
}

Result<FoldText> read_fold(Cursor& cursor) {
  FoldText fold;
  const std::int64_t from = cursor.position();
  TESSERA_CHECK_OK(read_line(cursor, fold));
  TESSERA_CHECK_OK(cursor.expect("/", "a fold is such as {d0} / (18 -> m0, 1 -> mem)"));
  TESSERA_CHECK_OK(cursor.expect("(", "a fold is such as {d0} / (18 -> m0, 1 -> mem)"));
  do {
    if (fold.cuts.size() == kMaxRank) return too_many("cuts", cursor.next().span);
    TESSERA_TRY(CutText cut, read_cut(cursor));
    fold.cuts.push_back(cut);
  } while (cursor.accept(","));
  if (!cursor.accept(")")) return cursor.expected("',' or ')'");
  fold.whole = cursor.since(from);
  return fold;
}

Result<Fold> resolve_fold(const FoldText& text, const Shape& shape, std::size_t mesh_rank) {
  Fold fold;
  fold.terms = text.terms;
  fold.start = text.start;
  const std::optional<std::int64_t> length = line_length(text, shape);
  std::int64_t left = length.value_or(0);
  for (const CutText& said : text.cuts) {
    Cut cut = said.cut;
    const bool sound = length && cut.width > 0;  // otherwise the check below rejects the fold
    if (!said.count_said && sound) cut.count = ceil_div(left, cut.width);
    if (!said.cause_said) cut.cause = default_cause(!fold.terms.empty(), cut.target);
    left = std::min(left, std::max<std::int64_t>(cut.width, 0));
    fold.cuts.push_back(cut);
  }
  if (const Status status = fold.check(shape, mesh_rank); !status) {
    return status.error().at(blame(text, fold, shape, mesh_rank, status.error().code));
  }
  return fold;
}

std::string print_fold(const Fold& fold, const Shape& shape) {
  std::string line;
  for (const Term& term : fold.terms) {
    const std::string_view sign = term.coef < 0 ? "-" : "+";
    line += line.empty() ? std::string(term.coef < 0 ? "-" : "") : cat(" ", sign, " ");
    const std::int64_t size = term.coef < 0 ? -term.coef : term.coef;
    line += size == 1 ? cat("d", term.dim) : cat(size, "*d", term.dim);
  }
  // A checked line never starts below zero.
  if (fold.start != 0) line += cat(line.empty() ? "" : " + ", fold.start);
  std::string out = cat("{", line, "} / (");
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
    const Cut& cut = fold.cuts[k];
    out += cat(k == 0 ? "" : ", ", cut.width);
    if (cut.count != needed[k]) out += cat("#", cut.count);
    out += " -> ";
    if (cut.target.is_mesh()) out += cat("m", cut.target.axis());
    if (cut.target.is_memory()) out += "mem";
    if (cut.target.is_nothing()) out += "none";
    if (cut.stride != 1) out += cat("*", cut.stride);
    if (cut.cause != default_cause(!fold.terms.empty(), cut.target)) {
      out += cat("!", cause_name(cut.cause));
    }
  }
  return out + ")";
}

}  // namespace tessera::notation

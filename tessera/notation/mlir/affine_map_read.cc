// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/mlir/affine_map.h"
#include "tessera/notation/mlir/affine_map_algebra.h"

namespace tessera::notation {
namespace {

constexpr int kMaxDepth = 64;  // of parentheses and signs, which are read by recursion
constexpr std::string_view kMapHelp = "a map is such as (d0, d1) -> (d0 * 64 + d1, 0)";

using affine::constant;

class Expressions {
 public:
  Expressions(Cursor& cursor, int dims) : cursor_(cursor), dims_(dims) {}

  /// product (('+' | '-') product)*
  Result<AffineResult> sum() {
    const std::int64_t from = cursor_.position();
    TESSERA_TRY(AffineResult left, product());
    for (;;) {
      const bool minus = cursor_.peek() == '-';
      if (!cursor_.accept("+") && !cursor_.accept("-")) return left;
      TESSERA_TRY(AffineResult right, product());
      Result<AffineResult> term = minus ? affine::multiply(std::move(right), constant(-1)) : right;
      Result<AffineResult> joined = term ? affine::add(std::move(left), *std::move(term)) : term;
      if (!joined) return joined.error().at(cursor_.since(from));
      left = *std::move(joined);
    }
  }

 private:
  /// operand (('*' operand) | (('floordiv' | 'ceildiv' | 'mod') positive constant))*
  Result<AffineResult> product() {
    const std::int64_t from = cursor_.position();
    TESSERA_TRY(AffineResult left, operand());
    for (;;) {
      const bool times = cursor_.accept("*");
      const Word name = cursor_.next_identifier();
      if (!times && name.text != "floordiv" && name.text != "ceildiv" && name.text != "mod") {
        return left;
      }
      if (!times) cursor_.accept_word(name.text);
      const std::int64_t right_from = cursor_.position();
      TESSERA_TRY(AffineResult right, operand());
      const Span right_span = cursor_.since(right_from);
      if (!times && (!right.is_constant() || right.constant < 1)) {
        return Error{ErrorCode::kOutOfRange,
                     right.is_constant() ? cat(name.text, " by ", right.constant)
                                         : cat(name.text, " by a dim"),
                     right_span, "divide by a positive number"};
      }
      Result<AffineResult> next = times ? affine::multiply(std::move(left), std::move(right))
                                        : divide(name.text, std::move(left), right.constant);
      if (!next) return next.error().at(cursor_.since(from));
      left = *std::move(next);
    }
  }

  static Result<AffineResult> divide(std::string_view how, AffineResult left, std::int64_t by) {
    if (how == "mod") return affine::remainder(std::move(left), by);
    if (how == "floordiv") return affine::floor_divide(std::move(left), by);
    TESSERA_TRY(AffineResult raised, affine::add(std::move(left), constant(by - 1)));
    return affine::floor_divide(std::move(raised), by);
  }

  /// '(' sum ')' | '-' operand | number | dim
  Result<AffineResult> operand() {
    const std::int64_t from = cursor_.position();
    if (cursor_.peek() == '(' || cursor_.peek() == '-') {
      if (depth_ == kMaxDepth) {
        return Error{ErrorCode::kTooLarge, cat("an expression nested deeper than ", kMaxDepth),
                     cursor_.next().span, "remove parentheses"};
      }
      ++depth_;
      Result<AffineResult> inner = cursor_.accept("(") ? parenthesised() : negated();
      --depth_;
      return inner ? inner : inner.error().at(cursor_.since(from));
    }
    if (cursor_.peek() >= '0' && cursor_.peek() <= '9') {
      TESSERA_TRY(const std::int64_t number, cursor_.magnitude(false, "a number"));
      return constant(number);
    }
    return dim();
  }

  Result<AffineResult> parenthesised() {
    TESSERA_TRY(AffineResult inner, sum());
    TESSERA_CHECK_OK(cursor_.expect(")", "close the parenthesis"));
    return inner;
  }

  Result<AffineResult> negated() {
    cursor_.accept("-");
    TESSERA_TRY(AffineResult inner, operand());
    return affine::multiply(std::move(inner), constant(-1));
  }

  Result<AffineResult> dim() {
    TESSERA_TRY(const Word name, cursor_.identifier("a dim or a number", kMapHelp));
    for (int dim = 0; dim < dims_; ++dim) {
      if (name.text == cat("d", dim)) return affine::dim(dim);
    }
    return Error{
        ErrorCode::kUnknownName, cat("no dim is called ", quote_name(name.text)), name.span,
        dims_ == 0 ? std::string("the map has no dims") : cat("the map has d0 to d", dims_ - 1)};
  }

  Cursor& cursor_;
  int dims_;
  int depth_ = 0;
};

Error too_many(const Cursor& cursor, std::string_view what) {
  return Error{ErrorCode::kRankTooLarge, cat("a map of more than ", kMaxRank, " ", what),
               cursor.next().span, cat("at most ", kMaxRank, " fit here")};
}

/// '(' d0 ',' d1 ',' .. ')'
Result<int> read_dims(Cursor& cursor) {
  TESSERA_CHECK_OK(cursor.expect("(", kMapHelp));
  int dims = 0;
  if (cursor.accept(")")) return dims;
  do {
    if (dims == static_cast<int>(kMaxRank)) return too_many(cursor, "dims");
    TESSERA_CHECK_OK(cursor.expect_word(cat("d", dims), "dims are named d0, d1, .. in order"));
    ++dims;
  } while (cursor.accept(","));
  if (!cursor.accept(")")) return cursor.expected("',' or ')'", kMapHelp);
  if (cursor.peek() == '[') {
    return Error{ErrorCode::kNotSupported, "a map with symbols", cursor.next().span,
                 "write numbers instead of symbols"};
  }
  return dims;
}

}  // namespace

Result<AffineMap> read_affine_map(Cursor& cursor, Span* span) {
  const bool wrapped = cursor.accept_word("affine_map");
  if (wrapped) TESSERA_CHECK_OK(cursor.expect("<", kMapHelp));
  AffineMap map;
  const std::int64_t from = cursor.position();
  TESSERA_TRY(map.dims, read_dims(cursor));
  TESSERA_CHECK_OK(cursor.expect("->", kMapHelp));
  TESSERA_CHECK_OK(cursor.expect("(", kMapHelp));
  if (!cursor.accept(")")) {
    do {
      if (map.results.size() == kMaxRank) return too_many(cursor, "results");
      TESSERA_TRY(AffineResult result, Expressions(cursor, map.dims).sum());
      map.results.push_back(std::move(result));
    } while (cursor.accept(","));
    if (!cursor.accept(")")) return cursor.expected("an operator, ',' or ')'", kMapHelp);
  }
  if (span != nullptr) *span = cursor.since(from);
  if (wrapped) TESSERA_CHECK_OK(cursor.expect(">", "close 'affine_map<'"));
  return map;
}

}  // namespace tessera::notation

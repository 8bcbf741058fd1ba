// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/mlir/affine_map.h"

#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

/// The linear part without empty dims: its constant, and its smallest and largest value.
struct Reach {
  std::int64_t start = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Status check_dims(const AffineResult& result, const Shape& shape) {
  for (const Term& term : result.terms) {
    if (term.dim < 0 || static_cast<std::size_t>(term.dim) >= shape.rank()) {
      return Error{ErrorCode::kOutOfRange,
                   cat("the map uses d", term.dim, " of a tensor of rank ", shape.rank()),
                   std::nullopt, "dims count from 0"};
    }
  }
  return ok_status();
}

bool has_empty_dim(const AffineResult& result, const Shape& shape) {
  return std::any_of(result.terms.begin(), result.terms.end(), [&](const Term& term) {
    return shape[static_cast<std::size_t>(term.dim)] == 0;
  });
}

/// The range of the linear part. With a modulus, the line starts in the first period, because whole
/// periods do not change the result.
Result<Reach> reach_of(const AffineResult& result, const Shape& shape) {
  Checked first = result.constant;
  Checked last = result.constant;
  for (const Term& term : result.terms) {
    (term.coef < 0 ? first : last) +=
        Checked(term.coef) * (shape[static_cast<std::size_t>(term.dim)] - 1);
  }
  TESSERA_TRY(const std::int64_t low, first.value("the smallest value of a map"));
  TESSERA_TRY(const std::int64_t high, last.value("the largest value of a map"));
  if (result.modulus == 0) return Reach{result.constant, low, high};
  const std::int64_t low_in_period = floor_mod(low, result.modulus);
  const Checked shift = Checked(low_in_period) - low;
  TESSERA_TRY(const std::int64_t start, (shift + result.constant).value("the start of a line"));
  TESSERA_TRY(const std::int64_t end, (shift + high).value("the largest value of a map"));
  return Reach{start, low_in_period, end};
}

std::string write_linear(const AffineResult& result) {
  std::string text;
  for (const Term& term : result.terms) {
    const bool minus = term.coef < 0 && !text.empty();
    const std::int64_t coef = minus ? -term.coef : term.coef;
    if (!text.empty()) text += minus ? " - " : " + ";
    text += coef == -1 ? cat("-d", term.dim) : cat("d", term.dim);
    if (coef != 1 && coef != -1) text += cat(" * ", coef);
  }
  if (text.empty()) return cat(result.constant);
  if (result.constant > 0) text += cat(" + ", result.constant);
  if (result.constant < 0) text += cat(" - ", -result.constant);
  return text;
}

std::string write_result(const AffineResult& result) {
  std::string text = write_linear(result);
  const bool plain = result.terms.size() == 1 && result.terms[0].coef == 1 && result.constant == 0;
  if (!result.is_linear() && !plain) text = cat("(", text, ")");
  if (result.modulus != 0) text += cat(" mod ", result.modulus);
  if (result.divisor == 1) return text;
  return cat(result.modulus != 0 ? cat("(", text, ")") : text, " floordiv ", result.divisor);
}

}  // namespace

std::int64_t AffineResult::at(const Index& index) const {
  Checked sum = constant;
  for (const Term& term : terms)
    sum += Checked(term.coef) * index[static_cast<std::size_t>(term.dim)];
  const std::int64_t line = sum.saturated();
  return floor_div(modulus == 0 ? line : floor_mod(line, modulus), divisor);
}

AffineMap AffineMap::identity(std::size_t rank) {
  AffineMap map{static_cast<int>(rank), {}};
  for (int dim = 0; dim < map.dims; ++dim) map.results.push_back({{{dim, 1}}, 0, 0, 1});
  return map;
}

std::string write_affine_map(const AffineMap& map) {
  std::string text = "(";
  for (int dim = 0; dim < map.dims; ++dim) text += cat(dim == 0 ? "" : ", ", "d", dim);
  text += ") -> (";
  for (std::size_t i = 0; i < map.results.size(); ++i) {
    text += cat(i == 0 ? "" : ", ", write_result(map.results[i]));
  }
  return text + ")";
}

Result<std::int64_t> line_length(const AffineResult& result, const Shape& shape) {
  TESSERA_CHECK_OK(check_dims(result, shape));
  if (has_empty_dim(result, shape)) return 0;
  TESSERA_TRY(const Reach reach, reach_of(result, shape));
  if (reach.first < 0) {
    return Error{
        ErrorCode::kBadFold,
        cat("the map takes an index to ", floor_div(reach.first, result.divisor)), std::nullopt,
        cat("add ", (Checked(0) - reach.first).saturated(), " so that no result is below 0")};
  }
  const std::int64_t last =
      result.modulus == 0 ? reach.last : std::min(reach.last, result.modulus - 1);
  return (Checked(last / result.divisor) + 1).value("the length of a line");
}

Result<Fold> fold_of(const AffineResult& result, const Shape& shape, std::vector<Cut> cuts) {
  TESSERA_TRY(const std::int64_t length, line_length(result, shape));
  Fold fold{result.terms, std::max<std::int64_t>(result.constant, 0), {}};
  bool wraps = false;
  if (length > 0) {
    TESSERA_TRY(const Reach reach, reach_of(result, shape));
    TESSERA_CHECK_OK((Checked(reach.last) + 1).value("the length of a line"));
    fold.start = reach.start;
    wraps = result.modulus != 0 && reach.last >= result.modulus;
  }
  const bool divides = result.divisor != 1;
  if (cuts.size() + (wraps ? 1 : 0) + (divides ? 1 : 0) > kMaxRank) {
    return Error{ErrorCode::kRankTooLarge, cat("a line of more than ", kMaxRank, " cuts"),
                 std::nullopt, "use fewer levels"};
  }
  if (wraps) fold.cuts.push_back({result.modulus, 0, Target::nothing(), 1, Cause::kGap});
  for (Cut& cut : cuts) {
    TESSERA_TRY(cut.width, (Checked(cut.width) * result.divisor).value("a width"));
    fold.cuts.push_back(cut);
  }
  if (divides) fold.cuts.push_back({1, 0, Target::nothing(), 1, Cause::kGap});
  const std::vector<std::int64_t> needed = fold.needed(shape);
  for (std::size_t i = 0; i < fold.cuts.size(); ++i) {
    if (fold.cuts[i].target.is_nothing()) {
      fold.cuts[i].count = std::max(fold.cuts[i].count, needed[i]);
    }
  }
  return fold;
}

}  // namespace tessera::notation

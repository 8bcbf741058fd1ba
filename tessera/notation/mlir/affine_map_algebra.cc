// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/mlir/affine_map_algebra.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation::affine {
namespace {

constexpr std::string_view kOneChain =
    "a result must have the form ((c + sum of dim * number) mod m) floordiv n, or be equal to one";

Error inexpressible(std::string_view what) {
  return Error{ErrorCode::kNotSupported, cat("one fold cannot express ", what), std::nullopt,
               std::string(kOneChain)};
}

/// -2^63 has no positive counterpart, so it counts as an overflow here.
Status store(Checked number, std::string_view what, std::int64_t& out) {
  TESSERA_TRY(out, number.value(what));
  return out == INT64_MIN ? (Checked(INT64_MAX) + 1).value(what).error() : ok_status();
}

/// Every operation returns its result in this normal form: a constant has no terms, and divisor,
/// modulus and coefficients have no common factor, because (g·x + c) floordiv (g·n) = (x + c
/// floordiv g) floordiv n.
AffineResult normal(AffineResult result) {
  if (result.terms.empty()) return constant(result.at({}));
  if (result.modulus > 0 && result.divisor >= result.modulus) return constant(0);
  std::int64_t common = std::gcd(result.divisor, result.modulus);
  for (const Term& term : result.terms) common = std::gcd(common, term.coef);
  if (common > 1) {
    for (Term& term : result.terms) term.coef /= common;
    result.constant = floor_div(result.constant, common);
    result.divisor /= common;
    result.modulus /= common;
  }
  return result;
}

/// Multiplies coefficients and constant: the linear part alone.
Status scale(AffineResult& result, std::int64_t factor) {
  for (Term& term : result.terms) {
    TESSERA_CHECK_OK(store(Checked(term.coef) * factor, "a coefficient", term.coef));
  }
  return store(Checked(result.constant) * factor, "a constant", result.constant);
}

/// Removes the terms whose coefficients are not multiples of `unit` from the sum if, with the
/// constant, they always stay inside one interval [q·unit, (q + 1)·unit): then only q matters.
bool drop_fraction(AffineResult& result, const Shape& shape, std::int64_t unit) {
  Checked low = result.constant;
  Checked high = result.constant;
  for (const Term& term : result.terms) {
    if (term.coef % unit == 0) continue;
    (term.coef < 0 ? low : high) +=
        Checked(term.coef) * (shape[static_cast<std::size_t>(term.dim)] - 1);
  }
  if (low.overflowed() || high.overflowed()) return false;
  const std::int64_t whole = floor_div(low.raw(), unit);
  const Checked part = Checked(whole) * unit;
  if (part.overflowed() || whole != floor_div(high.raw(), unit)) return false;
  std::erase_if(result.terms, [&](const Term& term) { return term.coef % unit != 0; });
  result.constant = part.raw();
  return true;
}

/// Removes the modulus if the sum stays inside one period.
void drop_modulus(AffineResult& result, const Shape& shape) {
  AffineResult periods = result;
  std::erase_if(result.terms, [&](const Term& term) { return term.coef % result.modulus == 0; });
  periods.terms = result.terms;
  if (!drop_fraction(periods, shape, result.modulus)) return;
  const Checked rest = Checked(result.constant) - periods.constant;
  if (rest.overflowed()) return;
  result.constant = rest.raw();
  result.modulus = 0;
}

}  // namespace

AffineResult constant(std::int64_t value) { return {{}, value, 0, 1}; }
AffineResult dim(int number) { return {{{number, 1}}, 0, 0, 1}; }

/// x floordiv n + y = (x + n·y) floordiv n.
Result<AffineResult> add(AffineResult a, AffineResult b) {
  if (!b.is_linear()) std::swap(a, b);
  if (b == constant(0)) return a;
  if (!b.is_linear()) return inexpressible("a sum of quotients or remainders");
  if (a.modulus != 0) return inexpressible("a sum with a remainder");
  TESSERA_CHECK_OK(scale(b, a.divisor));
  for (const Term& term : b.terms) {
    const auto same = std::find_if(a.terms.begin(), a.terms.end(),
                                   [&](const Term& have) { return have.dim == term.dim; });
    if (same == a.terms.end()) {
      a.terms.push_back(term);
    } else {
      TESSERA_CHECK_OK(store(Checked(same->coef) + term.coef, "a coefficient", same->coef));
    }
  }
  std::erase_if(a.terms, [](const Term& term) { return term.coef == 0; });
  std::sort(a.terms.begin(), a.terms.end(),
            [](const Term& x, const Term& y) { return x.dim < y.dim; });
  TESSERA_CHECK_OK(store(Checked(a.constant) + b.constant, "a constant", a.constant));
  return normal(std::move(a));
}

/// (x mod m)·k = (k·x) mod (k·m).
Result<AffineResult> multiply(AffineResult a, AffineResult b) {
  if (!b.is_constant()) std::swap(a, b);
  if (!b.is_constant()) return inexpressible("a product of dims");
  const std::int64_t factor = b.constant;
  if (factor == 0) return constant(0);
  if (factor == 1) return a;
  if (a.divisor != 1) return inexpressible("a multiple of a quotient");
  if (a.modulus != 0 && factor < 0) return inexpressible("a negative multiple of a remainder");
  TESSERA_CHECK_OK(scale(a, factor));
  TESSERA_CHECK_OK(store(Checked(a.modulus) * factor, "a modulus", a.modulus));
  return normal(std::move(a));
}

/// (x floordiv n) floordiv k = x floordiv (n·k), for positive and negative x.
Result<AffineResult> floor_divide(AffineResult a, std::int64_t by) {
  TESSERA_CHECK_OK(store(Checked(a.divisor) * by, "a divisor", a.divisor));
  return normal(std::move(a));
}

/// (x floordiv n) mod k = (x mod (n·k)) floordiv n.
Result<AffineResult> remainder(AffineResult a, std::int64_t by) {
  std::int64_t modulus = 0;
  TESSERA_CHECK_OK(store(Checked(a.divisor) * by, "a modulus", modulus));
  if (a.modulus != 0 && a.modulus <= modulus) return a;
  if (a.modulus % modulus != 0) {
    return inexpressible(
        cat("a remainder by ", modulus, " of a remainder by ", a.modulus, ", not a multiple"));
  }
  a.modulus = modulus;
  return normal(std::move(a));
}

Result<AffineResult> add(AffineResult a, AffineResult b, const Shape& shape) {
  if (!b.is_linear()) std::swap(a, b);
  if (a.modulus == 0 || !b.is_linear() || b == constant(0)) return add(std::move(a), std::move(b));
  // The remainders of a sum of multiples of g are congruent to its constant modulo g: the largest
  // is m - g + rest.
  std::int64_t step = a.modulus;
  for (const Term& term : a.terms) step = std::gcd(step, term.coef);
  const std::int64_t rest = floor_mod(a.constant, step);
  TESSERA_CHECK_OK(scale(b, a.divisor));
  Checked low = Checked(b.constant) + rest;
  Checked high = low;
  for (const Term& term : b.terms) {
    (term.coef < 0 ? low : high) +=
        Checked(term.coef) * (shape[static_cast<std::size_t>(term.dim)] - 1);
  }
  if (low.overflowed() || high.saturated() >= step || low.raw() < 0) {
    return inexpressible("a sum with a remainder");
  }
  const AffineResult shell = a;
  TESSERA_TRY(AffineResult sum, add({a.terms, a.constant, 0, 1}, std::move(b)));
  sum.modulus = shell.modulus;
  sum.divisor = shell.divisor;
  return normal(std::move(sum));
}

AffineResult simplified(AffineResult result, const Shape& shape) {
  if (shape.empty()) return result;
  if (result.modulus != 0) drop_modulus(result, shape);
  if (result.divisor != 1 && result.modulus % result.divisor == 0) {
    drop_fraction(result, shape, result.divisor);
  }
  return normal(std::move(result));
}

}  // namespace tessera::notation::affine

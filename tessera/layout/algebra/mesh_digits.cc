// SPDX-License-Identifier: Apache-2.0
#include "tessera/layout/algebra/mesh_digits.h"

#include <algorithm>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

struct Weight {
  std::int64_t count;
  std::int64_t stride;
  std::int64_t* digit;  // null for a replica coordinate
};

/// Finds digits that add up to `rest`, from the largest stride down.
bool find(const std::vector<Weight>& weights, const std::vector<std::int64_t>& below, std::size_t i,
          std::int64_t rest) {
  if (i == weights.size()) return rest == 0;
  const Weight& weight = weights[i];
  const std::int64_t low = rest > below[i] ? ceil_div(rest - below[i], weight.stride) : 0;
  const std::int64_t high = std::min(weight.count - 1, rest / weight.stride);
  for (std::int64_t digit = low; digit <= high; ++digit) {
    if (weight.digit != nullptr) *weight.digit = digit;
    if (find(weights, below, i + 1, rest - digit * weight.stride)) return true;
  }
  if (weight.digit != nullptr) *weight.digit = 0;
  return false;
}

}  // namespace

std::optional<MeshDigits> mesh_digits(const Form& form, const Place& place) {
  MeshDigits found;
  for (const Fold& fold : form.folds) found.digits.emplace_back(fold.cuts.size(), 0);
  for (int axis = 0; axis < static_cast<int>(form.mesh.rank()); ++axis) {
    std::int64_t rest = place[static_cast<std::size_t>(axis)];
    std::vector<Weight> weights;
    for (std::size_t f = 0; f < form.folds.size(); ++f) {
      for (std::size_t k = 0; k < form.folds[f].cuts.size(); ++k) {
        const Cut& cut = form.folds[f].cuts[k];
        if (!cut.target.is_mesh() || cut.target.axis() != axis) continue;
        weights.push_back({cut.count, cut.stride, &found.digits[f][k]});
      }
    }
    for (const Fill& fill : form.fills) {
      if (fill.axis != axis) continue;
      if (fill.kind == Fill::Kind::kFixed) {
        rest -= fill.value;
      } else {
        weights.push_back({fill.count, fill.stride, nullptr});
      }
    }
    std::sort(weights.begin(), weights.end(),
              [](const Weight& a, const Weight& b) { return a.stride > b.stride; });
    std::vector<std::int64_t> below(weights.size(), 0);
    for (std::size_t i = weights.size(); i-- > 1;) {
      below[i - 1] = below[i] + std::max<std::int64_t>(weights[i].count - 1, 0) * weights[i].stride;
    }
    if (rest < 0 || !find(weights, below, 0, rest)) return std::nullopt;
  }
  return found;
}

bool has_open_digit(const Form& form) {
  for (const Fold& fold : form.folds) {
    const std::vector<std::int64_t> needed = fold.needed(form.shape);
    for (std::size_t k = 0; k < fold.cuts.size(); ++k) {
      if (fold.cuts[k].target.is_nothing() && needed[k] > 1) return true;
    }
  }
  return false;
}

bool folds_share_dims(const Form& form) {
  std::vector<bool> seen(form.shape.rank(), false);
  for (const Fold& fold : form.folds) {
    for (const Term& term : fold.terms) {
      if (seen[static_cast<std::size_t>(term.dim)]) return true;
      seen[static_cast<std::size_t>(term.dim)] = true;
    }
  }
  return false;
}

}  // namespace tessera

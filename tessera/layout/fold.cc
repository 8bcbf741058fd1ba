// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cassert>
#include <set>

#include "tessera/base/checked.h"
#include "tessera/layout/form.h"

namespace tessera {
namespace {

constexpr std::array<std::string_view, kCauses> kCauseNames = {"synthetic", "gap",  "alignment",
                                                               "stick",     "tile", "grid"};

bool has_empty_dim(const Fold& fold, const Shape& shape) {
  return std::any_of(fold.terms.begin(), fold.terms.end(), [&](const Term& term) {
    return shape[static_cast<std::size_t>(term.dim)] == 0;
  });
}

struct Ends {
  Checked first;
  Checked last;
};

Ends ends_of_line(const Fold& fold, const Shape& shape) {
  Ends ends{fold.start, fold.start};
  for (const Term& term : fold.terms) {
    const Checked reach = Checked(term.coef) * (shape[static_cast<std::size_t>(term.dim)] - 1);
    (term.coef < 0 ? ends.first : ends.last) += reach;
  }
  return ends;
}

}  // namespace

std::string_view cause_name(Cause cause) { return kCauseNames[static_cast<std::size_t>(cause)]; }

Cause default_cause(bool fold_has_dims, Target target) {
  if (!fold_has_dims) return Cause::kSynthetic;
  return target.is_mesh() ? Cause::kGrid : Cause::kAlignment;
}

std::int64_t Fold::extent(const Shape& shape) const {
  return has_empty_dim(*this, shape) ? 0 : ends_of_line(*this, shape).last.raw() + 1;
}

std::int64_t Fold::first(const Shape& shape) const {
  return ends_of_line(*this, shape).first.raw();
}

std::vector<std::int64_t> Fold::needed(const Shape& shape) const {
  std::vector<std::int64_t> counts;
  std::int64_t left = extent(shape);
  for (const Cut& cut : cuts) {
    counts.push_back(ceil_div(left, cut.width));
    left = std::min(left, cut.width);
  }
  return counts;
}

Status Fold::check(const Shape& shape, std::size_t mesh_rank) const {
  if (terms.size() > kMaxRank || cuts.size() > kMaxRank) {
    return Error{ErrorCode::kRankTooLarge,
                 cat("a fold of ", terms.size(), " dims and ", cuts.size(),
                     " cuts is more than the ", kMaxRank, " supported")};
  }
  std::set<int> seen;
  for (const Term& term : terms) {
    if (term.dim < 0 || static_cast<std::size_t>(term.dim) >= shape.rank()) {
      return Error{ErrorCode::kBadFold,
                   cat("a fold names dim ", term.dim, " of a tensor of rank ", shape.rank()),
                   std::nullopt, "dims count from 0"};
    }
    if (!seen.insert(term.dim).second) {
      return Error{ErrorCode::kBadFold, cat("a fold names dim ", term.dim, " twice"), std::nullopt,
                   "add the coefficients of the dim"};
    }
    if (term.coef == 0 || term.coef == INT64_MIN) {
      return Error{ErrorCode::kBadFold, cat("dim ", term.dim, " has the coefficient ", term.coef),
                   std::nullopt, "omit the dim from the fold"};
    }
  }
  if (cuts.empty() || cuts.back().width != 1) {
    return Error{ErrorCode::kBadCut,
                 cuts.empty() ? "a fold has no cuts"
                              : cat("the last width of a fold is ", cuts.back().width),
                 std::nullopt, "a chain of widths ends in 1"};
  }
  const bool empty = has_empty_dim(*this, shape);
  if (!empty) {
    const Ends ends = ends_of_line(*this, shape);
    TESSERA_TRY(const std::int64_t first_point, ends.first.value("the start of a fold's line"));
    TESSERA_TRY([[maybe_unused]] const std::int64_t length,
                (ends.last + 1).value("the length of a fold's line"));
    if (first_point < 0) {
      return Error{ErrorCode::kBadFold, cat("a fold's line begins at ", first_point), std::nullopt,
                   "raise its start until it is 0 or more"};
    }
  } else if (start < 0) {
    return Error{ErrorCode::kBadFold, cat("a fold's line begins at ", start), std::nullopt,
                 "start it at 0 or above"};
  }
  std::int64_t left = empty ? 0 : extent(shape);
  for (std::size_t k = 0; k < cuts.size(); ++k) {
    const Cut& cut = cuts[k];
    if (cut.width < 1) {
      return Error{ErrorCode::kBadCut, cat("cut ", k, " has the width ", cut.width), std::nullopt,
                   "widths are 1 or more"};
    }
    if (cut.count < 0) {
      return Error{ErrorCode::kBadCut, cat("cut ", k, " has the count ", cut.count), std::nullopt,
                   "counts are 0 or more"};
    }
    const std::int64_t need = ceil_div(left, cut.width);
    if (cut.count < need) {
      return Error{
          ErrorCode::kCountTooSmall,
          cat("the digit of width ", cut.width, " has ", cut.count, " values but needs ", need),
          std::nullopt, cat("a count of ", need, " or more")};
    }
    if (cut.target.is_mesh() && static_cast<std::size_t>(cut.target.axis()) >= mesh_rank) {
      return Error{ErrorCode::kBadCut,
                   cat("cut ", k, " is placed on mesh axis ", cut.target.axis(),
                       " of a mesh of rank ", mesh_rank),
                   std::nullopt, "mesh axes count from 0"};
    }
    if (!cut.target.is_nothing() && cut.stride < 1) {
      return Error{ErrorCode::kBadCut, cat("cut ", k, " has the stride ", cut.stride), std::nullopt,
                   "strides of placed digits are 1 or more; flip a dim instead"};
    }
    left = std::min(left, cut.width);
  }
  return ok_status();
}

}  // namespace tessera

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/notation/metal/text.h"

namespace tessera::notation {
namespace {

std::string say(const std::pair<std::int64_t, std::int64_t>& interval) {
  return cat("[", interval.first, ", ", interval.second, "]");
}

/// The derived memref, from fields that may have changed.
Result<MetalLayout> with_derived_memref(MetalLayout words, const Shape& shape) {
  TESSERA_TRY(words.memref.shape,
              metal_memref(words.linear, shape, words.grid, words.memref.element));
  return words;
}

/// The intervals of a map that only collapses, or nullopt.
std::optional<CollapseIntervals> intervals_of(const AffineMap& linear, const Shape& shape) {
  CollapseIntervals intervals;
  std::int64_t next = 0;
  for (const AffineResult& result : linear.results) {
    const auto terms = static_cast<std::int64_t>(result.terms.size());
    intervals.emplace_back(next, next + terms);
    next += terms;
  }
  const Result<AffineMap> again = collapse(shape, intervals);
  if (!again || *again != linear) return std::nullopt;
  return intervals;
}

}  // namespace

Result<CollapseIntervals> every_interval(const CollapseIntervals& intervals, std::size_t rank) {
  const auto end_of_dims = static_cast<std::int64_t>(rank);
  CollapseIntervals said;
  for (const auto& interval : intervals) {
    auto [from, to] = interval;
    if (from < -end_of_dims || from >= end_of_dims || to < -end_of_dims || to > end_of_dims) {
      return Error{ErrorCode::kOutOfRange,
                   cat("the interval ", say(interval), " is outside a tensor of rank ", rank),
                   std::nullopt,
                   cat("ends are between ", -end_of_dims, " and ", rank,
                       ", and an interval begins below ", rank)};
    }
    if (from < 0) from += end_of_dims;
    if (to < 0) to += end_of_dims;
    if (from > to) {
      return Error{ErrorCode::kOutOfRange,
                   cat("the interval ", say(interval), " of a tensor of rank ", rank,
                       " ends before it begins"),
                   std::nullopt, "intervals are [first, one past the last]"};
    }
    if (from < to) said.emplace_back(from, to);
  }
  std::sort(said.begin(), said.end());
  CollapseIntervals every;
  std::int64_t next = 0;
  for (const auto& interval : said) {
    if (interval.first < next) {
      return Error{
          ErrorCode::kOutOfRange,
          cat("two intervals collapse dim ", interval.first, ": the second is ", say(interval)),
          std::nullopt, "a dim belongs to one interval"};
    }
    for (; next < interval.first; ++next) every.emplace_back(next, next + 1);
    every.push_back(interval);
    next = interval.second;
  }
  for (; next < end_of_dims; ++next) every.emplace_back(next, next + 1);
  return every;
}

Result<AffineMap> collapse(const Shape& shape, const CollapseIntervals& intervals) {
  TESSERA_TRY(const CollapseIntervals every, every_interval(intervals, shape.rank()));
  AffineMap map{static_cast<int>(shape.rank()), {}};
  for (const auto& [from, to] : every) {
    AffineResult line;
    std::int64_t stride = 1;
    for (std::int64_t dim = to; dim-- > from;) {
      if (stride != 0) line.terms.insert(line.terms.begin(), {static_cast<int>(dim), stride});
      stride *= shape[static_cast<std::size_t>(dim)];  // a shape's product fits
    }
    map.results.push_back(std::move(line));
  }
  return map;
}

Result<AffineMap> bump_stride(const AffineMap& linear, int dim, std::int64_t multiple) {
  if (multiple < 1) {
    return Error{ErrorCode::kOutOfRange, cat("a stride rounded up to a multiple of ", multiple),
                 std::nullopt, "a multiple is 1 or more"};
  }
  AffineMap bumped = linear;
  for (AffineResult& result : bumped.results) {
    const auto is_dim = [&](const Term& term) { return term.dim == dim; };
    const auto found = std::find_if(result.terms.begin(), result.terms.end(), is_dim);
    if (found == result.terms.end()) continue;
    const std::int64_t old_stride = found->coef;
    if (!result.is_linear() || old_stride < 0) {
      return Error{ErrorCode::kNotSupported,
                   cat("the result with d", dim, " is not a plain collapse"), std::nullopt,
                   "bump strides of sums such as d0 * 8 + d1"};
    }
    TESSERA_TRY(
        const std::int64_t stride,
        (Checked(ceil_div(old_stride, multiple)) * multiple).value(cat("the stride of d", dim)));
    for (Term& term : result.terms) {
      if (term.coef < old_stride) continue;
      if (term.coef % old_stride != 0) {
        return Error{ErrorCode::kNotSupported,
                     cat("d", term.dim, " has the stride ", term.coef, ", not a multiple of d", dim,
                         "'s ", old_stride),
                     std::nullopt, "bump the outer dim first"};
      }
      TESSERA_TRY(
          term.coef,
          (Checked(term.coef / old_stride) * stride).value(cat("the stride of d", term.dim)));
    }
    return bumped;
  }
  return Error{ErrorCode::kOutOfRange, cat("no result of the map uses d", dim), std::nullopt,
               "bump a dim that the map collapses"};
}

Result<MetalLayout> make_metal(const Shape& shape, const CollapseIntervals& intervals,
                               const std::vector<std::int64_t>& grid, const Atom& element,
                               std::string_view space) {
  if (!space.empty() && !is_one_of(space, kMetalSpaces)) {
    return Error{ErrorCode::kUnknownName, cat("unknown memory space ", quote_name(space)),
                 std::nullopt, did_you_mean(space, kMetalSpaces)};
  }
  MetalLayout words;
  TESSERA_TRY(words.linear, collapse(shape, intervals));
  words.grid = grid;
  words.memref = {{}, element, std::string(space), {}};
  return with_derived_memref(std::move(words), shape);
}

Result<MetalLayout> with_grid(const MetalLayout& words, const Shape& shape,
                              const std::vector<std::int64_t>& grid) {
  MetalLayout regridded = words;
  regridded.grid = grid;
  if (grid != words.grid) regridded.device.reset();  // it was a map of the old grid
  return with_derived_memref(std::move(regridded), shape);
}

Result<MetalLayout> with_element(const MetalLayout& words, const Shape& shape,
                                 const Atom& element) {
  MetalLayout tilized = words;
  tilized.memref.element = element;
  return with_derived_memref(std::move(tilized), shape);
}

Result<MetalLayout> with_linear(const MetalLayout& words, const Shape& shape,
                                const AffineMap& linear) {
  MetalLayout remapped = words;
  remapped.linear = linear;
  return with_derived_memref(std::move(remapped), shape);
}

Result<MetalFacts> facts_of(const MetalLayout& words, const Shape& shape) {
  TESSERA_TRY(std::vector<std::int64_t> shard, metal_shard(words.linear, shape, words.grid));
  return MetalFacts{write_affine_map(words.linear), intervals_of(words.linear, shape), words.grid,
                    write_memref(words.memref, words.dialect), std::move(shard)};
}

}  // namespace tessera::notation

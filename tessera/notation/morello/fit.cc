// SPDX-License-Identifier: Apache-2.0
#include "tessera/notation/morello/fit.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::notation {
namespace {

using Kind = MorelloDim::Kind;

/// How much of one logical dim is covered, from the innermost physical dim.
struct Cover {
  std::int64_t left = 1;  ///< what is not covered yet
  std::int64_t inner = 1;
  bool dynamic = false;       ///< a Dynamic took the rest
  bool clamped = false;       ///< a pack took less than its size
  bool named = false;         ///< some physical dim is over it
  std::size_t outermost = 0;  ///< the last one seen
};

std::string said(const MorelloDim& item) {
  switch (item.kind) {
    case Kind::kDynamic:
      return "Dynamic";
    case Kind::kPacked:
      return cat("Packed(", item.size, ")");
    case Kind::kOddEven:
      return cat("OddEven(", item.size, ")");
  }
  return "";
}

Status check_size(const MorelloDim& item) {
  if (item.kind == Kind::kDynamic) return ok_status();
  if (item.size < 1) {
    return Error{ErrorCode::kBadNumber, cat(said(item), ": a size is at least 1"), std::nullopt,
                 "such as Packed(4) or OddEven(16)"};
  }
  if (item.kind == Kind::kOddEven && item.size % 2 != 0) {
    return Error{ErrorCode::kBadNumber, cat(said(item), ": an odd size has no two halves"),
                 std::nullopt,
                 cat("OddEven takes an even size, such as ", item.size > 1 ? item.size - 1 : 2)};
  }
  return ok_status();
}

Error no_such_dim(const MorelloDim& item, std::size_t position, std::size_t rank) {
  std::string help = cat("dims count from 0 to ", rank - 1);
  if (rank == 0) help = "a scalar is morello[]";
  if (rank == 1) help = "dim 0 is the only one";
  return Error{
      ErrorCode::kOutOfRange,
      cat("physical dim ", position, " is over dim ", item.dim, " of a tensor of rank ", rank),
      std::nullopt, std::move(help)};
}

Error taken(const MorelloDim& item) {
  if (item.kind == Kind::kDynamic) {
    return Error{ErrorCode::kInvalidShape, cat("dim ", item.dim, " is Dynamic twice"), std::nullopt,
                 "one Dynamic per dim: it takes the whole rest"};
  }
  return Error{
      ErrorCode::kInvalidShape,
      cat(said(item), " is outside the Dynamic of dim ", item.dim, ", which leaves nothing"),
      std::nullopt, cat("write (", item.dim, ", Dynamic) before the packs of dim ", item.dim)};
}

Error not_divided(const MorelloDim& item, const Cover& cover, std::int64_t extent) {
  const std::int64_t common = std::gcd(item.size, cover.left);
  const bool halves = item.kind == Kind::kOddEven;
  std::string help;
  if (common > 1 && (!halves || common % 2 == 0)) {
    help = cat(halves ? "OddEven(" : "Packed(", common, ") divides it; ");
  }
  const Checked fitting =
      (Checked(cover.left) + (item.size - cover.left % item.size)) * cover.inner;
  help += fitting.overflowed() ? std::string("packs never pad")
                               : cat("packs never pad: a dim of ", fitting.raw(), " would fit");
  return Error{ErrorCode::kInvalidShape,
               cat(said(item), " does not divide the remaining ", cover.left, " of dim ", item.dim,
                   cover.inner > 1 ? cat(" (extent ", extent, ")") : ""),
               std::nullopt, std::move(help)};
}

/// A size larger than the remainder: Packed takes the remainder, OddEven only a remainder of 1;
/// once per dim.
Status check_short(const MorelloDim& item, const Cover& cover) {
  if (cover.clamped) {
    return Error{ErrorCode::kInvalidShape,
                 cat(said(item), " finds ", cover.left, " left of dim ", item.dim,
                     ", where an inner pack was already shortened"),
                 std::nullopt, cat("omit it: dim ", item.dim, " is covered")};
  }
  if (item.kind == Kind::kPacked || cover.left == 1) return ok_status();
  return Error{ErrorCode::kInvalidShape,
               cat(said(item), " is larger than the remaining ", cover.left, " of dim ", item.dim),
               std::nullopt,
               cover.left % 2 == 0 && cover.left > 0
                   ? cat("OddEven is never shortened: OddEven(", cover.left, ") fits")
                   : "OddEven is never shortened"};
}

/// What `item` takes of its dim.
Result<std::int64_t> take(const MorelloDim& item, std::int64_t extent, Cover& cover) {
  TESSERA_CHECK_OK(check_size(item));
  if (cover.dynamic) return taken(item);
  std::int64_t size = cover.left;
  if (item.kind == Kind::kDynamic) {
    cover.dynamic = true;
  } else if (cover.left < item.size) {
    TESSERA_CHECK_OK(check_short(item, cover));
    cover.clamped = true;
  } else if (cover.left % item.size != 0) {
    return not_divided(item, cover, extent);
  } else {
    size = item.size;
  }
  cover.left = size == 0 ? 1 : cover.left / size;
  return size;
}

Status check_covered(const std::vector<Cover>& covers, const Shape& shape,
                     std::span<const Span> spans) {
  for (std::size_t dim = 0; dim < covers.size(); ++dim) {
    const Cover& cover = covers[dim];
    if (cover.left == 1) continue;
    if (!cover.named) {
      return Error{ErrorCode::kInvalidShape,
                   cat("no physical dim is over dim ", dim, " of extent ", shape[dim]),
                   std::nullopt, cat("add (", dim, ", Dynamic)")};
    }
    const Error error{ErrorCode::kInvalidShape,
                      cat("the packs of dim ", dim, " cover ", cover.inner, " of its ", shape[dim]),
                      std::nullopt, cat("add (", dim, ", Dynamic) before them")};
    return cover.outermost < spans.size() ? error.at(spans[cover.outermost]) : error;
  }
  return ok_status();
}

/// The physical dims, with a builder expanded.
Result<std::vector<MorelloDim>> dims_of(const MorelloLayout& words, std::size_t rank) {
  if (words.builder == MorelloLayout::Builder::kNone) return words.dims;
  TESSERA_TRY(MorelloLayout built, morello_builder(words.builder, rank));
  if (!words.dims.empty() && words.dims != built.dims) {
    return Error{ErrorCode::kContradiction, "the physical dims are not those of the builder",
                 std::nullopt, "omit the dims of a builder"};
  }
  return std::move(built.dims);
}

}  // namespace

Result<std::vector<PhysicalDim>> fit(const MorelloLayout& words, const Shape& shape,
                                     std::span<const Span> spans) {
  TESSERA_TRY(const std::vector<MorelloDim> items, dims_of(words, shape.rank()));
  if (items.size() > kMaxMorelloDims) {
    return Error{ErrorCode::kRankTooLarge,
                 cat(items.size(), " physical dims; at most ", kMaxMorelloDims, " are accepted"),
                 std::nullopt, "join adjacent packs of a dim"};
  }
  std::vector<Cover> covers(shape.rank());
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) covers[dim].left = shape[dim];
  std::vector<PhysicalDim> physical(items.size());
  Checked volume = 1;
  for (std::size_t i = items.size(); i-- > 0;) {
    const MorelloDim& item = items[i];
    const auto place = [&](const Error& error) {
      return i < spans.size() ? error.at(spans[i]) : error;
    };
    if (item.dim < 0 || item.dim >= static_cast<std::int64_t>(shape.rank())) {
      return place(no_such_dim(item, i, shape.rank()));
    }
    const auto dim = static_cast<std::size_t>(item.dim);
    Cover& cover = covers[dim];
    Result<std::int64_t> size = take(item, shape[dim], cover);
    if (!size) return place(size.error());
    physical[i] = {dim, *size, cover.inner, volume.raw(),
                   item.kind == Kind::kOddEven && *size >= 4};
    // Empty dims have no volume, but strides must stay positive: an empty dim counts as 1.
    const std::int64_t counted = std::max<std::int64_t>(*size, 1);
    cover.inner *= counted;
    cover.named = true;
    cover.outermost = i;
    volume *= counted;
    TESSERA_CHECK_OK(volume.value("the volume of the physical dims"));
  }
  TESSERA_CHECK_OK(check_covered(covers, shape, spans));
  return physical;
}

std::vector<MorelloDigit> digits_of(std::span<const PhysicalDim> physical, std::size_t dim) {
  std::vector<MorelloDigit> digits;
  for (const PhysicalDim& part : physical) {
    if (part.dim != dim || part.size == 1) continue;
    if (part.odd_even) {
      const std::int64_t half = part.size / 2;
      digits.push_back({2 * part.inner, half, part.stride});
      digits.push_back({part.inner, 2, half * part.stride});
    } else {
      digits.push_back({part.inner, part.size, part.stride});
    }
  }
  return digits;
}

std::vector<MorelloDigit> joined(const std::vector<MorelloDigit>& digits) {
  std::vector<MorelloDigit> out;
  for (const MorelloDigit& digit : digits) {
    if (!out.empty() && out.back().width == digit.width * digit.count &&
        out.back().stride == digit.stride * digit.count) {
      out.back() = {digit.width, out.back().count * digit.count, digit.stride};
    } else {
      out.push_back(digit);
    }
  }
  return out;
}

}  // namespace tessera::notation

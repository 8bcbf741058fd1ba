// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"
#include "tessera/notation/morello/fit.h"
#include "tessera/notation/morello/morello.h"
#include "tessera/notation/raising/elsewhere.h"
#include "tessera/notation/raising/plain_memory.h"
#include "tessera/notation/text/cursor.h"

// The Morello layout is guessed from the function itself and then checked. The cuts of the layout's
// lines give the widths at which a dim may have digits, evaluating the function there gives their
// strides, and decreasing strides give the order of the physical dims.
namespace tessera::notation {
namespace {

using Builder = MorelloLayout::Builder;
using Kind = MorelloDim::Kind;

constexpr std::string_view kName = "morello";

/// What Morello cannot express about the layout, if anything.
std::optional<Obstacle> unsaid(const Layout& layout) {
  if (auto what = beyond_plain_memory(layout.spec())) return what;
  if (layout.slots() != layout.shape().elements()) {
    return obstacle(why::kEmptySlots, "padding: {slots} slots for {elements} elements",
                    {fact("slots", layout.slots()), fact("elements", layout.shape().elements())});
  }
  return std::nullopt;
}

std::int64_t slot_at(const Form& form, std::size_t dim, std::int64_t x) {
  Index index(form.shape.rank(), 0);
  if (!index.empty()) index[dim] = x;
  Place place;
  std::int64_t slot = 0;
  form.evaluate(index, place, slot);
  return slot;
}

/// Widths at which the lines cut `dim`, in steps of the dim, increasing.
std::vector<std::int64_t> cuts_of(const Lines& lines, std::size_t dim) {
  std::vector<std::int64_t> widths = {1};
  for (const Line& line : lines.lines) {
    for (const Term& term : line.terms) {
      if (term.dim != static_cast<int>(dim)) continue;
      for (const LineCut& cut : line.cuts) {
        if (cut.width % term.coef != 0) continue;
        const std::int64_t width = cut.width / term.coef;
        widths.push_back(width < 0 ? -width : width);
      }
    }
  }
  std::sort(widths.begin(), widths.end());
  return widths;
}

/// The digits of `dim`, most significant first, guessed from the function's values at the cuts: a
/// digit begins where the steps below it do not simply continue.
std::vector<MorelloDigit> guess_digits(const Form& form, const Lines& lines, std::size_t dim) {
  const std::int64_t extent = form.shape[dim];
  std::vector<MorelloDigit> digits;  // least significant first
  for (const std::int64_t width : cuts_of(lines, dim)) {
    if (width >= extent || extent % width != 0) continue;
    const std::int64_t stride = slot_at(form, dim, width);
    if (!digits.empty()) {
      MorelloDigit& below = digits.back();
      if (width % below.width != 0) continue;
      below.count = width / below.width;
      const Checked going_on = Checked(below.stride) * below.count;
      if (!going_on.overflowed() && going_on.raw() == stride) continue;
    }
    digits.push_back({width, 1, stride});
  }
  if (!digits.empty()) digits.back().count = extent / digits.back().width;
  std::reverse(digits.begin(), digits.end());
  return digits;
}

/// A digit and its dim.
struct Placed {
  std::int64_t dim = 0;
  MorelloDigit digit;
};

/// The physical dims of digits in memory order, slowest first. A parity directly before the halves
/// that it selects is an OddEven; the outermost other digit of each dim is Dynamic.
std::vector<MorelloDim> guess_dims(const std::vector<Placed>& order, std::size_t rank) {
  std::vector<MorelloDim> dims;
  std::vector<bool> named(rank, false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& [dim, digit] = order[i];
    MorelloDim item{dim, Kind::kPacked, digit.count};
    const bool parity = digit.count == 2 && i + 1 < order.size() && order[i + 1].dim == dim &&
                        order[i + 1].digit.width == 2 * digit.width;
    if (parity) {
      ++i;
      item = {dim, Kind::kOddEven, 2 * order[i].digit.count};
    } else if (!named[static_cast<std::size_t>(dim)]) {
      item = {dim, Kind::kDynamic, 0};
    }
    named[static_cast<std::size_t>(dim)] = true;
    dims.push_back(item);
  }
  return dims;
}

/// The builder that orders the dims of more than one element in this way, if there is one.
std::optional<MorelloLayout> as_builder(const std::vector<MorelloDim>& dims, const Shape& shape) {
  for (const Builder builder : {Builder::kRowMajor, Builder::kColMajor, Builder::kNhwc}) {
    Result<MorelloLayout> built = morello_builder(builder, shape.rank());
    if (!built) continue;
    std::vector<MorelloDim> moving = built->dims;
    std::erase_if(moving, [&](const MorelloDim& item) {
      return shape[static_cast<std::size_t>(item.dim)] == 1;
    });
    if (moving == dims) return *std::move(built);
  }
  return std::nullopt;
}

/// Why a guess is not the layout: the most informative difference.
Error why_not(const Layout& layout, const Lines& lines, const std::vector<Placed>& order,
              const Result<Layout>& guess) {
  for (const Line& line : lines.lines) {
    if (line.terms.size() < 2) continue;
    return cannot_express(kName,
                          obstacle(why::kEntangledDims,
                                   "dims {dims:and} joined into one line that is cut across both",
                                   {fact("dims", line.terms[0].dim, line.terms[1].dim)}));
  }
  std::int64_t covered = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto& [dim, digit] = order[i];
    if (digit.stride != covered) {
      return cannot_express(
          kName,
          obstacle(why::kStepNotCovered,
                   "a step of {step} slots along dim {dim} where {covered} are covered",
                   {fact("dim", dim), fact("step", digit.stride), fact("covered", covered)}));
    }
    covered *= digit.count;
  }
  constexpr std::string_view kHelp =
      "the physical dims of one dim are in the order of their significance, except for the two "
      "halves of an OddEven";
  if (!guess) {
    return cannot_express(kName, obstacle_of(guess.error(), "this order of digits: "), kHelp);
  }
  const Result<Comparison> same = same_function(layout, *guess);
  if (!same || same->equal) {
    return cannot_express(kName, obstacle(why::kDigitOrder, "this order of digits"), kHelp);
  }
  return cannot_express(kName, element_elsewhere(layout, *guess, *same->first_difference), kHelp);
}

}  // namespace

Result<MorelloLayout> raise_morello(const Layout& layout) {
  if (const auto what = unsaid(layout)) return cannot_express(kName, *what);
  const Shape& shape = layout.shape();
  if (shape.empty()) return morello_builder(Builder::kRowMajor, shape.rank());
  if (const std::int64_t first = slot_at(layout.form(), 0, 0); first != 0) {
    return cannot_express(
        kName, obstacle(why::kFirstSlot, "index 0 in slot {slot}", {fact("slot", first)}),
        "Morello starts at slot 0");
  }
  TESSERA_TRY(const Lines lines, canonical(layout.form()));
  std::vector<Placed> order;
  for (std::size_t dim = 0; dim < shape.rank(); ++dim) {
    for (const MorelloDigit& digit : guess_digits(layout.form(), lines, dim)) {
      order.push_back({static_cast<std::int64_t>(dim), digit});
    }
  }
  std::sort(order.begin(), order.end(), [](const Placed& a, const Placed& b) {
    return std::pair(b.digit.stride, a.dim) < std::pair(a.digit.stride, b.dim);
  });
  MorelloLayout words;
  words.dims = guess_dims(order, shape.rank());
  if (const auto builder = as_builder(words.dims, shape)) words = *builder;
  const Result<Layout> again = lower(words, shape, layout.dtype());
  if (!again) return why_not(layout, lines, order, again);
  TESSERA_TRY(const Comparison same, same_function(layout, *again));
  if (!same.equal) return why_not(layout, lines, order, again);
  return words;
}

}  // namespace tessera::notation

// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>

#include "tessera/base/names.h"
#include "tessera/base/text.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/runs.h"
#include "tessera/notation/raising/elsewhere.h"
#include "tessera/notation/raising/plain_memory.h"
#include "tessera/notation/spyre/guess.h"
#include "tessera/notation/spyre/lines.h"

namespace tessera::notation {
namespace spyre {
namespace {

Error cannot_express(Obstacle what) { return notation::cannot_express("spyre<>", std::move(what)); }

Error cannot(std::string_view reason, std::string_view words, std::vector<Fact> facts) {
  return cannot_express(obstacle(reason, words, std::move(facts)));
}

/// What the notation cannot express about the layout, if anything.
std::optional<Obstacle> unsaid(const LayoutSpec& spec, DType storage) {
  const Form& form = spec.form;
  if (form.mesh.rank() > 1 && form.mesh.elements() > 1) {
    return mesh_rank("a mesh of {mesh:x} places: cores are one axis", form.mesh, 0, 1);
  }
  for (const Fill& fill : form.fills) {
    if (fill.kind == Fill::Kind::kReplicate && fill.count > 1) return replicated(fill);
  }
  return beyond_plain_storage(spec, storage);
}

/// Whether `words` express exactly this layout.
bool says(const SpyreLayout& words, const Layout& layout) {
  const Result<Layout> again = lower(words, layout.shape(), layout.dtype());
  if (!again || again->slots() != layout.slots() || again->places() != layout.places()) {
    return false;
  }
  const Result<Comparison> same = same_function(*again, layout);
  return same.ok() && same->equal;
}

class Raising {
 public:
  Raising(const Layout& layout, std::int64_t per_stick)
      : layout_(layout), per_stick_(per_stick), row_major_(layout.shape().row_major_strides()) {}

  Result<SpyreLayout> raise() {
    if (layout_.shape().empty()) return raise_empty();
    TESSERA_TRY(const Lines lines, canonical(layout_.form()));
    const Position first = lines.position(Index(layout_.shape().rank(), 0));
    if (first.slot != 0) {
      return cannot(why::kFirstSlot, "data that begin at slot {slot}", {fact("slot", first.slot)});
    }
    if (first.place != 0) {
      return cannot(why::kFirstPlace, cat("data that begin on core ", first.place),
                    {fact("place", std::vector{first.place})});
    }
    if (const auto words = with_dims(lines)) return *words;
    if (const auto words = with_host(lines, row_major_)) return *words;
    for (const bool by_last_digit : {false, true}) {
      for (const HostGuess guess :
           {HostGuess::kSlots, HostGuess::kSteps, HostGuess::kGaps, HostGuess::kDense}) {
        const auto host = host_in_device_order(lines, room(false, false), guess, by_last_digit);
        if (!host) continue;
        if (const auto words = with_host(lines, *host)) return *words;
      }
    }
    if (const Result<std::vector<std::int64_t>> strides = strides_of(layout_.form())) {
      if (const auto words = with_host(lines, *strides)) return *words;
    }
    if (!reason_) reason_ = misplaced_;
    return cannot_express(reason_.value_or(
        obstacle(why::kNoRowMajor,
                 "its dims as rows of memory: no row-major tensor in sticks of {per_stick}",
                 {fact("per_stick", per_stick_)})));
  }

 private:
  /// Without elements, only the allocation must agree.
  Result<SpyreLayout> raise_empty() const {
    SpyreLayout words;
    words.form = SpyreLayout::Form::kDefault;
    for (const auto era : {SpyreLayout::Era::kDocument, SpyreLayout::Era::kNow}) {
      words.era = era;
      Result<SpyreLayout> spelled = spelled_out(words, layout_.shape(), layout_.dtype());
      if (!spelled) continue;
      spelled->era = std::nullopt;
      if (layout_.mesh().rank() == 1) spelled->cores.assign(spelled->map.size(), 1);
      if (says(*spelled, layout_)) return spelled;
    }
    words = {};
    words.form = SpyreLayout::Form::kStrideMap;
    words.device_size = {layout_.slots() / per_stick_, per_stick_};
    words.map = {per_stick_, 1};
    if (layout_.mesh().rank() == 1) {
      words.device_size.insert(words.device_size.begin(), 1);
      words.map.insert(words.map.begin(), -1);
      words.cores = {layout_.places(), 1, 1};
    }
    if (says(words, layout_)) return words;
    return cannot(why::kEmptyTensor, "an empty tensor of {slots} slots",
                  {fact("slots", layout_.slots())});
  }

  Room room(bool exact, bool paired) const {
    return {layout_.slots(), layout_.places(), per_stick_, exact, paired};
  }

  std::optional<SpyreLayout> with_dims(const Lines& lines) {
    const auto steps = steps_of_dims(lines);
    if (!steps) return std::nullopt;
    return first_that_says(*steps, true, row_major_);
  }

  std::optional<SpyreLayout> with_host(const Lines& lines, std::vector<std::int64_t> host) {
    for (const bool fused : {false, true}) {
      const auto steps = steps_of_host(lines, host, room(false, false), fused);
      if (!steps) return std::nullopt;
      if (auto words = first_that_says(*steps, false, host)) return words;
    }
    return std::nullopt;
  }

  /// The first element that `words` would put elsewhere.
  std::optional<Obstacle> why_not(const SpyreLayout& words) const {
    const Result<Layout> again = lower(words, layout_.shape(), layout_.dtype());
    if (!again || again->places() != layout_.places()) return std::nullopt;
    const Result<Comparison> same = same_function(layout_, *again);
    if (!same || same->equal) return std::nullopt;
    return element_elsewhere(layout_, *again, *same->first_difference);
  }

  std::optional<SpyreLayout> first_that_says(const std::vector<Step>& steps, bool dims,
                                             const std::vector<std::int64_t>& host) {
    for (const bool paired : {true, false}) {
      const Result<Guess> guess = arrange(steps, room(dims, paired));
      if (!guess) {
        if (!reason_ && !dims) reason_ = obstacle_of(guess.error());
        continue;
      }
      SpyreLayout words;
      words.form = dims ? SpyreLayout::Form::kDimMap : SpyreLayout::Form::kStrideMap;
      if (!dims && host != row_major_) words.host_stride = host;
      for (const Guess::Dim& dim : guess->dims) {
        words.device_size.push_back(dim.extent);
        words.map.push_back(dims ? dim.dim : dim.width);
        if (layout_.mesh().rank() == 1) words.cores.push_back(dim.cores);
      }
      if (words.device_size.size() <= kMaxRank && says(words, layout_)) return words;
      if (!misplaced_) misplaced_ = why_not(words);
      if (layout_.places() == 1) break;
    }
    return std::nullopt;
  }

  const Layout& layout_;
  std::int64_t per_stick_;
  std::vector<std::int64_t> row_major_;
  std::optional<Obstacle> reason_;     // why no device dims were found
  std::optional<Obstacle> misplaced_;  // what is wrong with the first ones that were found
};

}  // namespace
}  // namespace spyre

Result<SpyreLayout> raise_spyre(const Layout& layout) {
  const Result<std::int64_t> sticks = elements_per_stick(layout.dtype());
  if (!sticks) {
    Error error = sticks.error();
    error.code = ErrorCode::kNotSupported;
    error.reasons = {{why::kStickType, {fact("dtype", dtype_name(layout.dtype()))}}};
    return error;
  }
  const std::int64_t per_stick = *sticks;
  TESSERA_TRY(const DType storage, stick_storage(layout.dtype()));
  if (const auto what = spyre::unsaid(layout.spec(), storage)) return spyre::cannot_express(*what);
  if (layout.slots() % per_stick != 0) {
    return spyre::cannot(
        why::kPartOfStick,
        "an allocation of {slots} slots: sticks hold {per_stick} elements of {dtype}",
        {fact("slots", layout.slots()), fact("per_stick", per_stick),
         fact("dtype", dtype_name(layout.dtype()))});
  }
  return spyre::Raising(layout, per_stick).raise();
}

}  // namespace tessera::notation

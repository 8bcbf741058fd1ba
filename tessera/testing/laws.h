// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/layout/layout.h"
#include "tessera/layout/placement.h"
#include "tessera/layout/regions.h"
#include "tessera/layout/view.h"
#include "tessera/testing/naive.h"

/// The laws of the layout core, each checked on every coordinate against the naive reference. A law
/// returns an empty string when it holds, otherwise what broke and where, so that tables of cases,
/// random properties and sweeps can all call it.
namespace tessera::test {

using Failure = std::string;

/// The first failure among laws called one after another.
class Laws {
 public:
  Laws& operator<<(const Failure& failure) {
    if (first_.empty()) first_ = failure;
    return *this;
  }
  const Failure& failure() const { return first_; }

 private:
  Failure first_;
};

/// A failure with the form that it is about.
inline Failure about(const Form& form, const Failure& failure) {
  return failure.empty() ? failure : failure + "\n    of " + describe(form);
}

// laws_slots.cc: the content of each slot.

/// make(spec) succeeds ⇔ the form is a layout by brute force; the code identifies the broken rule.
Failure law_make(const LayoutSpec& spec);
/// locate(x) = (places, slot)  ⇔  element_at(place, slot) = x; everything else is padding with the
/// correct cause; indices, places and slots out of range are kOutOfRange.
Failure law_locate(const Layout& layout, const Picture& picture);
/// padding and padding_at = counting element_at, in total and by cause; is_exhaustive ⇔ none.
Failure law_padding(const Layout& layout, const Picture& picture);
/// Each padding slot is in exactly one region, with its cause; visiting stops on request.
Failure law_padding_regions(const Layout& layout, const Picture& picture);
/// All of these, and those of laws_places.cc.
Failure slot_laws(const Layout& layout);

// laws_places.cc: the content of each place.

/// count, contains and places of a set agree; the places are appended to `numbers`, as row-major
/// numbers in `mesh`.
Failure law_place_set(const PlaceSet& set, const Shape& mesh, std::vector<std::int64_t>& numbers);
/// Every place is in exactly one class; one class ⇔ the same slots hold data.
Failure law_place_classes(const Layout& layout, const Picture& picture);
/// x is in a box of tile_of(q)  ⇔  q is one of the places of x; boxes are disjoint.
Failure law_tile_of(const Layout& layout, const Picture& picture);

// laws_compare.cc: two functions.

/// same_function, moved_elements and function_hash against comparing every element.
Failure law_same_function(const Form& a, const Form& b);
/// compatible_without_movement ⇔ every place of x in `to` has x in `from`, and shares stay shares.
Failure law_compatible(const Form& from, const Form& to);
/// injective ⇔ no two indices share a (place, slot); otherwise the reported collision is real.
Failure law_injective(const Form& form);
/// The nests of refine(a, b) hold every element once, where both forms put it.
Failure law_refine(const Form& a, const Form& b);

// laws_walk.cc: one function, visited in order.

/// canonical(form).position(x) is the first place and slot of x; lines are sorted and well-formed.
Failure law_canonical(const Form& form);
/// Locator(canonical(form)).at(x) = canonical(form).position(x), one by one, in batches and in
/// copies.
Failure law_locator(const Form& form);
/// for_each_row visits each index once, in order, at its position; for every order of the dims.
Failure law_rows(const Form& form);
/// contiguous_run in every order, is_contiguous, vector_width, is_strided and strides_of.
Failure law_runs(const Form& form);
/// All laws of one form.
Failure form_laws(const Form& form);

// laws_view.cc: views and pieces.

/// The index of the viewed layout that index y of the view stands for.
using IndexMap = std::function<Index(const Index&)>;
/// view.locate(y) = base.locate(m(y)), and elements_at is the set of such y.
Failure law_view(const Layout& base, const View& view, const IndexMap& map);
/// locate and element_at of a piecewise layout agree with those of its pieces.
Failure law_piecewise(const Piecewise& pieces);
/// same_function of two piecewise layouts against comparing every element.
Failure law_piecewise_same(const Piecewise& a, const Piecewise& b);

/// The error code of a result as a word, for messages.
template <typename T>
std::string why(const Result<T>& result) {
  return result.ok() ? "ok"
                     : std::string(code_name(result.error().code)) + ": " + result.error().message;
}

}  // namespace tessera::test

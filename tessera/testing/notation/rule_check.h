// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/testing/generate.h"

/// testing/notation/: what the checks of all notations share. Random choices and texts come in;
/// what broke, as text, goes out. The rules (rule_*.h) come from the owners' documents and must not
/// use any code of the library.
///
/// This header: a tensor as its notation's own rule places it (`Ruled`, filled in by
/// rule_pyflame.h, rule_morello.h, ..), and the laws that the library must satisfy for it. A law
/// returns an empty string when it holds, otherwise what broke, so that tables of cases and random
/// texts (rule_laws.h) call the same laws.
namespace tessera::test {

using Numbers = std::vector<std::int64_t>;

/// Where a rule puts one element.
struct RulePosition {
  std::vector<Numbers> places;  ///< every replica, in row-major order
  std::int64_t slot = 0;
  friend bool operator==(const RulePosition&, const RulePosition&) = default;
};

/// A small tensor, placed by its rule.
struct Ruled {
  std::string text;  ///< `tensor<.., ..>` as the library must print it
  Numbers shape;
  Numbers mesh;                         ///< the notation's grid; empty when it has none
  std::int64_t slots = 0;               ///< allocated per place
  std::vector<RulePosition> positions;  ///< of every index, in row-major order
  /// Of every slot of every place, if it holds no element; none where the rule states no cause.
  std::vector<std::string_view> causes = {};
  bool one_place = false;  ///< whatever the rank of the mesh
};

std::int64_t product(const Numbers& numbers);
std::int64_t ceil_divide(std::int64_t a, std::int64_t b);
/// Every tuple below `counts`, in row-major order; none when a count is 0, one when there are none.
std::vector<Numbers> all_tuples(const Numbers& counts);

/// "tensor<5x3xf32, LAYOUT>".
std::string tensor_text(const Numbers& shape, std::string_view dtype, std::string_view layout);

/// An extent that is often odd, prime or 1, and sometimes 0.
std::int64_t random_extent(Dice& dice, std::int64_t most);
/// Extents of rank 0 to `max_rank` with at most `max_elements` elements.
Numbers random_shape(Dice& dice, std::int64_t max_rank, std::int64_t max_elements);

/// Which element (by row-major number) each slot of each place holds, -1 for none; nothing when the
/// rule puts two elements into one slot.
std::optional<std::vector<std::int64_t>> contents(const Ruled& ruled);

/// The text parses; its mesh and slots are the rule's; locate of every index is the rule's
/// position; element_at of every slot of every place is the element that the rule put there, or
/// padding of its cause.
std::string rule_mistake(const Ruled& ruled);
/// It prints as it was written, and the printed text parses to the same attribute.
std::string print_mistake(std::string_view text);
/// Raised from the bare layout, it reads back as the same function with the same allocation.
std::string raise_mistake(std::string_view text);
/// The same when the layout is written differently: digits split, folds joined or reordered, ..
/// `raised` counts the texts; a refusal is a mistake.
std::string rewritten_mistake(Dice& dice, std::string_view text, std::int64_t& raised);
/// Any layout raises to a text that reads back as the same function with the same allocation, or to
/// a reason. `raised` counts the texts.
std::string stranger_mistake(const Layout& layout, std::string_view notation, std::int64_t& raised);
/// The same, and it succeeds: the text of another notation has an equivalent in this one.
std::string equivalent_mistake(std::string_view text, std::string_view notation);
/// rule_mistake, print_mistake and raise_mistake.
std::string mistake(const Ruled& ruled);

/// The failures of many random cases: how many, and the shortest few.
class Failures {
 public:
  void add(const std::string& failure);
  std::int64_t count() const { return count_; }
  std::string report() const;

 private:
  std::int64_t count_ = 0;
  std::vector<std::string> shortest_;
};

/// The text with one error: a number that is negative, zero, off by one or huge, an item dropped or
/// repeated, a name misspelled, a bracket lost, a byte changed.
std::string mutated(Dice& dice, const std::string& text);
/// For any text, the answer is a tensor that prints and raises, or an error with a message and a
/// span inside the text.
std::string hostile_mistake(const std::string& text);
/// The text is refused with a help and a span that touches the last `marked` in it.
std::string marked_mistake(std::string_view text, std::string_view marked);
/// Whether the laws can be checked slot by slot in a short time.
bool is_small(const Layout& layout);

}  // namespace tessera::test

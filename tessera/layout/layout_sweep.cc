// SPDX-License-Identifier: Apache-2.0
// Checks every small layout (see testing/small_layouts.h) against the naive enumeration, law by
// law.
//   layout_sweep --quick   every 11th form, at least 10^5 layouts
//   layout_sweep --full    all of them, at least 10^6 layouts
// Prints how many layouts and coordinates were checked. Returns 1 if a law is violated, after
// printing up to 5 cases.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"
#include "tessera/testing/build.h"
#include "tessera/testing/laws.h"
#include "tessera/testing/small_layouts.h"

namespace tessera::test {
namespace {

constexpr std::int64_t kQuickStep = 11;  // prime, not a radix of the enumeration: hits all choices
constexpr int kMaxFailures = 5;

/// A 128-bit signature of a function, computed only from its naive table.
struct Signature {
  std::uint64_t a = 14695981039346656037U;
  std::uint64_t b = 0x9E3779B97F4A7C15U;
  void add(std::int64_t number) {
    a = (a ^ static_cast<std::uint64_t>(number)) * 1099511628211U;
    b = (b + static_cast<std::uint64_t>(number)) * 0xD6E8FEB86659FD93U;
    b ^= b >> 32;
  }
  void add(const std::vector<std::int64_t>& numbers) {
    add(static_cast<std::int64_t>(numbers.size()));
    for (const std::int64_t number : numbers) add(number);
  }
  friend bool operator==(const Signature&, const Signature&) = default;
};
struct HashOfSignature {
  std::size_t operator()(const Signature& signature) const { return signature.a; }
};

/// Functions that use only the first place are the same on every mesh that has one place.
Signature signature_of(const Form& form) {
  const std::vector<NaivePosition> map = naive_map(form);
  const Place origin(form.mesh.rank(), 0);
  bool one_place = true;
  for (const NaivePosition& position : map) {
    one_place = one_place && position.places.size() == 1 && position.places[0] == origin;
  }
  Signature signature;
  signature.add(form.shape.extents());
  for (const NaivePosition& position : map) {
    signature.add(position.slot);
    if (one_place) continue;
    for (const Place& place : position.places) signature.add(place);
  }
  return signature;
}

/// A hash of the canonical lines, in a mesh that contains every small mesh.
std::uint64_t canonical_name(const Form& form) {
  const Result<Lines> lines =
      canonical(form, shape(std::vector<std::int64_t>(form.mesh.rank(), 16)));
  Signature name;
  if (!lines.ok()) return 0;
  name.add(lines->base.place);
  name.add(lines->base.slot);
  for (const Line& line : lines->lines) {
    for (const Term& term : line.terms) name.add({term.dim, term.coef});
    name.add(line.start);
    for (const LineCut& cut : line.cuts) name.add({cut.width, cut.move.place, cut.move.slot});
  }
  return name.a ^ name.b;
}

struct Known {
  std::uint64_t hash;
  std::uint64_t lines;
};

class Sweep {
 public:
  void check(const Form& form) {
    const LayoutSpec candidate = spec(form);
    Laws laws;
    laws << law_make(candidate);
    const Result<Layout> layout = Layout::make(candidate);
    if (layout.ok()) {
      ++layouts_;
      coordinates_ += form.shape.elements() + layout->slots() * layout->places();
      laws << slot_laws(*layout) << form_laws(form) << law_of_groups(form) << law_of_pairs(form);
    } else {
      ++refused_;
      laws << law_injective(form) << law_canonical(form);
    }
    if (laws.failure().empty()) return;
    if (failures_++ < kMaxFailures) {
      std::printf("BROKEN: %s\n    of %s\n", laws.failure().c_str(), describe(form).c_str());
    }
  }

  bool done() const { return failures_ >= kMaxFailures; }

  int report() const {
    std::printf("%lld layouts and %lld coordinates checked, %lld forms rightly refused\n",
                static_cast<long long>(layouts_), static_cast<long long>(coordinates_),
                static_cast<long long>(refused_));
    std::printf("%zu different functions; %lld of %lld repeats have other canonical lines\n",
                known_.size(), static_cast<long long>(other_lines_),
                static_cast<long long>(repeats_));
    if (failures_ > 0) std::printf("%d FAILURES\n", failures_);
    return failures_ > 0 ? 1 : 0;
  }

 private:
  /// Equal functions have equal hashes.
  Failure law_of_groups(const Form& form) {
    const Result<std::uint64_t> hash = function_hash(form);
    if (!hash.ok()) return "function_hash: " + why(hash);
    const Known mine{*hash, canonical_name(form)};
    const auto [known, fresh] = known_.emplace(signature_of(form), mine);
    if (fresh) return "";
    ++repeats_;
    if (known->second.lines != mine.lines) ++other_lines_;
    return known->second.hash == mine.hash ? "" : "equal functions have different hashes";
  }

  /// Compares and refines against the previous layout of this shape.
  Failure law_of_pairs(const Form& form) {
    auto [last, fresh] = last_of_shape_.emplace(form.shape.extents(), form);
    if (fresh) return "";
    Laws laws;
    laws << law_same_function(last->second, form) << law_compatible(last->second, form)
         << law_refine(last->second, form);
    const Failure failure = about(last->second, laws.failure());
    last->second = form;
    return failure;
  }

  std::int64_t layouts_ = 0;
  std::int64_t coordinates_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t repeats_ = 0;
  std::int64_t other_lines_ = 0;
  int failures_ = 0;
  std::unordered_map<Signature, Known, HashOfSignature> known_;
  std::map<std::vector<std::int64_t>, Form> last_of_shape_;
};

int run(std::int64_t step) {
  Sweep sweep;
  for (std::int64_t i = 0; i < small_forms() && !sweep.done(); i += step) {
    if (const std::optional<Form> form = small_form(i)) sweep.check(*form);
  }
  return sweep.report();
}

}  // namespace
}  // namespace tessera::test

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--quick") == 0) {
    return tessera::test::run(tessera::test::kQuickStep);
  }
  if (argc == 2 && std::strcmp(argv[1], "--full") == 0) return tessera::test::run(1);
  std::fprintf(stderr, "usage: %s --quick | --full\n", argv[0]);
  return 2;
}

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "tessera/base/text.h"
#include "tessera/layout/form.h"
#include "tessera/layout/placement.h"
#include "tessera/testing/laws.h"

namespace tessera::test {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Which indices differ, in row-major order; all of them when the two sides differ in their partial
/// sums. Meshes of different rank are compared only when both are one place.
std::vector<bool> naive_differences(const Form& a, const Form& b) {
  const std::vector<NaivePosition> map_a = naive_map(a);
  const std::vector<NaivePosition> map_b = naive_map(b);
  const bool partial_alike = naive_partials(a) == naive_partials(b);
  const bool places_matter = a.mesh.rank() == b.mesh.rank();
  std::vector<bool> differs(map_a.size(), true);
  for (std::size_t i = 0; i < map_a.size(); ++i) {
    const bool same_places = !places_matter || map_a[i].places == map_b[i].places;
    differs[i] = !partial_alike || !same_places || map_a[i].slot != map_b[i].slot;
  }
  return differs;
}

/// The error that a comparison must return, if any.
std::optional<ErrorCode> comparison_error(const Form& a, const Form& b) {
  if (a.shape != b.shape) return ErrorCode::kShapeMismatch;
  const bool one_place = a.mesh.elements() == 1 && b.mesh.elements() == 1;
  if (a.mesh.rank() != b.mesh.rank() && !one_place) return ErrorCode::kMeshMismatch;
  return std::nullopt;
}

template <typename T>
Failure expect_error(const char* name, const Result<T>& result, ErrorCode code) {
  if (!result.ok() && result.error().code == code) return "";
  return cat(name, " says ", why(result), ", expected ", code_name(code));
}

bool share_a_slot(const NaivePosition& a, const NaivePosition& b) {
  if (a.slot != b.slot) return false;
  return std::any_of(a.places.begin(), a.places.end(), [&](const Place& place) {
    return std::binary_search(b.places.begin(), b.places.end(), place);
  });
}

}  // namespace

Failure law_same_function(const Form& a, const Form& b) {
  const Result<Comparison> comparison = same_function(a, b);
  const Result<std::int64_t> moved = moved_elements(a, b);
  if (const auto code = comparison_error(a, b)) {
    Laws laws;
    laws << expect_error("same_function", comparison, *code)
         << expect_error("moved_elements", moved, *code);
    return laws.failure();
  }
  if (!comparison.ok()) return cat("same_function: ", why(comparison));
  const std::vector<bool> differs = naive_differences(a, b);
  const auto first = std::find(differs.begin(), differs.end(), true);
  if (comparison->equal != (first == differs.end())) {
    return cat("same_function says ", comparison->equal ? "equal" : "different");
  }
  if (comparison->first_difference.has_value() == comparison->equal) {
    return "first_difference is there when it should not be, or missing";
  }
  if (!comparison->equal) {
    const Index expected = a.shape.delinear(first - differs.begin());
    if (*comparison->first_difference != expected) {
      return cat("first_difference is ", bracketed(*comparison->first_difference), ", expected ",
                 bracketed(expected));
    }
  }
  if (!moved.ok()) return cat("moved_elements: ", why(moved));
  const auto expected_moved = std::count(differs.begin(), differs.end(), true);
  if (*moved != expected_moved) {
    return cat("moved_elements says ", *moved, ", expected ", expected_moved);
  }
  const Result<std::uint64_t> hash_a = function_hash(a);
  const Result<std::uint64_t> hash_b = function_hash(b);
  if (!hash_a.ok() || !hash_b.ok()) return cat("function_hash: ", why(hash_a), ", ", why(hash_b));
  if (comparison->equal && *hash_a != *hash_b) return "equal functions have different hashes";
  return "";
}

Failure law_compatible(const Form& from, const Form& to) {
  const Result<bool> compatible = compatible_without_movement(from, to);
  if (const auto code = comparison_error(from, to)) {
    return expect_error("compatible_without_movement", compatible, *code);
  }
  if (!compatible.ok()) return cat("compatible_without_movement: ", why(compatible));
  const std::vector<NaivePosition> map_from = naive_map(from);
  const std::vector<NaivePosition> map_to = naive_map(to);
  bool expected = map_from.empty() || naive_partials(from) == naive_partials(to);
  if (from.mesh.rank() == to.mesh.rank()) {
    for (std::size_t i = 0; i < map_from.size(); ++i) {
      expected = expected && std::includes(map_from[i].places.begin(), map_from[i].places.end(),
                                           map_to[i].places.begin(), map_to[i].places.end());
    }
  }
  if (*compatible != expected) {
    return cat("compatible_without_movement says ", *compatible, ", expected ", expected);
  }
  return "";
}

Failure law_injective(const Form& form) {
  const Result<Injectivity> injectivity = is_injective(form);
  if (!injectivity.ok()) return cat("is_injective: ", why(injectivity));
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> taken;
  bool expected = true;
  std::int64_t i = 0;
  for (const NaivePosition& position : naive_map(form)) {
    for (const Place& place : position.places) {
      expected =
          taken.emplace(std::pair(form.mesh.linear(place), position.slot), i).second && expected;
    }
    ++i;
  }
  if (injectivity->injective != expected) {
    return cat("is_injective says ", injectivity->injective, ", expected ", expected);
  }
  if (injectivity->collision.has_value() == expected) {
    return "a collision is there when it should not be, or missing";
  }
  if (expected) return "";
  const auto& [first, second] = *injectivity->collision;
  if (!form.shape.contains(first) || !form.shape.contains(second) || !(first < second)) {
    return cat("the collision ", bracketed(first), " ", bracketed(second), " is no ordered pair");
  }
  if (!share_a_slot(naive_evaluate(form, first), naive_evaluate(form, second))) {
    return cat(bracketed(first), " and ", bracketed(second), " do not collide");
  }
  return "";
}

Failure law_refine(const Form& a, const Form& b) {
  const Result<Refinement> refinement = refine(a, b);
  if (a.shape != b.shape) return expect_error("refine", refinement, ErrorCode::kShapeMismatch);
  if (!refinement.ok()) return cat("refine: ", why(refinement));
  const Shape& shape = a.shape;
  std::vector<int> seen(at(shape.elements()), 0);
  const std::vector<NaivePosition> map_a = naive_map(a);
  const std::vector<NaivePosition> map_b = naive_map(b);
  for (std::int64_t n = 0; n < refinement->nests(); ++n) {
    const Nest nest = refinement->nest(n);
    std::map<int, std::int64_t> step_of_dim;
    std::vector<std::int64_t> extents;
    std::int64_t elements = 1;
    for (const Loop& loop : nest.loops) {
      if (loop.extent < 1) return "a loop without steps";
      const auto [known, fresh] = step_of_dim.emplace(loop.dim, loop.step);
      if (!fresh && loop.step >= known->second) return "loops of a dim do not fall in step";
      known->second = loop.step;
      extents.push_back(loop.extent);
      elements *= loop.extent;
    }
    if (nest.elements() != elements) return "Nest::elements is wrong";
    const Shape steps = *Shape::make(extents);
    Index walk(extents.size(), 0);
    do {
      Index index = nest.origin;
      PositionPair positions = nest.at;
      for (std::size_t l = 0; l < walk.size(); ++l) {
        const Loop& loop = nest.loops[l];
        index[at(loop.dim)] += walk[l] * loop.step;
        positions.a += loop.move.a * walk[l];
        positions.b += loop.move.b * walk[l];
      }
      if (!shape.contains(index)) return cat("a nest reaches ", bracketed(index));
      const std::size_t i = at(shape.linear(index));
      ++seen[i];
      const Position expected_a{refinement->mesh_a().linear(map_a[i].first), map_a[i].slot};
      const Position expected_b{refinement->mesh_b().linear(map_b[i].first), map_b[i].slot};
      if (positions.a != expected_a || positions.b != expected_b) {
        return cat("nest ", n, " puts ", bracketed(index), " at a ", positions.a.place, "/",
                   positions.a.slot, " b ", positions.b.place, "/", positions.b.slot,
                   ", expected a ", expected_a.place, "/", expected_a.slot, " b ", expected_b.place,
                   "/", expected_b.slot);
      }
    } while (steps.next(walk));
  }
  if (std::any_of(seen.begin(), seen.end(), [](int times) { return times != 1; })) {
    return "an element is in no nest, or in two";
  }
  return "";
}

}  // namespace tessera::test

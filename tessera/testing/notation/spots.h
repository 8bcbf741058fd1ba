// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/testing/notation/rule_check.h"

namespace tessera::test {

/// A small tensor listed element by element: what is left of a layout when nobody asks how it is
/// said. Comparing two lists is the reference for conversions; counting in one re-checks what a
/// refusal claims.
struct Spots {
  Numbers shape;
  Numbers mesh;                  ///< empty for a single place, whatever the rank of its mesh
  std::int64_t slots = 0;        ///< allocated a place
  std::string dtype;             ///< of the tensor
  std::string kept;              ///< the type in memory
  std::string storage;           ///< in memory, tiles included: "f32", "32x32 of bfp_bf8"
  Numbers tile;                  ///< rows and columns of an atom; empty for scalars
  std::string shares;            ///< "sum on 4 places" where elements are shares, else empty
  std::vector<Numbers> indices;  ///< row-major
  std::vector<RuleSpot> spots;   ///< of each index; places in row-major order
  /// Which elements (by number) each slot of each place holds; slots that hold none are not here.
  std::map<std::pair<Numbers, std::int64_t>, std::vector<std::size_t>> held;

  std::int64_t places() const { return product(mesh); }
  /// Where the element of an index is.
  const RuleSpot& at(const Numbers& index) const;
  /// All of it as one key: equal exactly for tensors that no list tells apart.
  std::string key() const;
};

/// Asks locate of every index. The error is that of locate.
Result<Spots> spots_of(const Tensor& tensor);

/// The same with elements stored one by one: a tile that is its elements in a row is lost without
/// harm. Tiles of block floats, whose elements share exponents, stay as they are.
Spots untiled(Spots spots);

/// What differs first, in words; empty when nothing does. Both are compared untiled.
std::string difference(const Spots& a, const Spots& b);

/// Asks contents_at of `samples` slots, spread over all places: what the tensor says is there must
/// be what is listed. Empty when it is.
std::string contents_mistake(const Tensor& tensor, const Spots& spots, std::int64_t samples);

}  // namespace tessera::test

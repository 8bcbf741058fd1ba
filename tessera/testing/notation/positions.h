// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/notation/notation.h"
#include "tessera/testing/notation/rule_check.h"

namespace tessera::test {

/// Which values of a tensor are shares that must still be reduced.
struct Shares {
  std::vector<std::string> reductions;  ///< sorted names; empty when elements are whole
  std::int64_t places = 1;              ///< that hold a share of one element

  bool empty() const { return reductions.empty(); }
  std::string text() const;  ///< "sum on 4 places"
  friend bool operator==(const Shares&, const Shares&) = default;
};

/// A small tensor listed element by element: the content of a layout, independent of how it is
/// written. Comparing two lists is the reference for conversions; counting in one list checks the
/// claim of a refusal.
struct Positions {
  Numbers shape;
  Numbers mesh;            ///< empty for a single place, whatever the rank of its mesh
  std::int64_t slots = 0;  ///< allocated per place
  std::string dtype;       ///< of the tensor
  std::string kept;        ///< the type in memory
  std::string storage;     ///< in memory, tiles included: "f32", "32x32 of bfp_bf8"
  Numbers tile;            ///< rows and columns of an atom; empty for scalars
  Shares shares;
  std::vector<Numbers> indices;         ///< row-major
  std::vector<RulePosition> positions;  ///< of each index; places in row-major order
  Numbers device;                       ///< the mesh of the device; empty for a single place
  bool numbered = false;                ///< the notation numbers devices
  /// Of each index: the places on the device, with the layer as last number, in row-major order.
  std::vector<std::vector<Numbers>> on_device;
  /// Which elements (by number) each slot of each place holds; empty slots are not listed.
  std::map<std::pair<Numbers, std::int64_t>, std::vector<std::size_t>> held;

  std::int64_t places() const { return product(mesh); }
  /// Where the element of an index is.
  const RulePosition& at(const Numbers& index) const;
  /// Whether the device map moves any place.
  bool is_mapped() const;
  /// Everything as one key: equal exactly when the lists are equal, with places by their
  /// coordinates on the device or by their row-major number there.
  std::string key(bool by_number) const;
};

/// The same with the places on a mesh of one axis: the row-major numbers of the places on the
/// device. Nothing when the device has more places than the mesh.
std::optional<Positions> numbered(const Positions& positions);

/// Calls locate for every index. The error is that of locate.
Result<Positions> positions_of(const Tensor& tensor);

/// The same with elements stored one by one: a tile that stores its elements consecutively is
/// dropped without loss. Tiles of block floats, whose elements share exponents, are kept.
Positions untiled(Positions positions);

/// The first difference, as text; empty when there is none. Both are compared untiled. Places are
/// compared by coordinates on the device; by row-major numbers there if either notation numbers
/// devices or the devices have different ranks.
std::string difference(const Positions& a, const Positions& b);

/// Calls contents_at for `samples` slots, spread over all places: the answer must be the listed
/// content. Empty when it is.
std::string contents_mistake(const Tensor& tensor, const Positions& positions,
                             std::int64_t samples);

}  // namespace tessera::test

// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/notation/native/text.h"

namespace tessera::notation {
namespace {

constexpr std::size_t kMaxFolds = 256;
constexpr std::array<std::string_view, 3> kKinds = {"identity", "folded", "table"};

/// Reads the text after the physical extents of folded(..): folds and an origin.
Status read_folded(Cursor& cursor, DeviceText& device) {
  while (cursor.accept(",")) {
    if (cursor.accept_word("origin")) {
      TESSERA_CHECK_OK(cursor.expect("="));
      TESSERA_TRY(device.origin, cursor.integers("a coordinate", kMaxRank));
      return ok_status();
    }
    if (cursor.peek() != '{') {
      return cursor.expected("a fold or 'origin'",
                             "such as folded([8, 8], {d1} / (8 -> m0, 1 -> m1))");
    }
    if (device.folds.size() == kMaxFolds) {
      return Error{ErrorCode::kRankTooLarge, cat("a device map of more than ", kMaxFolds, " folds"),
                   cursor.next().span, cat("at most ", kMaxFolds, " folds fit in a device map")};
    }
    TESSERA_TRY(FoldText fold, read_fold(cursor));
    device.folds.push_back(std::move(fold));
  }
  return ok_status();
}

/// Reads the text after the physical extents of table(..): ',' '[' '[' ints ']' .. ']'
Status read_table(Cursor& cursor, DeviceText& device, std::optional<std::int64_t> mesh_size) {
  TESSERA_CHECK_OK(cursor.expect(",", "such as table([2, 2], [[0, 0], [1, 1]])"));
  TESSERA_CHECK_OK(cursor.expect("[", "such as table([2, 2], [[0, 0], [1, 1]])"));
  if (cursor.accept("]")) return ok_status();
  do {
    if (mesh_size && static_cast<std::int64_t>(device.places.size()) >= *mesh_size) {
      return Error{ErrorCode::kBadDeviceMap,
                   cat("a table of more than ", *mesh_size, " places for a mesh of ", *mesh_size),
                   cursor.next().span, "one physical place for each virtual place"};
    }
    TESSERA_TRY(Place place, cursor.integers("a coordinate", kMaxRank));
    device.places.push_back(std::move(place));
  } while (cursor.accept(","));
  if (!cursor.accept("]")) return cursor.expected("',' or ']'");
  return ok_status();
}

}  // namespace

Result<DeviceText> read_device(Cursor& cursor, std::optional<std::int64_t> mesh_size) {
  DeviceText device;
  const std::int64_t from = cursor.position();
  TESSERA_TRY(const Word kind,
              cursor.identifier("a device map", "identity, folded(..) or table(..)"));
  if (kind.text == "identity") {
    device.span = kind.span;
    return device;
  }
  const bool folded = kind.text == "folded";
  if (!folded && kind.text != "table") {
    return Error{ErrorCode::kUnknownName, cat("no device map is called ", quote_name(kind.text)),
                 kind.span, did_you_mean(kind.text, kKinds)};
  }
  TESSERA_CHECK_OK(cursor.expect("("));
  TESSERA_TRY(const Said<Shape> physical, read_mesh(cursor, "the extent of a physical axis"));
  device.physical = physical.value;
  device.kind = folded ? DeviceMap::Kind::kFolded : DeviceMap::Kind::kTable;
  TESSERA_CHECK_OK(folded ? read_folded(cursor, device) : read_table(cursor, device, mesh_size));
  TESSERA_CHECK_OK(cursor.expect(")"));
  device.span = cursor.since(from);
  return device;
}

}  // namespace tessera::notation

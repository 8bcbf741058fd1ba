// SPDX-License-Identifier: Apache-2.0
#include "tessera/target/cerebras.h"

#include "tessera/base/text.h"

namespace tessera::target {
namespace {

Status check_mesh(const Shape& mesh) {
  if (mesh.rank() == 2) return ok_status();
  return Error{ErrorCode::kMeshMismatch,
               cat("the SDK has rows and columns, but the mesh has rank ", mesh.rank()),
               std::nullopt, "use a mesh of rank 2"};
}

}  // namespace

Result<SdkPoint> to_sdk(const Shape& mesh, const Place& place) {
  TESSERA_CHECK_OK(check_mesh(mesh));
  if (!mesh.contains(place)) {
    return Error{ErrorCode::kOutOfRange,
                 cat("there is no place ", bracketed(place), " on the mesh ", mesh.to_string()),
                 std::nullopt, "places are [row, col], counted from 0"};
  }
  return SdkPoint{place[1], place[0]};
}

Result<Place> from_sdk(const Shape& mesh, const SdkPoint& point) {
  TESSERA_CHECK_OK(check_mesh(mesh));
  Place place = {point.y, point.x};
  if (!mesh.contains(place)) {
    return Error{ErrorCode::kOutOfRange,
                 cat("there is no PE x = ", point.x, ", y = ", point.y, " in a rectangle ", mesh[1],
                     " wide and ", mesh[0], " high"),
                 std::nullopt, "x counts columns, y counts rows"};
  }
  return place;
}

}  // namespace tessera::target

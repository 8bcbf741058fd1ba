// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/patterns.h"

#include <numeric>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/base/mixing.h"
#include "tessera/base/text.h"

namespace tessera::fabric {
namespace {

constexpr std::int64_t kMaxWords = std::int64_t{1} << 28;

/// A traffic without messages whose payload has `words` words for each of `owners` routers. The
/// words are spread by an odd multiplier, so that no two are equal.
Result<Traffic> with_payload(std::int64_t owners, std::int64_t least, std::int64_t words) {
  if (owners < least || words < 1) {
    return Error{ErrorCode::kOutOfRange,
                 cat(owners, " routers with ", words, " words each are invalid for this pattern"),
                 std::nullopt, cat("use at least ", least, " routers and 1 word")};
  }
  const std::int64_t all = (Checked(owners) * words).saturated();
  if (all > kMaxWords) {
    return Error{ErrorCode::kTooLarge,
                 cat(owners, " routers with ", words, " words each are more than ", kMaxWords),
                 std::nullopt, "use fewer words"};
  }
  Traffic traffic;
  traffic.payload.resize(static_cast<std::size_t>(all));
  for (std::size_t i = 0; i < traffic.payload.size(); ++i) {
    traffic.payload[i] = static_cast<std::uint32_t>(i + 1) * 0x9E3779B1U;
  }
  return traffic;
}

std::int64_t nodes_of(const FabricMesh& mesh) { return std::int64_t{mesh.rows} * mesh.cols; }

Status check_root(const FabricMesh& mesh, std::int32_t root) {
  if (root >= 0 && root < nodes_of(mesh)) return ok_status();
  return Error{ErrorCode::kOutOfRange,
               cat("root ", root, " is not one of the ", nodes_of(mesh), " routers"), std::nullopt,
               "routers are numbered row-major from 0"};
}

/// A number below `bound`, the same on every machine.
std::uint64_t draw(std::uint64_t& state, std::uint64_t bound) {
  const std::uint64_t number = mixed(state);
  state += kGoldenStep;
  return number % bound;
}

}  // namespace

Result<Traffic> chain_reduce(const FabricMesh& mesh, std::int64_t words) {
  TESSERA_TRY(Traffic traffic, with_payload(mesh.cols, 2, words));
  for (std::int32_t p = mesh.cols - 1; p > 0; --p) {
    const std::int64_t before = static_cast<std::int64_t>(traffic.messages.size()) - 1;
    if (before < 0) {
      traffic.add(p, {p - 1}, p * words, words);
    } else {
      traffic.add(p, {p - 1}, p * words, words, {before});
    }
  }
  return traffic;
}

Result<Traffic> star_reduce(const FabricMesh& mesh, std::int64_t words) {
  TESSERA_TRY(Traffic traffic, with_payload(mesh.cols, 2, words));
  for (std::int32_t p = 1; p < mesh.cols; ++p) traffic.add(p, {0}, p * words, words);
  return traffic;
}

Result<Traffic> tree_reduce(const FabricMesh& mesh, std::int64_t words) {
  TESSERA_TRY(Traffic traffic, with_payload(mesh.cols, 2, words));
  for (std::int32_t p = 1; p < mesh.cols; ++p) {
    const std::int32_t low = p & -p;
    std::vector<std::int64_t> children;  // processor p sends message p - 1
    for (std::int32_t step = 1; step < low && p + step < mesh.cols; step *= 2) {
      children.push_back(p + step - 1);
    }
    const std::int32_t parent = p - low;
    traffic.add(p, std::span(&parent, 1), p * words, words, children);
  }
  return traffic;
}

Result<Traffic> broadcast_row(const FabricMesh& mesh, std::int64_t words) {
  TESSERA_TRY(Traffic traffic, with_payload(mesh.cols, 2, words));
  std::vector<std::int32_t> others(static_cast<std::size_t>(mesh.cols) - 1);
  std::iota(others.begin(), others.end(), 1);
  traffic.add(0, others, 0, words, {});
  return traffic;
}

std::int64_t chain_cycles(std::int64_t processors, std::int64_t words, std::int64_t ramp_cycles) {
  return words + (2 * ramp_cycles + 2) * (processors - 1);
}

std::int64_t star_cycles(std::int64_t processors, std::int64_t words, std::int64_t ramp_cycles) {
  return words * (processors - 1) + 2 * ramp_cycles + 1;
}

std::int64_t broadcast_cycles(std::int64_t processors, std::int64_t words,
                              std::int64_t ramp_cycles) {
  return words + processors + 2 * ramp_cycles;
}

Result<Traffic> random_permutation(const FabricMesh& mesh, std::int64_t words, std::uint64_t seed) {
  TESSERA_TRY(Traffic traffic, with_payload(nodes_of(mesh), 2, words));
  std::vector<std::int32_t> to(static_cast<std::size_t>(nodes_of(mesh)));
  std::iota(to.begin(), to.end(), 0);
  // Swapping each entry with an earlier one, never with itself, leaves no router mapped to itself
  // (Sattolo).
  for (std::size_t i = to.size() - 1; i > 0; --i) std::swap(to[i], to[draw(seed, i)]);
  for (std::size_t n = 0; n < to.size(); ++n) {
    traffic.add(static_cast<std::int32_t>(n), {to[n]}, static_cast<std::int64_t>(n) * words, words);
  }
  return traffic;
}

Result<Traffic> gather_to(const FabricMesh& mesh, std::int32_t root, std::int64_t words) {
  TESSERA_CHECK_OK(check_root(mesh, root));
  TESSERA_TRY(Traffic traffic, with_payload(nodes_of(mesh), 2, words));
  for (std::int32_t n = 0; n < nodes_of(mesh); ++n) {
    if (n != root) traffic.add(n, {root}, n * words, words);
  }
  return traffic;
}

Result<Traffic> transpose_mesh(const FabricMesh& mesh, std::int64_t words) {
  if (mesh.rows != mesh.cols) {
    return Error{ErrorCode::kOutOfRange,
                 cat("a mesh of ", mesh.rows, "x", mesh.cols, " is not square"), std::nullopt,
                 "a transpose needs as many rows as columns"};
  }
  TESSERA_TRY(Traffic traffic, with_payload(nodes_of(mesh), 4, words));
  for (std::int32_t r = 0; r < mesh.rows; ++r) {
    for (std::int32_t c = 0; c < mesh.cols; ++c) {
      if (r == c) continue;
      traffic.add(mesh.node(r, c), {mesh.node(c, r)}, mesh.node(r, c) * words, words);
    }
  }
  return traffic;
}

Result<Traffic> broadcast_from(const FabricMesh& mesh, std::int32_t root, std::int64_t words) {
  TESSERA_CHECK_OK(check_root(mesh, root));
  TESSERA_TRY(Traffic traffic, with_payload(nodes_of(mesh), 2, words));
  std::vector<std::int32_t> others;
  for (std::int32_t n = 0; n < nodes_of(mesh); ++n) {
    if (n != root) others.push_back(n);
  }
  traffic.add(root, others, root * words, words, {});
  return traffic;
}

}  // namespace tessera::fabric

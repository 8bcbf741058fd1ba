// SPDX-License-Identifier: Apache-2.0
#include "tools/relayout/relayout_slices.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera::tools {
namespace {

std::int64_t elements_of(const Piece& piece) {
  std::int64_t product = 1;
  for (const Loop& loop : piece.loops) product *= loop.extent;
  return product;
}

std::int64_t elements_of(const Factor& factor) {
  std::int64_t sum = 0;
  for (const Piece& piece : factor.pieces) sum += elements_of(piece);
  return sum;
}

/// Steps [from, to) of a piece's loop.
Piece part_of(Piece piece, std::size_t loop, std::int64_t from, std::int64_t to) {
  const Loop& cut = piece.loops[loop];
  piece.at.a += cut.move.a * from;
  piece.at.b += cut.move.b * from;
  piece.loops[loop].extent = to - from;
  return piece;
}

/// The start of part `k` of `count` of `extent` steps, without overflow.
std::int64_t part_start(std::int64_t extent, std::int64_t k, std::int64_t count) {
  return extent / count * k + extent % count * k / count;
}

/// The share of `factor` that slice `k` of `count` gets.
Factor share_of(const Factor& factor, const relayout::Memory& to, std::int64_t k,
                std::int64_t count) {
  Factor share{factor.dims, {}};
  for (std::size_t p = 0; p < factor.pieces.size(); ++p) {
    const Piece& piece = factor.pieces[p];
    std::optional<std::size_t> longest;
    const auto reach = [&](std::size_t l) {
      const std::int64_t step = to.flat(piece.loops[l].move.b);
      return step < 0 ? -step : step;
    };
    for (std::size_t l = 0; l < piece.loops.size(); ++l) {
      if (piece.loops[l].extent < 2) continue;
      if (!longest || reach(l) > reach(*longest)) longest = l;
    }
    if (!longest) {
      // A single element belongs to one slice; neighbours belong to neighbouring slices.
      const auto number = static_cast<std::int64_t>(p);
      const auto all = static_cast<std::int64_t>(factor.pieces.size());
      const bool is_ours =
          part_start(all, k, count) <= number && number < part_start(all, k + 1, count);
      if (is_ours) share.pieces.push_back(piece);
      continue;
    }
    const std::int64_t extent = piece.loops[*longest].extent;
    const std::int64_t from = part_start(extent, k, count);
    const std::int64_t until = part_start(extent, k + 1, count);
    if (from < until) share.pieces.push_back(part_of(piece, *longest, from, until));
  }
  return share;
}

}  // namespace

std::vector<relayout::Program> slices_of(const relayout::Program& program, std::int64_t count) {
  // A group of block floats is rounded as a whole, so it must be written once. Casts to sub-byte
  // types go through an image of the whole destination, which would be repeated for every slice.
  const DType to = program.to.storage();
  const bool apart = is_block_float(to) || (*dtype_bits(to) < 8 && to != program.from.storage());
  if (apart) return {program};
  std::vector<relayout::Program> slices;
  for (std::int64_t k = 0; k < count; ++k) {
    relayout::Program slice = program;
    slice.copies.clear();
    if (k > 0) slice.fills.clear();
    for (const Refinement& copy : program.copies) {
      std::vector<Factor> factors = copy.factors();
      const auto largest = std::max_element(
          factors.begin(), factors.end(),
          [](const Factor& a, const Factor& b) { return elements_of(a) < elements_of(b); });
      if (largest != factors.end()) {
        *largest = share_of(*largest, program.to, k, count);
      } else if (k > 0) {
        continue;  // a single element
      }
      Refinement part(copy.shape(), copy.mesh_a(), copy.mesh_b(), copy.base(), std::move(factors));
      if (part.nests() > 0) slice.copies.push_back(std::move(part));
    }
    if (k == 0 || !slice.copies.empty()) slices.push_back(std::move(slice));
  }
  return slices;
}

}  // namespace tessera::tools

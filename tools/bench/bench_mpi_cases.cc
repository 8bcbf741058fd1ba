// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"
#include "tessera/notation/notation.h"
#include "tools/bench/bench_mpi.h"
#include "tools/bench/bench_relayout.h"
#include "tools/command/bug.h"

namespace tessera::tools {
namespace {

/// The rows or columns of a shard, in order: their numbers in the whole matrix, or -1 for padding.
/// Blocks of `block` lines are assigned round-robin to `ranks` ranks; `self` is the number of this
/// one.
std::vector<std::int64_t> lines_of(std::int64_t extent, std::int64_t block, std::int64_t ranks,
                                   std::int64_t self) {
  const std::int64_t kept = ceil_div(extent, block * ranks) * block;
  std::vector<std::int64_t> lines(static_cast<std::size_t>(kept));
  for (std::int64_t i = 0; i < kept; ++i) {
    const std::int64_t line = (i / block * ranks + self) * block + i % block;
    lines[static_cast<std::size_t>(i)] = line < extent ? line : -1;
  }
  return lines;
}

/// The bits of element k: the same number in a shard of any distribution, never equal to those of
/// padding.
template <typename Bits>
Bits element_bits(std::int64_t k) {
  if constexpr (sizeof(Bits) == 8) {
    return 0x3ff0000000000000U + static_cast<Bits>(k);
  } else {
    return static_cast<Bits>(0x20000000U + (static_cast<std::uint64_t>(k) & 0x1fffffffU));
  }
}

template <typename Bits>
constexpr Bits kPaddingBits = static_cast<Bits>(0xa5a5a5a5a5a5a5a5U);
static_assert(kUntouched == std::byte{0xa5});

/// Calls visit(row or -1, column or -1, slot) in the order of memory until it returns false.
template <typename Visit>
void walk_shard(const MpiCase& bench_case, const MpiDeal& deal, int rank, const Visit& visit) {
  const auto rows =
      lines_of(bench_case.extent, deal.block_rows, deal.grid_rows, rank / deal.grid_cols);
  const auto cols =
      lines_of(bench_case.extent, deal.block_cols, deal.grid_cols, rank % deal.grid_cols);
  for (std::size_t col = 0; col < cols.size(); ++col) {
    const std::size_t begin = col * static_cast<std::size_t>(deal.leading);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!visit(rows[row], cols[col], begin + row)) return;
    }
  }
}

template <typename Bits>
void write_elements(const MpiCase& bench_case, const MpiDeal& deal, int rank,
                    std::span<std::byte> shard) {
  walk_shard(bench_case, deal, rank, [&](std::int64_t row, std::int64_t col, std::size_t slot) {
    if (row < 0 || col < 0) return true;
    const Bits bits = element_bits<Bits>(row * bench_case.extent + col);
    std::memcpy(shard.data() + slot * sizeof(Bits), &bits, sizeof(Bits));
    return true;
  });
}

template <typename Bits>
Status check_elements(const MpiCase& bench_case, const MpiDeal& deal, int rank,
                      std::span<const std::byte> shard) {
  Status status = ok_status();
  walk_shard(bench_case, deal, rank, [&](std::int64_t row, std::int64_t col, std::size_t slot) {
    const bool padding = row < 0 || col < 0;
    const Bits expected =
        padding ? kPaddingBits<Bits> : element_bits<Bits>(row * bench_case.extent + col);
    Bits found = 0;
    std::memcpy(&found, shard.data() + slot * sizeof(Bits), sizeof(Bits));
    if (found == expected) return true;
    status = Error{ErrorCode::kContradiction,
                   padding ? cat("slot ", slot, " of rank ", rank, " is padding and was written")
                           : cat("element [", row, ", ", col, "] in slot ", slot, " of rank ", rank,
                                 " is wrong"),
                   std::nullopt, kBugHelp};
    return false;
  });
  return status;
}

/// counts[a][b]: the number of lines that rank a of the first distribution and rank b of the second
/// have in common.
std::vector<std::vector<std::int64_t>> shared_lines(std::int64_t extent, std::int64_t block_a,
                                                    std::int64_t ranks_a, std::int64_t block_b,
                                                    std::int64_t ranks_b) {
  std::vector<std::vector<std::int64_t>> counts(
      static_cast<std::size_t>(ranks_a),
      std::vector<std::int64_t>(static_cast<std::size_t>(ranks_b)));
  for (std::int64_t line = 0; line < extent; ++line) {
    const auto a = static_cast<std::size_t>(line / block_a % ranks_a);
    const auto b = static_cast<std::size_t>(line / block_b % ranks_b);
    ++counts[a][b];
  }
  return counts;
}

/// Bytes from rank `a` of the first distribution to rank `b` of the second, for all b or all a.
std::vector<std::int64_t> bytes_between(const MpiCase& bench_case, std::optional<int> a,
                                        std::optional<int> b) {
  const MpiDeal& from = bench_case.from;
  const MpiDeal& to = bench_case.to;
  const auto rows =
      shared_lines(bench_case.extent, from.block_rows, from.grid_rows, to.block_rows, to.grid_rows);
  const auto cols =
      shared_lines(bench_case.extent, from.block_cols, from.grid_cols, to.block_cols, to.grid_cols);
  std::vector<std::int64_t> bytes;
  const std::int64_t ranks = from.grid_rows * from.grid_cols;
  for (std::int64_t other = 0; other < ranks; ++other) {
    const std::int64_t p = a.value_or(static_cast<int>(other));
    const std::int64_t q = b.value_or(static_cast<int>(other));
    bytes.push_back(rows[static_cast<std::size_t>(p / from.grid_cols)]
                        [static_cast<std::size_t>(q / to.grid_cols)] *
                    cols[static_cast<std::size_t>(p % from.grid_cols)]
                        [static_cast<std::size_t>(q % to.grid_cols)] *
                    bench_case.element_bytes());
  }
  return bytes;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> squarest_grid(std::int64_t ranks) {
  std::int64_t rows = 1;
  for (std::int64_t i = 1; i * i <= ranks; ++i) {
    if (ranks % i == 0) rows = i;
  }
  return {rows, ranks / rows};
}

MpiDeal deal(std::int64_t extent, std::pair<std::int64_t, std::int64_t> grid,
             std::int64_t block_rows, std::int64_t block_cols) {
  const auto [rows, cols] = grid;
  block_rows = std::min(block_rows, extent);
  block_cols = std::min(block_cols, extent);
  return {rows, cols, block_rows, block_cols, ceil_div(extent, block_rows * rows) * block_rows};
}

std::vector<MpiCase> mpi_cases(std::int64_t extent, int ranks) {
  const auto grid = squarest_grid(ranks);
  const auto blocks = [&](std::int64_t block) { return deal(extent, grid, block, block); };
  const std::int64_t part = ceil_div(extent, ranks);
  const std::pair<std::int64_t, std::int64_t> row_of_ranks = {1, ranks};
  const std::pair<std::int64_t, std::int64_t> column_of_ranks = {ranks, 1};
  std::vector<MpiCase> cases;
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    const auto add = [&](std::string name, const MpiDeal& from, const MpiDeal& to) {
      cases.push_back({std::move(name), dtype, extent, from, to});
    };
    add("32x32-to-128x128", blocks(32), blocks(128));
    add("256x256-to-32x32", blocks(256), blocks(32));
    add("64x64-on-another-grid", deal(extent, row_of_ranks, 64, 64),
        deal(extent, column_of_ranks, 64, 64));
    add("rows-to-columns", deal(extent, column_of_ranks, part, extent),
        deal(extent, row_of_ranks, extent, part));
    add("8x8-to-100x100", blocks(8), blocks(100));
    add("one-block-to-64x64",
        deal(extent, grid, ceil_div(extent, grid.first), ceil_div(extent, grid.second)),
        blocks(64));
  }
  return cases;
}

std::string deal_text(const MpiDeal& deal, std::int64_t extent, DType dtype) {
  const std::int64_t ranks = deal.grid_rows * deal.grid_cols;
  return cat("tensor<", extent, "x", extent, "x", dtype_name(dtype), ", native<mesh=[", ranks,
             "], {d0} / (", deal.block_rows * deal.grid_rows, " -> mem*", deal.block_rows, ", ",
             deal.block_rows, " -> m0*", deal.grid_cols, ", 1 -> mem), {d1} / (",
             deal.block_cols * deal.grid_cols, " -> mem*", deal.block_cols * deal.leading, ", ",
             deal.block_cols, " -> m0, 1 -> mem*", deal.leading, ")>>");
}

Result<reshard::Reshard> mpi_reshard(const MpiCase& bench_case) {
  const auto text = [&](const MpiDeal& side) {
    return deal_text(side, bench_case.extent, bench_case.dtype);
  };
  TESSERA_TRY(const Tensor from, parse_tensor(text(bench_case.from)));
  TESSERA_TRY(const Tensor to, parse_tensor(text(bench_case.to)));
  reshard::PhysicalMesh physical;
  TESSERA_TRY(physical.mesh, Shape::make({bench_case.from.grid_rows * bench_case.from.grid_cols}));
  physical.why_no_fabric = "ranks are joined by MPI";
  return reshard::Reshard::make(from.placement, to.placement, physical);
}

std::vector<std::int64_t> bytes_to(const MpiCase& bench_case, int from) {
  return bytes_between(bench_case, from, std::nullopt);
}

std::vector<std::int64_t> bytes_from(const MpiCase& bench_case, int to) {
  return bytes_between(bench_case, std::nullopt, to);
}

void write_shard(const MpiCase& bench_case, const MpiDeal& deal, int rank,
                 std::span<std::byte> shard) {
  if (bench_case.element_bytes() == 8) {
    write_elements<std::uint64_t>(bench_case, deal, rank, shard);
  } else {
    write_elements<std::uint32_t>(bench_case, deal, rank, shard);
  }
}

Status check_shard(const MpiCase& bench_case, const MpiDeal& deal, int rank,
                   std::span<const std::byte> shard) {
  return bench_case.element_bytes() == 8
             ? check_elements<std::uint64_t>(bench_case, deal, rank, shard)
             : check_elements<std::uint32_t>(bench_case, deal, rank, shard);
}

}  // namespace tessera::tools

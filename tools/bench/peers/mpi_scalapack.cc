// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "tools/bench/peers/mpi_peer.h"

// ScaLAPACK has no C headers; these are its own C names, as in BLACS and REDIST of
// https://github.com/Reference-ScaLAPACK/scalapack
extern "C" {
void Cblacs_get(int context, int what, int* value);
void Cblacs_gridmap(int* context, int* ranks, int leading, int rows, int cols);
void Cblacs_gridexit(int context);
void Cpdgemr2d(int rows, int cols, double* a, int row_a, int col_a, int* described_a, double* b,
               int row_b, int col_b, int* described_b, int context);
void Cpsgemr2d(int rows, int cols, float* a, int row_a, int col_a, int* described_a, float* b,
               int row_b, int col_b, int* described_b, int context);
}

namespace tessera::tools {
namespace {

/// A grid of ranks, row-major as in MpiDeal.
class Grid {
 public:
  Grid(std::int64_t rows, std::int64_t cols) {
    std::vector<int> ranks;
    for (std::int64_t col = 0; col < cols; ++col) {
      for (std::int64_t row = 0; row < rows; ++row) {
        ranks.push_back(static_cast<int>(row * cols + col));
      }
    }
    Cblacs_get(-1, 0, &context_);
    Cblacs_gridmap(&context_, ranks.data(), static_cast<int>(rows), static_cast<int>(rows),
                   static_cast<int>(cols));
  }
  ~Grid() { Cblacs_gridexit(context_); }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;
  int context() const { return context_; }

 private:
  int context_ = 0;
};

/// A distributed matrix as ScaLAPACK describes one: type 1 (dense), context, extents, blocks, the
/// rank of the first block, leading dimension.
std::array<int, 9> described(const Grid& grid, const MpiDeal& deal, std::int64_t extent) {
  const int extent_int = static_cast<int>(extent);
  return {1,
          grid.context(),
          extent_int,
          extent_int,
          static_cast<int>(deal.block_rows),
          static_cast<int>(deal.block_cols),
          0,
          0,
          static_cast<int>(deal.leading)};
}

struct Redistribution {
  explicit Redistribution(const MpiMatrixMove& the_move)
      : move(the_move),
        from(move.from.grid_rows, move.from.grid_cols),
        to(move.to.grid_rows, move.to.grid_cols),
        all(1, move.from.grid_rows * move.from.grid_cols),
        described_from(described(from, move.from, move.extent)),
        described_to(described(to, move.to, move.extent)) {}
  MpiMatrixMove move;
  Grid from;
  Grid to;
  Grid all;
  std::array<int, 9> described_from;
  std::array<int, 9> described_to;
};

void* prepare(const MpiMatrixMove* move) {
  const bool known = move->element_bytes == 8 || move->element_bytes == 4;
  const bool all_ranks =
      move->from.grid_rows * move->from.grid_cols == move->to.grid_rows * move->to.grid_cols;
  if (!known || !all_ranks || move->extent > std::numeric_limits<int>::max()) return nullptr;
  return std::make_unique<Redistribution>(*move).release();
}

void run(void* prepared) {
  auto& work = *static_cast<Redistribution*>(prepared);
  const int extent = static_cast<int>(work.move.extent);
  // Its interface has no const; the source is only read.
  void* source = const_cast<void*>(work.move.source);
  if (work.move.element_bytes == 8) {
    Cpdgemr2d(extent, extent, static_cast<double*>(source), 1, 1, work.described_from.data(),
              static_cast<double*>(work.move.destination), 1, 1, work.described_to.data(),
              work.all.context());
  } else {
    Cpsgemr2d(extent, extent, static_cast<float*>(source), 1, 1, work.described_from.data(),
              static_cast<float*>(work.move.destination), 1, 1, work.described_to.data(),
              work.all.context());
  }
}

void forget(void* prepared) { delete static_cast<Redistribution*>(prepared); }

}  // namespace

const MpiMatrixPeer kScalapackPeer = {"scalapack", prepare, run, forget};

}  // namespace tessera::tools

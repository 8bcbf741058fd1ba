// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What `tessera bench mpi` measures beside Tessera: bare MPI, and ScaLAPACK where it is installed.
/// Both live in a module that the command loads when it is present, as in peer.h; MPI is already
/// initialized then. Plain structs, no C++ types.
namespace tessera::tools {

/// Changes with every change of these structs.
inline constexpr int kMpiPeersVersion = 1;

/// A matrix distributed in blocks over a grid of ranks, row-major: block (i, j) is on rank (i mod
/// grid_rows)·grid_cols + j mod grid_cols. A rank keeps its blocks as one column-major matrix with
/// `leading` elements from column to column.
struct MpiDeal {
  std::int64_t grid_rows = 1;
  std::int64_t grid_cols = 1;
  std::int64_t block_rows = 1;
  std::int64_t block_cols = 1;
  std::int64_t leading = 1;
};

/// A square matrix that a library moves from one distribution to another.
struct MpiMatrixMove {
  std::int64_t extent = 0;
  int element_bytes = 8;  ///< 8: f64, 4: f32
  MpiDeal from;
  MpiDeal to;
  const void* source = nullptr;
  void* destination = nullptr;
};

/// The minimum work of a reshard through messages: `send` bytes for each rank are packed, exchanged
/// by MPI_Alltoallv, and unpacked; what a rank keeps is copied once. The bytes are the first bytes
/// of a rank's part of `source`, in no particular order.
struct MpiFloorMove {
  const std::int64_t* send = nullptr;     ///< bytes for each rank, including itself
  const std::int64_t* receive = nullptr;  ///< bytes from each rank, including itself
  const void* source = nullptr;
  void* destination = nullptr;
  void* packed = nullptr;    ///< space for what is sent to others
  void* unpacked = nullptr;  ///< space for what others send
};

/// A library that redistributes matrices.
struct MpiMatrixPeer {
  const char* name;
  /// Collective; null when it does not support this move.
  void* (*prepare)(const MpiMatrixMove* move);
  void (*run)(void* prepared);
  void (*forget)(void* prepared);
};

/// What the module exports under the name `tessera_bench_mpi`. All functions are collective and
/// return 0 on success.
struct MpiPeers {
  int version;
  int (*barrier)();
  int (*floor)(const MpiFloorMove* move);
  const MpiMatrixPeer* matrices;  ///< null where the library is missing
};
using MpiPeersFunction = const MpiPeers* (*)();

extern const MpiMatrixPeer kScalapackPeer;

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What `tessera bench mpi` measures beside Tessera: bare MPI, and ScaLAPACK where it is. Both live
/// in a module that the command loads when it is there, as in peer.h; MPI is up and running by
/// then. Plain structs, no C++ types.
namespace tessera::tools {

/// Changes with every change of these structs.
inline constexpr int kMpiPeersVersion = 1;

/// A matrix dealt out in blocks to a grid of ranks, row-major: block (i, j) is on rank
/// (i mod grid_rows)·grid_cols + j mod grid_cols. A rank keeps its blocks as one column-major
/// matrix with `leading` elements from column to column.
struct MpiDeal {
  std::int64_t grid_rows = 1;
  std::int64_t grid_cols = 1;
  std::int64_t block_rows = 1;
  std::int64_t block_cols = 1;
  std::int64_t leading = 1;
};

/// A square matrix from one deal to another, by the functions of a library.
struct MpiMatrixMove {
  std::int64_t extent = 0;
  int element_bytes = 8;  ///< 8: f64, 4: f32
  MpiDeal from;
  MpiDeal to;
  const void* source = nullptr;
  void* destination = nullptr;
};

/// The least that a reshard through messages does: `send` bytes for each rank are copied together,
/// exchanged by MPI_Alltoallv, and copied out again; what a rank has for itself is copied once.
/// The bytes are those that a rank's part of `source` begins with, in no particular order.
struct MpiFloorMove {
  const std::int64_t* send = nullptr;     ///< bytes for each rank, itself too
  const std::int64_t* receive = nullptr;  ///< bytes from each rank, itself too
  const void* source = nullptr;
  void* destination = nullptr;
  void* packed = nullptr;    ///< room for what is sent to others
  void* unpacked = nullptr;  ///< room for what others send
};

/// A library that redistributes matrices.
struct MpiMatrixPeer {
  const char* name;
  /// Collective; nothing when it cannot do this move.
  void* (*prepare)(const MpiMatrixMove* move);
  void (*run)(void* prepared);
  void (*forget)(void* prepared);
};

/// What the module exports under the name `tessera_bench_mpi`. Everything is collective, and 0 when
/// it worked.
struct MpiPeers {
  int version;
  int (*barrier)();
  int (*floor)(const MpiFloorMove* move);
  const MpiMatrixPeer* matrices;  ///< nothing where the library is missing
};
using MpiPeersFunction = const MpiPeers* (*)();

extern const MpiMatrixPeer kScalapackPeer;

}  // namespace tessera::tools

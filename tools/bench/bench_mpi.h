// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/result.h"
#include "tessera/exchange/agreement.h"
#include "tessera/reshard/reshard.h"
#include "tools/bench/peers/mpi_peer.h"
#include "tools/command/command.h"
#include "tools/json/json.h"

/// Suite mpi: the time of a reshard between processes, compared with the minimum that messages
/// allow and with ScaLAPACK, in one run.
///
///   bench_mpi_cases.cc    the matrices: their distributions as text, in numbers and in memory
///   bench_mpi_run.cc      checking and measuring one case
///   bench_mpi.cc          the suite and its report
///   bench_mpi_command.cc  the suite at the command line
///   peers/mpi_*.cc        bare MPI and ScaLAPACK, in a module of their own
namespace tessera::tools {

/// A square matrix that is moved from one distribution to another.
struct MpiCase {
  std::string name;  ///< "32x32-to-128x128"
  DType dtype = DType::kF64;
  std::int64_t extent = 0;
  MpiDeal from;
  MpiDeal to;

  int element_bytes() const { return static_cast<int>(*dtype_bits(dtype) / 8); }
  std::int64_t bytes() const { return extent * extent * element_bytes(); }
};

/// The cases of the suite on `ranks` ranks, for f64 and f32.
std::vector<MpiCase> mpi_cases(std::int64_t extent, int ranks);

/// The most square grid of `ranks` ranks, no more rows than columns: 4 is 2x2, 6 is 2x3, 7 is 1x7.
std::pair<std::int64_t, std::int64_t> squarest_grid(std::int64_t ranks);

/// A distribution with the leading dimension that whole blocks need; blocks are clipped to the
/// extent.
MpiDeal deal(std::int64_t extent, std::pair<std::int64_t, std::int64_t> grid,
             std::int64_t block_rows, std::int64_t block_cols);

/// A distribution as a layout on a mesh of one axis, the ranks: the same elements at the same
/// addresses.
/// Example: 8x8 in 2x2 blocks on 1x2: tensor<8x8xf64, native<mesh=[2], {d0} / (2 -> mem*2,
/// 2 -> m0*2, 1 -> mem), {d1} / (4 -> mem*16, 2 -> m0, 1 -> mem*8)>>.
std::string deal_text(const MpiDeal& deal, std::int64_t extent, DType dtype);
Result<reshard::Reshard> mpi_reshard(const MpiCase& bench_case);

/// Bytes that rank `from` of the first distribution has for each rank of the second: counted row
/// by row and column by column, not by Tessera.
std::vector<std::int64_t> bytes_to(const MpiCase& bench_case, int from);
/// The same per rank of the first distribution, for rank `to` of the second.
std::vector<std::int64_t> bytes_from(const MpiCase& bench_case, int to);

/// Writes the elements that `rank` holds in `deal`: distinct numbers (up to 2^29 elements of f32),
/// finite and normal. Padding is not written.
void write_shard(const MpiCase& bench_case, const MpiDeal& deal, int rank,
                 std::span<std::byte> shard);
/// Whether `shard` holds those elements, and bytes kUntouched in its padding: kContradiction names
/// the first element that differs.
Status check_shard(const MpiCase& bench_case, const MpiDeal& deal, int rank,
                   std::span<const std::byte> shard);

inline constexpr std::int64_t kLeastExtent = 16;
inline constexpr std::int64_t kMostExtent = 16384;  ///< ScaLAPACK counts bytes of a shard in an int

struct MpiBenchOptions {
  std::int64_t extent = 8192;
  std::vector<std::int64_t> threads = {1};  ///< per rank
  std::string only;                         ///< cases whose "name/dtype" holds this text
  bool peers = true;
  bool quick = false;
};

/// The measurements of one case with one number of threads. Times are medians over the rounds of
/// the time of the slowest rank.
struct MpiRow {
  std::string name;
  std::string dtype;
  int ranks = 1;
  int threads = 1;
  std::int64_t bytes = 0;           ///< of the matrix
  std::int64_t crossing_bytes = 0;  ///< between ranks, in total
  std::int64_t staged_bytes = 0;    ///< for packets in flight, maximum over the ranks
  double seconds = 0;               ///< ours, from private memory of each rank
  double shared_seconds = 0;        ///< ours, from memory that the ranks of a node share
  double floor_seconds = 0;         ///< packed, MPI_Alltoallv, unpacked
  double memcpy_seconds = 0;        ///< each rank copies its part
  double plan_seconds = 0;
  std::vector<std::pair<std::string, double>> peers;

  double over_floor() const { return seconds / floor_seconds; }
  double shared_over_floor() const { return shared_seconds / floor_seconds; }
  double floor_over_memcpy() const { return floor_seconds / memcpy_seconds; }
  /// At most 1.5 times the floor, and 3 times as fast as every peer.
  bool met() const;
};
inline constexpr double kMostOverFloor = 1.5;
inline constexpr double kLeastOverPeers = 3;

/// The ranks of a benchmark, which measure together and fail together.
class Crew {
 public:
  Crew(exchange::Agreement& agreement, const MpiPeers& peers)
      : agreement_(agreement), peers_(peers) {}
  int rank() const { return agreement_.rank(); }
  int ranks() const { return agreement_.ranks(); }
  exchange::Exchange& exchange() { return agreement_.exchange(); }
  const MpiPeers& peers() const { return peers_; }

  /// See Agreement.
  Status settle(const Status& mine) { return agreement_.settle(mine); }
  Result<std::int64_t> largest(std::int64_t mine);

  /// The time that `work` takes on the slowest rank, all starting together; settled.
  Result<double> seconds_of(const std::function<Status()>& work);

 private:
  exchange::Agreement& agreement_;
  const MpiPeers& peers_;
};

/// Collective. Every result is compared with what the distribution requires, element by element,
/// before it is timed: kContradiction when one differs.
Status run_mpi_case(const MpiCase& bench_case, const MpiBenchOptions& options, Crew& crew,
                    const std::function<void(const MpiRow& row)>& measured);

struct MpiReport {
  int ranks = 1;
  std::int64_t extent = 0;
  std::vector<MpiRow> rows;
  bool without_scalapack = false;  ///< was requested, but is not in the module
};
/// Collective. `measured` is called on all ranks as soon as a row is complete.
Result<MpiReport> bench_mpi(const MpiBenchOptions& options, Crew& crew,
                            const std::function<void(const MpiRow& row)>& measured);

/// How long ranks of a benchmark wait: while a peer library runs, a rank does not answer.
inline constexpr exchange::Timeouts kBenchTimeouts = {std::chrono::minutes(10),
                                                      std::chrono::minutes(1)};

/// The module beside the command; kIo says how to get it.
Result<const MpiPeers*> load_mpi_peers();

Json mpi_json(const MpiReport& report);
/// The table: a header, one line per row, and a summary below the rows.
std::string mpi_head();
std::string mpi_line(const MpiRow& row);
std::string mpi_tail(const MpiReport& report);

/// The suite at the command line, on every rank that mpirun started. One rank prints: rank 0 the
/// measurements, and the rank that reports for all the error.
Result<Verdict> run_bench_mpi(const Request& request, Console& console);

}  // namespace tessera::tools

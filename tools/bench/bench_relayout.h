// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/relayout/plan.h"
#include "tools/bench/peers/peer.h"
#include "tools/json/json.h"

/// Suite relayout: the share of memcpy's speed that a change of layout reaches, and the share that
/// other libraries reach in the same process.
///
///   bench_relayout_cases.cc      the pairs of layouts
///   bench_relayout_reference.cc  what the result must be
///   bench_relayout_peers.cc      the module of peers, and moves as peers describe them
///   bench_relayout_run.cc        checking and measuring one row
///   bench_relayout.cc            the suite and its report
namespace tessera::tools {

/// One move to measure.
struct RelayoutCase {
  std::string name;   ///< what moves and how large: "tile/8192x8192"
  std::string group;  ///< cases that share a geometric mean in the report
  DType dtype = DType::kF32;
  Placement from;
  Placement to;
  std::optional<double> goal;  ///< the share of memcpy's speed to reach
  /// The move in blocks, for peers that support more than permuted axes.
  std::optional<PeerMove> blocks;

  std::int64_t bytes() const;  ///< of the tensor's elements
};

/// Every case with about `bytes` bytes of elements; near 200 MB for permutations of six dims when
/// `bytes` is 256 MiB.
Result<std::vector<RelayoutCase>> relayout_cases(std::int64_t bytes);

/// Memory in huge pages where the system provides them, written once so that its pages are
/// allocated.
class BenchBuffer {
 public:
  static Result<BenchBuffer> make(std::int64_t bytes);
  BenchBuffer(BenchBuffer&& other) noexcept
      : mapped_(std::exchange(other.mapped_, nullptr)),
        mapped_bytes_(other.mapped_bytes_),
        bytes_(other.bytes_) {}
  BenchBuffer& operator=(BenchBuffer&&) = delete;
  ~BenchBuffer();
  std::span<std::byte> first(std::int64_t bytes) const {
    return bytes_.first(static_cast<std::size_t>(bytes));
  }

 private:
  BenchBuffer() = default;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  std::span<std::byte> bytes_;
};

/// Numbers that are finite and normal as f32 and as bf16, so that a peer may use arithmetic on
/// them.
void fill_with_numbers(std::span<std::byte> bytes);
/// The bytes of a destination before a move; bytes that the move does not write must keep this
/// value.
inline constexpr std::byte kUntouched{0xa5};

/// Runs the fills and nests of `program` as plain loops, then looks up 4096 random elements in both
/// placements: the program itself is not trusted.
Status make_reference(const RelayoutCase& bench_case, const relayout::Program& program,
                      std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool);

/// The peers of the module next to the command, or why there are none.
struct Peers {
  std::vector<Peer> list;
  std::vector<MatmulPeer> matmuls;
  std::vector<ConvPeer> convs;
  std::string missing;
};
Peers load_peers();

/// The move as peers describe it, without buffers and threads. Axes that stay together are merged.
/// Example: NCHW to NHWC is extents (n, c, h·w) with permutation (0, 2, 1).
PeerMove peer_move(const RelayoutCase& bench_case, const relayout::Program& program);

/// One measured row.
struct RelayoutRow {
  std::string name;
  std::string group;
  std::string size;  ///< the requested size, "256MiB"
  std::string dtype;
  int threads = 1;
  std::int64_t bytes = 0;
  double seconds = 0;
  double memcpy_seconds = 0;
  std::vector<std::pair<std::string, double>> peers;
  std::optional<double> goal;
  double program_seconds = 0;     ///< to make the program
  double plan_seconds = 0;        ///< to make the plan from it
  std::vector<std::string> plan;  ///< the first jobs of the plan, as text
  std::int64_t jobs = 0;          ///< how many there are

  double share() const { return memcpy_seconds / seconds; }
  std::optional<bool> met() const;
  /// The fastest peer; null without peers.
  const std::pair<std::string, double>* best_peer() const;
  /// Not slower than the best peer, with 5 % tolerance for noise.
  std::optional<bool> keeps_up() const;
};

struct RelayoutOptions {
  std::vector<std::int64_t> sizes;  ///< bytes
  std::vector<std::int64_t> threads;
  std::string only;  ///< rows whose "name/dtype" holds this text
  bool peers = true;
  bool quick = false;
};

/// Measures one case with each number of threads. Every contender's result is compared with the
/// reference, bit for bit, before it is timed: kContradiction when it differs.
Status run_relayout_case(const RelayoutCase& bench_case, const RelayoutOptions& options,
                         const Peers& peers, std::span<const BenchBuffer> buffers,
                         const std::function<void(RelayoutRow row)>& measured);

struct RelayoutReport {
  std::vector<RelayoutRow> rows;
  std::string peers_missing;
};
/// `measured` is called as soon as a row is complete.
Result<RelayoutReport> bench_relayout(
    const RelayoutOptions& options,
    const std::function<void(const RelayoutRow& row)>& measured = [](const RelayoutRow&) {});

/// Geometric means of the shares, by group and over all, for each size and number of threads; and
/// of the peers' shares over the rows that the peers support.
std::vector<std::pair<std::string, double>> share_means(const std::vector<RelayoutRow>& rows);

Json relayout_json(const RelayoutReport& report);
/// The table: a header, one line per row, and a summary below the rows.
std::string relayout_head();
std::string relayout_line(const RelayoutRow& row);
std::string relayout_tail(const RelayoutReport& report);

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "tessera/base/text.h"
#include "tools/bench/bench_relayout.h"

namespace tessera::tools {
namespace {

struct Axis {
  std::int64_t extent = 1;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// Whether the steps are those of a dense array with this order of axes, slowest first.
bool is_dense(const std::vector<Axis>& axes, std::int64_t Axis::* step) {
  std::int64_t expected = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].*step != expected) return false;
    expected *= axes[i].extent;
  }
  return true;
}

/// The axes of a program that only permutes them, in the order of the source, slowest first, joined
/// where both sides keep them together; empty for any other program.
std::vector<Axis> permuted_axes(const relayout::Program& program) {
  if (program.nests() != 1 || !program.fills.empty()) return {};
  if (program.from.mesh.elements() != 1 || program.to.mesh.elements() != 1) return {};
  const Nest nest = program.nest(0);
  std::vector<Axis> axes;
  for (const Loop& loop : nest.loops) {
    if (loop.extent > 1) axes.push_back({loop.extent, loop.move.a.slot, loop.move.b.slot});
  }
  const auto slowest_first = [](const Axis& a, const Axis& b) { return a.from > b.from; };
  std::sort(axes.begin(), axes.end(), slowest_first);
  std::vector<Axis> joined;
  for (const Axis& axis : axes) {
    if (!joined.empty() && joined.back().from == axis.extent * axis.from &&
        joined.back().to == axis.extent * axis.to) {
      joined.back() = {joined.back().extent * axis.extent, axis.from, axis.to};
    } else {
      joined.push_back(axis);
    }
  }
  return is_dense(joined, &Axis::from) ? joined : std::vector<Axis>{};
}

}  // namespace

PeerMove peer_move(const RelayoutCase& bench_case, const relayout::Program& program) {
  PeerMove move = bench_case.blocks.value_or(PeerMove{});
  move.element_bytes = static_cast<int>(*dtype_bits(bench_case.dtype) / 8);
  const std::vector<Axis> axes = permuted_axes(program);
  if (axes.empty()) return move;
  if (move.rank == 0 && axes.size() <= kPeerRank) {
    move.rank = static_cast<int>(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      move.dims[i] = move.source.padded[i] = move.destination.padded[i] = axes[i].extent;
      move.source.strides[i] = axes[i].from;
      move.destination.strides[i] = axes[i].to;
    }
  }
  if (axes.size() > kPeerShuffleRank) return move;
  std::vector<Axis> result = axes;
  std::sort(result.begin(), result.end(), [](const Axis& a, const Axis& b) { return a.to > b.to; });
  if (!is_dense(result, &Axis::to)) return move;
  move.shuffle_rank = static_cast<int>(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    move.extents[i] = axes[i].extent;
    // Axes are identified by their steps in the source.
    const auto is_it = [&](const Axis& axis) { return axis.from == result[i].from; };
    move.permutation[i] =
        static_cast<int>(std::find_if(axes.begin(), axes.end(), is_it) - axes.begin());
  }
  return move;
}

Peers load_peers() {
  // OpenMP's threads spin for a long time after their work, which would slow down the next
  // contender; a short spin is enough between calls of the same peer.
  setenv("GOMP_SPINCOUNT", "20000", /*overwrite=*/0);
  std::error_code error;
  const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path module = command.parent_path() / "tessera_bench_peers.so";
  Peers peers;
  // Never unloaded: threads of the peers may live as long as the process.
  void* handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    peers.missing = "no tessera_bench_peers.so next to the command: build the target `peers`";
    return peers;
  }
  const auto list = reinterpret_cast<PeerListFunction>(dlsym(handle, "tessera_bench_peers"));
  if (list == nullptr || list()->version != kPeerVersion) {
    peers.missing = "tessera_bench_peers.so is of another version: build the target `peers`";
    return peers;
  }
  peers.list.assign(list()->peers, list()->peers + list()->count);
  peers.matmuls.assign(list()->matmuls, list()->matmuls + list()->matmul_count);
  peers.convs.assign(list()->convs, list()->convs + list()->conv_count);
  return peers;
}

}  // namespace tessera::tools

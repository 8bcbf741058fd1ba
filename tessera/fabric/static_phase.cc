// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/static_phase.h"

#include <algorithm>
#include <utility>

namespace tessera::fabric {
namespace {

constexpr unsigned kPorts = 5;

/// One path of a tree through one router.
struct Branch {
  std::uint32_t way = 0;  ///< router · 5 + port
  std::int32_t colour = 0;
  std::uint32_t cell = 0;  ///< counted over all trees
  std::uint32_t destination = 0;
};

}  // namespace

StaticPhase::StaticPhase(const XyTrees& all, std::int32_t cols,
                         std::span<const ColouredTree> trees) {
  std::vector<Branch> branches;
  std::uint32_t cells = 0;
  for (const ColouredTree& coloured : trees) {
    all.for_each(coloured.tree, [&](RouterAt at, TreeCell cell) {
      for (unsigned port = 0; port < kPorts; ++port) {
        if (!cell.leaves_by(static_cast<Port>(port))) continue;
        const auto router = static_cast<std::uint32_t>(at.row * cols + at.col);
        branches.push_back({router * kPorts + port, coloured.colour, cells, cell.destination()});
      }
      ++cells;
    });
  }
  // The queues of an output are consecutive, ordered by colour. No two branches of a phase have the
  // same output and colour.
  std::sort(branches.begin(), branches.end(), [](const Branch& a, const Branch& b) {
    return std::pair(a.way, a.colour) < std::pair(b.way, b.colour);
  });

  std::vector<QueueAt> queue_of(std::size_t{cells} * kPorts);
  for (std::uint32_t queue = 0; queue < branches.size(); ++queue) {
    const Branch& branch = branches[queue];
    if (ways_.empty() || ways_.back() != branch.way) {
      ways_.push_back(branch.way);
      first_queue_.push_back(queue);
    }
    queue_of[std::size_t{branch.cell} * kPorts + branch.way % kPorts] = {
        queue, static_cast<std::uint32_t>(ways_.size() - 1)};
    destination_.push_back(branch.destination);
  }

  // The queues of each cell are one run of targets_, entered from the queue of the previous cell.
  std::vector<Run> run_of(cells);
  following_.resize(branches.size());
  std::uint32_t first_cell = 0;
  for (const ColouredTree& coloured : trees) {
    std::uint32_t cell_number = first_cell;
    all.for_each(coloured.tree, [&](RouterAt, TreeCell cell) {
      run_of[cell_number].begin = static_cast<std::uint32_t>(targets_.size());
      for (unsigned port = 0; port < kPorts; ++port) {
        if (!cell.leaves_by(static_cast<Port>(port))) continue;
        targets_.push_back(queue_of[std::size_t{cell_number} * kPorts + port]);
      }
      run_of[cell_number].count =
          static_cast<std::uint32_t>(targets_.size()) - run_of[cell_number].begin;
      ++cell_number;
    });
    cell_number = first_cell;
    all.for_each(coloured.tree, [&](RouterAt at, TreeCell cell) {
      for (unsigned port = 0; port < kPorts - 1; ++port) {
        if (!cell.leaves_by(static_cast<Port>(port))) continue;
        const std::size_t next =
            first_cell + all.number(coloured.tree, neighbour(at, static_cast<Port>(port)));
        following_[queue_of[std::size_t{cell_number} * kPorts + port].queue] = run_of[next];
      }
      ++cell_number;
    });
    sources_.push_back(run_of[first_cell + all.number(coloured.tree, all.source(coloured.tree))]);
    first_cell = cell_number;
  }
}

std::vector<RouterOutput> StaticPhase::outputs() const {
  std::vector<RouterOutput> outputs(ways_.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    outputs[o].first_queue = first_queue_[o];
    outputs[o].to_ramp = ways_[o] % kPorts == static_cast<unsigned>(Port::kRamp);
  }
  return outputs;
}

}  // namespace tessera::fabric

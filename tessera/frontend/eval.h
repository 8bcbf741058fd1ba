// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/frontend/tensor.h"
#include "tessera/graph/graph.h"
#include "tessera/target/machine.h"

namespace tessera::frontend {

/// When layouts and work are planned (plan/model/) instead of cut by size (run/default_layouts.h).
/// A plan takes seconds, and its gain is time on the machine, not in this process.
enum class Planning : std::uint8_t {
  kWhereNeeded,  ///< where a single op does not fit the memory of the machine otherwise
  kNever,
  kAlways,
};

struct EvalOptions {
  const Machine* machine = nullptr;  ///< null: wse2
  Planning planning = Planning::kWhereNeeded;
  double plan_seconds = 10;  ///< for the search of a plan
  int threads = 0;           ///< 0: one per core
  bool checked = false;      ///< reading what was never written on the device is an error
  bool predict = false;      ///< Evaluation::cycles also without a plan, which takes time
  /// Asked before each op: true ends the evaluation with kIo "interrupted".
  std::function<bool()> stops = {};
};

/// What an evaluation did.
struct Evaluation {
  struct Memory {
    std::string space;
    std::int64_t peak_bytes = 0;  ///< of each of its parts
  };
  std::string machine;
  bool is_planned = false;       ///< or a part of it
  std::int64_t ops = 0;          ///< that were computed; 0 if all was at hand
  std::int64_t parts = 0;        ///< runs, one after the other
  double seconds = 0;            ///< in this process, from the first input to the last output
  std::optional<double> cycles;  ///< predicted, of the machine's clock
  std::int64_t crossing_bytes = 0;
  std::vector<Memory> memory;
};

/// Makes sure that these tensors have elements. What they are made of is computed on a device in
/// this process that has the memories of the machine, every part once and nothing that has elements
/// already. Layouts that tensors were given are kept; others are chosen as `planning` says.
///
/// All of it runs at once if it fits. Else the ops are divided into halves, again and again, which
/// run one after the other: weights come from the host when their part begins, and what a later
/// part needs waits there. The halves that are needed are counted (Evaluation::parts); predicted
/// cycles are sums, without what crosses to the host in between.
/// Law: elements are those that the ops define, whatever the layouts, up to the order of sums.
/// Errors: kDoesNotFit for an op whose operands and results are too large, kOutOfMemory for more
/// than this host has, and what run/ and plan/ refuse. Tensors then are as before, but for those
/// parts that were computed and are held.
Result<Evaluation> eval(const std::vector<Tensor>& tensors, const EvalOptions& options = {});

/// What is not evaluated as a graph whose outputs are these tensors, in their order; everything
/// else is a parameter or constant with its elements.
Result<graph::Graph> graph_of(const std::vector<Tensor>& tensors, std::string name = "");

}  // namespace tessera::frontend

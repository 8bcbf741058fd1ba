// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/relayout/program.h"
#include "tessera/relayout/rounding.h"

namespace tessera::relayout {

/// Which kind of store instruction writes the destination. Streaming stores do not read a line
/// before they write it, which is faster for data larger than the caches, but they send the line to
/// memory, which is slower for data that fits in the caches.
enum class Stores : std::uint8_t { kAuto, kPlain, kStreaming };

struct PlanOptions {
  Stores stores = Stores::kAuto;
  /// What happens to values that the destination type cannot represent.
  Rounding rounding = Rounding::kChecked;
  /// This move is a small part of a larger move whose other parts read and write the same cache
  /// lines soon after. All nests of the program are then executed together, row by row.
  bool part = false;
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

/// One of several parts of a move, each with about the same work.
struct PlanPart {
  int number = 0;
  int parts = 1;
};

/// A program prepared to run: loops fused, ordered and blocked for the caches, a kernel chosen for
/// each nest. Immutable and cheap to copy; several threads may run one plan at the same time.
///
/// Law: run() leaves in `to` the same bytes as running the program's fills and nests as plain
/// loops, for every number of threads and every instruction set.
class Plan {
 public:
  static Result<Plan> make(Program program, const PlanOptions& options = {});

  const Program& program() const;
  /// One line for each copy: the name of its kernel, a colon, and its blocks. For diagnostics and
  /// tests.
  std::vector<std::string> describe() const;

  /// Runs the move. The buffers must have exactly the sizes of the program's memories (any
  /// alignment) and must not overlap. Errors: kOutOfRange for a buffer of another size; unless it
  /// saturates, kOutOfRange for a value that the destination type cannot represent, with the reason
  /// number_does_not_fit (place, slot, value, dtype). The contents of `to` are then unspecified.
  ///
  /// A caller that wants to be able to stop runs one part after the other, from number 0 on. Law:
  /// all parts together leave the same bytes as run() without a part.
  Status run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool,
             const PlanPart& part = {}) const;

  /// How many numbers of a source are too large for the destination's type, or not a number: those
  /// that Rounding::kSaturate clips. Reads the source once; elements whose type stays have none.
  std::int64_t clipped(std::span<const std::byte> from) const;

 private:
  struct Body;
  explicit Plan(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace tessera::relayout

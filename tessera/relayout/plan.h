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

/// Which stores write the destination. Streaming ones do not read the line before it is written,
/// which wins beyond the caches, and push it out to memory, which loses inside them.
enum class Stores : std::uint8_t { kAuto, kPlain, kStreaming };

struct PlanOptions {
  Stores stores = Stores::kAuto;
  /// What happens to values that the destination type cannot hold.
  Rounding rounding = Rounding::kChecked;
  /// This is a small part of a larger move, whose other parts read and write the same lines soon
  /// after: all of its nests are gone through at once, row by row.
  bool part = false;
  friend bool operator==(const PlanOptions&, const PlanOptions&) = default;
};

/// A program made ready to run: loops fused, ordered and blocked for the caches, a kernel chosen
/// for each nest. Immutable and cheap to copy; one plan may run on many threads at once.
///
/// Law: run() leaves `to` as running the program's fills and nests as plain loops would, whatever
/// the number of threads and the instruction set.
class Plan {
 public:
  static Result<Plan> make(Program program, const PlanOptions& options = {});

  const Program& program() const;
  /// One line for each copy: which kernel, which blocks. For people and tests.
  std::vector<std::string> describe() const;

  /// Moves. The buffers have exactly the bytes of the program's memories (any alignment) and do not
  /// overlap. Errors: kOutOfRange for a buffer of another size; with Rounding::kChecked kOutOfRange
  /// for a value that the destination type cannot hold, after which `to` holds no promise.
  Status run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) const;

 private:
  struct Body;
  explicit Plan(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace tessera::relayout

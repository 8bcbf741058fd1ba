// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/relayout/jobs/combine.h"
#include "tessera/relayout/program.h"

namespace tessera::relayout {

/// A program prepared to combine elements instead of copying them. Immutable and cheap to copy;
/// several threads may run it at the same time if their destinations do not overlap.
///
/// Law: run() sets every destination position of the program's copies to combine(old value, value
/// of the source position) with the Combiner of the reduction (combine.h), and changes nothing
/// else. The result does not depend on the number of threads.
class Accumulate {
 public:
  /// The copies of the program must not write a position twice. Errors: those of combiner_of for
  /// the element type of the memories; kNotSupported when the two memories have different types, or
  /// when the program has fills.
  static Result<Accumulate> make(Program program, Reduction reduction);

  const Program& program() const;

  /// The buffers must have exactly the sizes of the program's memories (any alignment) and must not
  /// overlap. Error kOutOfRange for a buffer of another size.
  Status run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) const;

 private:
  struct Body;
  explicit Accumulate(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace tessera::relayout

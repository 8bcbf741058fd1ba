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

/// A program made ready to combine instead of to copy. Immutable and cheap to copy; it may run on
/// many threads at once, on destinations that do not overlap.
///
/// Law: run() leaves every destination spot of the program's copies as
/// combine(what it held, the source spot) with the Combiner of the reduction (combine.h), and
/// touches nothing else, whatever the number of threads.
class Accumulate {
 public:
  /// The copies write no spot twice. Errors: those of combiner_of for the type of the memories;
  /// kNotSupported when these differ, or when the program has fills.
  static Result<Accumulate> make(Program program, Reduction reduction);

  const Program& program() const;

  /// The buffers have exactly the bytes of the program's memories (any alignment) and do not
  /// overlap. Error kOutOfRange for a buffer of another size.
  Status run(std::span<const std::byte> from, std::span<std::byte> to, ThreadPool& pool) const;

 private:
  struct Body;
  explicit Accumulate(std::shared_ptr<const Body> body) : body_(std::move(body)) {}
  std::shared_ptr<const Body> body_;
};

}  // namespace tessera::relayout

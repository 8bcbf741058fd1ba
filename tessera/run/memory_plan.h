// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/run/execution.h"

namespace tessera::run {

/// What each part of its memory needs of a buffer, aligned. kUnknownName for a memory that the
/// machine does not have; those of target::fits.
Result<std::int64_t> bytes_of(const Buffer& buffer, const Machine& machine);

/// Whether each place has a memory of its own for the buffer. Then only its `places` need any.
bool is_in_places(const Buffer& buffer, const Machine& machine);

/// Gives every buffer of an execution its bytes and its offset, and states what each memory needs.
/// In a memory of places, each place needs room for the buffers that it has, and two buffers on
/// places of their own may have the same bytes. The places of a buffer have all slots that its
/// layout allocates, and the same offset.
/// Errors: kUnknownName for a memory that the machine does not have; kDoesNotFit, which names the
/// place, the moment and what is live then; those of memory::solve and memory::lock_pairs.
Status plan_memory(Execution& execution);

}  // namespace tessera::run

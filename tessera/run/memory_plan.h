// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/base/result.h"
#include "tessera/run/execution.h"

namespace tessera::run {

/// What each part of its memory needs of a buffer, aligned. kUnknownName for a memory that the
/// machine does not have; those of target::fits.
Result<std::int64_t> bytes_of(const Buffer& buffer, const Machine& machine);

/// Gives every buffer of an execution its bytes and its offset, and states what each memory needs.
/// Every place of the mesh has all slots that a layout allocates, so one plan serves all places.
/// Errors: kUnknownName for a memory that the machine does not have; kDoesNotFit, which names the
/// moment and what is live then; those of memory::solve.
Status plan_memory(Execution& execution);

}  // namespace tessera::run

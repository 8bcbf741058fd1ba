// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/relayout/casts/cast.h"
#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// Adds the jobs that move a nest of elements (steps in elements) and cast them on the way, block
/// by block: what both sides keep near each other is cast into a buffer that stays in the caches,
/// in the order of the source, and moved from there like any other nest.
/// The source may be of any type; elements of the destination fill bytes.
void add_cast_jobs(FlatNest nest, const Cast& cast, bool streaming, Jobs& jobs);

/// Whether `nest` fills the groups of `group` neighbouring elements of the destination that it
/// touches whole, one after another.
bool fills_groups(const FlatNest& nest, std::int64_t group);

/// The opposite, for a destination of block floats whose groups of 16 the nest fills: elements are
/// moved into a buffer in the order of the destination and cast from there. Elements of the source
/// fill bytes.
void add_group_cast_jobs(FlatNest nest, const Cast& cast, Jobs& jobs);

}  // namespace tessera::relayout

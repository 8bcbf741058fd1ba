// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tessera/relayout/casts/cast.h"
#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// Adds the jobs that move a nest of elements (steps in elements) and cast them, block by block.
/// Elements that are close together on both sides are cast in source order into a buffer that stays
/// in the caches, and moved from there like any other nest. The source may have any type; elements
/// of the destination must fill whole bytes.
void add_cast_jobs(FlatNest nest, const Cast& cast, bool streaming, Jobs& jobs);

/// Whether `nest` completely fills every group of `group` adjacent destination elements that it
/// touches, one group after another.
bool fills_groups(const FlatNest& nest, std::int64_t group);

/// The opposite order, for a destination of block floats whose groups of 16 the nest fills:
/// elements are moved into a buffer in destination order and cast from there. Elements of the
/// source must fill whole bytes.
void add_group_cast_jobs(FlatNest nest, const Cast& cast, Jobs& jobs);

}  // namespace tessera::relayout

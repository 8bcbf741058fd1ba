// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// For nests that keep blocks of at most 256 bytes together and only change the order inside, in
/// the same way in all blocks: odd-even, small transposes side by side. Null for other nests, and
/// if too few blocks are contiguous to fill cache lines. Steps in bytes.
/// Example: 16 elements of 4 bytes, even ones first: axes n (64 -> 64), 2 (4 -> 32), 8 (8 -> 4).
std::unique_ptr<const Job> make_permute_job(const FlatNest& nest);

/// For nests that interleave or deinterleave 2, 3 or 4 streams of elements: channels first and
/// last. Null for other nests, and if streams are short. Steps in bytes.
/// Example: planes of p floats to RGB: axes p (4 -> 12), 3 (4·p -> 4).
std::unique_ptr<const Job> make_interleave_job(const FlatNest& nest);

}  // namespace tessera::relayout

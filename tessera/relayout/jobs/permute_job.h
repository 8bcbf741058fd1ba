// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tessera/relayout/jobs/job.h"

namespace tessera::relayout {

/// Nests that keep blocks of at most 256 bytes together and only change the order inside, the same
/// in all of them: odd-even, small transposes side by side. Null for other nests, and where too few
/// blocks follow each other to fill lines. Steps in bytes.
/// Example: 16 elements of 4 bytes, even ones first: axes n (64 -> 64), 2 (4 -> 32), 8 (8 -> 4).
std::unique_ptr<const Job> make_permute_job(const FlatNest& nest);

/// Nests that interleave 2, 3 or 4 streams of elements, or take them apart: channels first and
/// last. Null for other nests, and where streams are short. Steps in bytes.
/// Example: planes of p floats to RGB: axes p (4 -> 12), 3 (4·p -> 4).
std::unique_ptr<const Job> make_interleave_job(const FlatNest& nest);

}  // namespace tessera::relayout

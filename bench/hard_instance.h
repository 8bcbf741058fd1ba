// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/memory/problem.h"

/// bench/: problems for benchmarks and tests that are made from a few numbers, the same on every
/// machine, so that none have to be kept.
namespace tessera::bench {

/// What a hard instance is made from. The defaults give the middle of the public "challenging"
/// family of MiniMalloc (github.com/google/minimalloc): 154 to 454 buffers of whole KiB, about half
/// as many distinct births and deaths, 16 to 87 buffers alive at one moment, and a memory that is
/// full, or nearly so, most of the time.
struct HardOptions {
  std::int64_t buffers = 200;  ///< up to 2^20
  std::uint64_t seed = 1;
  std::int64_t capacity = 1 << 20;  ///< up to 2^20 grains
  std::int64_t span = 1 << 20;      ///< moments, up to 2^20 grains
  std::int64_t grain = 1024;        ///< sizes, births and deaths are multiples of this
  /// The memory is first cut into so many, each for the whole span, before lives are cut; the more
  /// of them, the more buffers and the longer lives at one moment. Up to 1024.
  std::int64_t layers = 4;
  std::int64_t time_percent = 50;  ///< of the cuts, that part lives and not memory
  /// Of the cuts, into four that turn round a fifth: no straight line parts such a plan.
  std::int64_t pinwheel_percent = 0;
  /// Cuts near the middle of the largest piece, so that all are alike, about `layers` of them alive
  /// at one moment.
  bool even = false;
  std::int64_t full_percent = 50;    ///< of the sections, at which every byte is used; 0 for none
  std::int64_t top_permille = 1000;  ///< of the capacity, that live at most when nothing is full
  std::int64_t waste_permille = 30;  ///< of the rectangle, that no buffer uses; at most about this
};

/// A problem that is a dissected rectangle of span x capacity: every buffer is a piece of it, from
/// which some were then made smaller or their lives shorter.
///
/// Laws: `offsets` is a plan of `problem` within `capacity`. With `full_percent` above 0 its lowest
/// peak is `capacity`, which is also its max_live. The same options give the same problem
/// everywhere.
struct HardInstance {
  memory::Problem problem;
  std::vector<std::int64_t> offsets;
  std::int64_t capacity = 0;
};

/// At least one buffer, and as many as were asked for where the rectangle has that many grains.
HardInstance hard_instance(const HardOptions& options);

/// Options for one instance like each of the six of the public family that are shared most: their
/// numbers of buffers, of births and deaths, of buffers alive at once, and how much is in use.
struct NamedHardOptions {
  std::string_view name;
  HardOptions options;
};
std::vector<NamedHardOptions> hard_family(std::uint64_t seed);

}  // namespace tessera::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/memory/problem.h"

/// bench/: problems for benchmarks and tests. In: a few numbers. Out: a problem, the same on every
/// machine, so that no files have to be kept.
namespace tessera::bench {

/// The parameters of a hard instance. The defaults give the middle of the public "challenging"
/// family of MiniMalloc (github.com/google/minimalloc): 154 to 454 buffers of whole KiB, about half
/// as many distinct births and deaths, 16 to 87 buffers live at one moment, and a memory that is
/// full, or nearly full, most of the time.
struct HardOptions {
  std::int64_t buffers = 200;  ///< up to 2^20
  std::uint64_t seed = 1;
  std::int64_t capacity = 1 << 20;  ///< up to 2^20 grains
  std::int64_t span = 1 << 20;      ///< moments, up to 2^20 grains
  std::int64_t grain = 1024;        ///< sizes, births and deaths are multiples of this
  /// The memory is first cut into this many layers, each for the whole span, before lifetimes are
  /// cut. More layers give more buffers and longer lifetimes at one moment. Up to 1024.
  std::int64_t layers = 4;
  std::int64_t time_percent = 50;  ///< share of the cuts that divide lifetimes instead of memory
  /// Share of the cuts into four pieces around a fifth: no straight line divides such a plan.
  std::int64_t pinwheel_percent = 0;
  /// Cuts near the middle of the largest piece, so that all pieces are alike, with about `layers`
  /// of them live at one moment.
  bool even = false;
  std::int64_t full_percent = 50;    ///< share of the sections at which every byte is used; 0 for
                                     ///< none
  std::int64_t top_permille = 1000;  ///< maximum live share of the capacity when nothing is full
  std::int64_t waste_permille = 30;  ///< share of the rectangle that no buffer uses; at most about
                                     ///< this
};

/// A problem made from a dissected rectangle of span x capacity: every buffer is a piece of it.
/// Some pieces are then made smaller, or their lifetimes shorter.
///
/// Laws: `offsets` is a plan of `problem` within `capacity`. With `full_percent` above 0 its lowest
/// peak is `capacity`, which is also its max_live. The same options give the same problem
/// everywhere.
struct HardInstance {
  memory::Problem problem;
  std::vector<std::int64_t> offsets;
  std::int64_t capacity = 0;
};

/// At least one buffer, and as many as requested if the rectangle has that many grains.
HardInstance hard_instance(const HardOptions& options);

/// Options for one instance similar to each of the six instances of the public family that are
/// shared most: their numbers of buffers, of births and deaths, of buffers live at once, and how
/// much is in use.
struct NamedHardOptions {
  std::string_view name;
  HardOptions options;
};
std::vector<NamedHardOptions> hard_family(std::uint64_t seed);

}  // namespace tessera::bench

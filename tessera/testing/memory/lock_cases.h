// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/memory/lock_step/lock_step.h"
#include "tessera/testing/generate.h"

namespace tessera::test {

/// Buffers and their sizes on each class of places.
struct LockCase {
  memory::Problem lives;
  memory::ClassSizes sizes;

  memory::Problem on(std::size_t c) const;
  memory::Problem with_largest_sizes() const;
  std::int64_t lower_bound() const;  ///< the largest bound of a class
  std::string description() const;
};

/// That many buffers on one to four classes: absent from some, aligned, fixed (perhaps on the same
/// bytes), parts of each other.
LockCase random_lock_case(Dice& dice, std::int64_t buffers);

/// Many buffers on a few classes, each absent from some and a little smaller on others.
LockCase lock_crowd(std::uint64_t seed, std::int64_t buffers);

/// Whether the fixed buffers are disjoint on every class.
bool are_fixed_apart(const LockCase& the_case);

/// The peak of the lowest plan in lock step, found by trying every offset of every buffer that is
/// not part of another, with the rules of problem.h checked on one class after the other. Nothing
/// when fixed buffers overlap.
std::optional<std::int64_t> lowest_in_lock_step(const LockCase& the_case);

/// Expects what holds for every answer: a plan on every class, with that peak, and correct bounds.
void expect_lock_step(const LockCase& the_case, const memory::LockStep& plan);

}  // namespace tessera::test

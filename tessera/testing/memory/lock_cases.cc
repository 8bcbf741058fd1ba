// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/memory/lock_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/memory/solver/packing.h"
#include "tessera/memory/validate.h"

namespace tessera::test {

using memory::Alias;
using memory::Buffer;
using memory::Problem;

namespace {

class Brute {
 public:
  explicit Brute(const LockCase& the_case) : case_(the_case) {
    const std::vector<Buffer>& buffers = case_.lives.buffers;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      std::size_t root = i;
      std::int64_t delta = 0;
      while (buffers[root].alias) {
        delta += buffers[root].alias->delta;
        root = buffers[root].alias->of;
      }
      auto family = std::find_if(families_.begin(), families_.end(),
                                 [&](const Family& one) { return one.root == root; });
      if (family == families_.end()) {
        families_.push_back({root, INT64_MAX, INT64_MIN, 1, {}, {}});
        family = families_.end() - 1;
        family->bytes.assign(case_.sizes.size(), 0);
      }
      family->birth = std::min(family->birth, buffers[i].lower);
      family->death = std::max(family->death, buffers[i].upper);
      family->alignment = std::lcm(family->alignment, buffers[i].alignment);
      if (buffers[i].fixed) family->fixed = *buffers[i].fixed - delta;
      for (std::size_t c = 0; c < case_.sizes.size(); ++c) {
        const std::int64_t size = case_.sizes[c][i];
        if (size > 0) family->bytes[c] = std::max(family->bytes[c], delta + size);
      }
    }
    std::sort(families_.begin(), families_.end(), [](const Family& a, const Family& b) {
      return std::pair(!a.fixed, a.root) < std::pair(!b.fixed, b.root);
    });
    at_.assign(families_.size(), 0);
  }

  bool are_fixed_apart() {
    for (std::size_t f = 0; f < families_.size() && families_[f].fixed; ++f) {
      at_[f] = *families_[f].fixed;
      for (std::size_t g = 0; g < f; ++g) {
        if (!are_apart(f, g)) return false;
      }
    }
    return true;
  }

  std::int64_t lowest() {
    std::int64_t peak = 0;
    while (!try_from(0, peak)) ++peak;
    return peak;
  }

 private:
  struct Family {
    std::size_t root;
    std::int64_t birth, death, alignment;
    std::optional<std::int64_t> fixed;
    std::vector<std::int64_t> bytes;  // by class
  };

  bool are_apart(std::size_t a, std::size_t b) const {
    const Family& one = families_[a];
    const Family& two = families_[b];
    if (one.birth >= two.death || two.birth >= one.death) return true;
    for (std::size_t c = 0; c < one.bytes.size(); ++c) {
      if (one.bytes[c] == 0 || two.bytes[c] == 0) continue;
      if (at_[a] < at_[b] + two.bytes[c] && at_[b] < at_[a] + one.bytes[c]) return false;
    }
    return true;
  }
  bool try_from(std::size_t f, std::int64_t peak) {
    if (f == families_.size()) return true;
    const Family& family = families_[f];
    const std::int64_t size = *std::max_element(family.bytes.begin(), family.bytes.end());
    if (size == 0) return try_from(f + 1, peak);
    for (std::int64_t at = 0; at + size <= peak; at += family.alignment) {
      if (family.fixed && at != *family.fixed) continue;
      at_[f] = at;
      bool fits = true;
      for (std::size_t g = 0; g < f && fits; ++g) fits = are_apart(f, g);
      if (fits && try_from(f + 1, peak)) return true;
    }
    return false;
  }

  const LockCase& case_;
  std::vector<Family> families_;
  std::vector<std::int64_t> at_;
};

}  // namespace

Problem LockCase::on(std::size_t c) const {
  Problem problem = lives;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) problem.buffers[i].size = sizes[c][i];
  return problem;
}

Problem LockCase::with_largest_sizes() const {
  Problem problem = on(0);
  for (const std::vector<std::int64_t>& of_class : sizes) {
    for (std::size_t i = 0; i < of_class.size(); ++i) {
      problem.buffers[i].size = std::max(problem.buffers[i].size, of_class[i]);
    }
  }
  return problem;
}

std::int64_t LockCase::lower_bound() const {
  std::int64_t bound = 0;
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    bound = std::max(bound, memory::pack(on(c))->lower_bound);
  }
  return bound;
}

std::string LockCase::description() const {
  std::string out;
  for (std::size_t i = 0; i < lives.buffers.size(); ++i) {
    const Buffer& buffer = lives.buffers[i];
    out += cat("\n[", buffer.lower, ", ", buffer.upper, ") alignment ", buffer.alignment);
    if (buffer.fixed) out += cat(" fixed ", *buffer.fixed);
    if (buffer.hint) out += cat(" hint ", *buffer.hint);
    if (buffer.alias) out += cat(" part of ", buffer.alias->of, " at ", buffer.alias->delta);
    out += " sizes";
    for (const std::vector<std::int64_t>& of_class : sizes) out += cat(" ", of_class[i]);
  }
  return out;
}

LockCase random_lock_case(Dice& dice, std::int64_t buffers) {
  LockCase out;
  const std::int64_t moments = dice.between(1, 5);
  const int absent = static_cast<int>(dice.between(0, 60));
  const bool has_fixed = dice.chance(30);
  for (std::int64_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.lower = dice.below(moments);
    buffer.upper = buffer.lower + dice.between(1, moments);
    if (i > 0 && dice.chance(12)) {
      buffer.alias = Alias{static_cast<std::size_t>(dice.below(i)), dice.between(0, 2)};
    } else {
      if (dice.chance(25)) buffer.alignment = dice.between(2, 4);
      if (has_fixed && dice.chance(40)) buffer.fixed = buffer.alignment * dice.between(0, 2);
      if (dice.chance(10)) buffer.hint = dice.between(0, 8);
    }
    out.lives.buffers.push_back(buffer);
  }
  out.sizes.resize(static_cast<std::size_t>(dice.between(1, 4)));
  const std::int64_t most = dice.between(1, 5);
  for (std::vector<std::int64_t>& of_class : out.sizes) {
    for (std::int64_t i = 0; i < buffers; ++i) {
      of_class.push_back(dice.chance(absent) ? 0 : dice.between(1, most));
    }
  }
  return out;
}

LockCase lock_crowd(std::uint64_t seed, std::int64_t buffers) {
  Dice dice(seed * 1000 + static_cast<std::uint64_t>(buffers));
  LockCase out;
  for (std::int64_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.lower = dice.below(buffers);
    buffer.upper = buffer.lower + dice.between(1, 12);
    out.lives.buffers.push_back(buffer);
  }
  out.sizes.resize(static_cast<std::size_t>(dice.between(3, 8)));
  std::vector<std::int64_t> largest;
  for (std::int64_t i = 0; i < buffers; ++i) largest.push_back(dice.between(4, 60));
  for (std::vector<std::int64_t>& of_class : out.sizes) {
    for (const std::int64_t size : largest) {
      const bool is_absent = dice.chance(50);
      const std::int64_t less = dice.chance(50) ? 0 : dice.between(0, 4);
      of_class.push_back(is_absent ? 0 : std::max<std::int64_t>(1, size - less));
    }
  }
  return out;
}

bool are_fixed_apart(const LockCase& the_case) { return Brute(the_case).are_fixed_apart(); }

std::optional<std::int64_t> lowest_in_lock_step(const LockCase& the_case) {
  Brute brute(the_case);
  if (!brute.are_fixed_apart()) return std::nullopt;
  return brute.lowest();
}

void expect_lock_step(const LockCase& the_case, const memory::LockStep& plan) {
  std::int64_t peak = 0;
  for (std::size_t c = 0; c < the_case.sizes.size(); ++c) {
    const Problem problem = the_case.on(c);
    const std::vector<memory::Finding> findings =
        memory::validate(problem, plan.offsets, plan.peak);
    EXPECT_TRUE(findings.empty()) << findings[0].message;
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      if (the_case.sizes[c][i] > 0) peak = std::max(peak, plan.offsets[i] + the_case.sizes[c][i]);
    }
  }
  EXPECT_EQ(plan.peak, peak);
  EXPECT_GE(plan.peak, plan.proven_bound);
  EXPECT_EQ(plan.optimal, plan.peak == plan.proven_bound);
}

}  // namespace tessera::test

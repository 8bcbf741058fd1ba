// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "tessera/relayout/program.h"
#include "tessera/relayout/verify.h"

/// Programs that are made wrong on purpose, and what verify() finds in them.
namespace tessera::test {

/// What verify() finds; the test fails if verify() itself fails.
inline std::vector<relayout::Finding> findings(
    const relayout::Program& program, const Placement& from, const Placement& to,
    relayout::PaddingRule rule = relayout::PaddingRule::kPromised) {
  const Result<std::vector<relayout::Finding>> found = relayout::verify(program, from, to, rule);
  EXPECT_TRUE(found.ok()) << (found.ok() ? "" : found.error().message);
  return found.ok() ? *found : std::vector<relayout::Finding>();
}

inline bool has(const std::vector<relayout::Finding>& findings, relayout::Flaw flaw) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const relayout::Finding& finding) { return finding.flaw == flaw; });
}

/// The program with other factors in copy number `copy`.
inline relayout::Program with_factors(relayout::Program program, std::size_t copy,
                                      std::vector<Factor> factors, PositionPair base) {
  const Refinement& old = program.copies[copy];
  program.copies[copy] =
      Refinement(old.shape(), old.mesh_a(), old.mesh_b(), base, std::move(factors));
  return program;
}

}  // namespace tessera::test

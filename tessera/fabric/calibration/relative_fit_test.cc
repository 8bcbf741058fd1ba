// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/relative_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tessera::fabric {
namespace {

// Terms of the transfers below.
enum : std::int32_t { kOverhead, kIssue, kPerByte, kHop, kTerms };
const std::vector<double> kTrue = {110, 22, 1 / 31.0, 9};

/// overhead + hops·hop + max((n - 1)·issue, n·b·per_byte).
CycleForm transfer(double n, double bytes, double hops) {
  CycleForm form;
  form.always.parts = {{kOverhead, 1}, {kHop, hops}};
  form.alternatives = {{0, {{kIssue, n - 1}}}, {0, {{kPerByte, n * bytes}}}};
  return form;
}

/// The definition, term by term.
double cycles(double n, double bytes, double hops, const std::vector<double>& terms) {
  return terms[kOverhead] + hops * terms[kHop] +
         std::max((n - 1) * terms[kIssue], n * bytes * terms[kPerByte]);
}

/// n = 1, 4, .., 256; 64 bytes to 64 KB; 12 and 22 hops. `noise` is the standard deviation of a
/// relative error.
std::vector<Observation> table(const std::vector<double>& terms, double noise, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> error(0, noise > 0 ? noise : 1);
  std::vector<Observation> list;
  for (double n = 1; n <= 256; n *= 4) {
    for (double bytes = 64; bytes <= 65536; bytes *= 2) {
      for (const double hops : {12.0, 22.0}) {
        const double exact = cycles(n, bytes, hops, terms);
        list.push_back({transfer(n, bytes, hops), exact * (noise > 0 ? 1 + error(random) : 1)});
      }
    }
  }
  return list;
}

void expect_terms(const RelativeFit& fit, const std::vector<double>& terms, double tolerance) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    EXPECT_NEAR(fit.terms[i] / terms[i], 1, tolerance) << "term " << i << ": " << fit.terms[i];
  }
}

TEST(CycleForm, IsTheSumOfItsPartsAndTheLargestAlternative) {
  for (const double n : {1.0, 2.0, 77.0}) {
    for (const double bytes : {1.0, 700.0, 8192.0}) {
      EXPECT_DOUBLE_EQ(transfer(n, bytes, 5).at(kTrue), cycles(n, bytes, 5, kTrue));
    }
  }
  EXPECT_EQ(CycleForm{}.at({}), 0);
  EXPECT_EQ(CycleForm{}.largest({}), nullptr);
  CycleForm constants;
  constants.always.constant = 5;
  constants.alternatives = {{2, {}}, {3, {}}, {3, {}}};
  EXPECT_EQ(constants.at({}), 8);
  EXPECT_EQ(constants.largest({}), &constants.alternatives[1]);
}

TEST(RelativeFit, FindsTheTermsOfExactObservations) {
  const std::vector<double> nothing(kTerms, 0);
  for (const std::vector<double>& terms :
       {kTrue, {1, 100, 1, 1}, {1000, 1, 0.001, 0.5}, {3, 50, 0.25, 40}}) {
    const RelativeFit fit = fit_relative(table(terms, 0, 0), nothing);
    expect_terms(fit, terms, 1e-6);
    EXPECT_LT(fit.mean_error, 1e-6);
    EXPECT_EQ(fit.is_determined, std::vector<bool>(kTerms, true));
  }
}

TEST(RelativeFit, FindsTheTermsOfNoisyObservations) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const RelativeFit fit = fit_relative(table(kTrue, 0.02, seed), std::vector<double>(kTerms, 0));
    EXPECT_NEAR(fit.terms[kIssue], kTrue[kIssue], 0.4) << seed;
    EXPECT_NEAR(1 / fit.terms[kPerByte], 31, 0.4) << seed;
    // 10 hops are apart in the table, about 90 of 300 cycles.
    EXPECT_NEAR(fit.terms[kHop], kTrue[kHop], 1) << seed;
    EXPECT_NEAR(fit.terms[kOverhead] + 17 * fit.terms[kHop], 110 + 17 * 9, 6) << seed;
    EXPECT_LT(fit.mean_error, 0.02) << seed;
  }
}

TEST(RelativeFit, IsNotMovedByOutliers) {
  std::vector<Observation> observations = table(kTrue, 0, 0);
  for (std::size_t i = 0; i < observations.size(); i += 7) observations[i].cycles *= 3;
  const RelativeFit fit = fit_relative(observations, std::vector<double>(kTerms, 0));
  expect_terms(fit, kTrue, 0.01);
}

TEST(RelativeFit, GivesTheSameResultAgain) {
  const std::vector<Observation> observations = table(kTrue, 0.05, 3);
  const std::vector<double> nothing(kTerms, 0);
  EXPECT_EQ(fit_relative(observations, nothing).terms, fit_relative(observations, nothing).terms);
}

TEST(RelativeFit, KeepsWhatTheObservationsDoNotDetermine) {
  // One distance only: overhead and hops cannot be told apart, and the hop comes last.
  std::vector<Observation> one_distance;
  for (const Observation& o : table(kTrue, 0, 0)) {
    if (o.form.always.parts[1].factor == 12) one_distance.push_back(o);
  }
  RelativeFit fit = fit_relative(one_distance, std::vector<double>{0, 0, 0, 8});
  EXPECT_EQ(fit.is_determined, (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(fit.terms[kHop], 8);
  EXPECT_NEAR(fit.terms[kOverhead], 110 + 12 * (9 - 8), 1e-6);

  // Single transactions do not depend on the issue cycles.
  std::vector<Observation> single;
  for (const Observation& o : table(kTrue, 0, 0)) {
    if (o.form.alternatives[0].parts[0].factor == 0) single.push_back(o);
  }
  fit = fit_relative(single, std::vector<double>{0, 17, 0, 0});
  EXPECT_EQ(fit.is_determined, (std::vector<bool>{true, false, true, true}));
  EXPECT_EQ(fit.rows[kIssue], 0);
  EXPECT_EQ(fit.terms[kIssue], 17);
  EXPECT_NEAR(fit.terms[kHop], 9, 1e-6);

  // Two rows determine nothing.
  const std::vector<Observation> all = table(kTrue, 0, 0);
  fit = fit_relative(std::span(all).first(2), std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(fit.is_determined, std::vector<bool>(kTerms, false));
  EXPECT_EQ(fit.terms, (std::vector<double>{1, 2, 3, 4}));
  fit = fit_relative({}, std::vector<double>{1, 2});
  EXPECT_EQ(fit.terms, (std::vector<double>{1, 2}));
}

TEST(RelativeFit, HasNoNegativeTerm) {
  // More hops take less time here: 0 is the nearest that a hop can be.
  std::vector<Observation> list;
  for (double hops = 1; hops <= 8; ++hops) list.push_back({transfer(1, 64, hops), 300 - hops});
  const RelativeFit fit = fit_relative(list, std::vector<double>(kTerms, 0));
  EXPECT_EQ(fit.terms[kHop], 0);
  EXPECT_LT(fit.mean_error, 0.02);
}

}  // namespace
}  // namespace tessera::fabric

// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/calibration/calibrate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tessera/testing/fabric/naive_torus.h"
#include "tessera/testing/fabric/noc_machines.h"

namespace tessera::fabric {
namespace {

using target::Mechanism;
using test::Router;

constexpr Side kOne = Side::kOne;
constexpr Side kAll = Side::kAll;

/// The figures that made a table.
struct Truth {
  Mechanism read{"read", "noc1", 98, 25, 28.5, 30};
  Mechanism write{"write", "noc0", 110, 22, 31, 14};
  Mechanism read_stateful{"read_stateful", "noc1", 110, 17, 28.5, 35};
  Mechanism write_stateful{"write_stateful", "noc0", 120, 20, 31, 22};
  Mechanism multicast{"multicast", "noc0", 100, 4, 30, {}};
  Mechanism linked{"multicast_linked", "noc0", 95, 22, 30, 1.1};
  double hop_noc0 = 8.8;
  double hop_noc1 = 9.1;

  const Mechanism& of(const Measurement& m) const {
    if (m.method == Method::kMulticast) return multicast;
    if (m.method == Method::kMulticastLinked) return linked;
    if (m.pattern.reads) return m.stateful ? read_stateful : read;
    return m.stateful ? write_stateful : write;
  }
};

/// The cycles of a row with one master, from the definition: the formulas of docs/targets.md,
/// written out for squares of g x g places of the 8x8 that sit at routers of 12 x 10. The busiest
/// links are found by walking all routes.
double naive_cycles(const Truth& truth, const Measurement& m) {
  const Mechanism& mechanism = truth.of(m);
  const double hop = m.pattern.reads ? truth.hop_noc1 : truth.hop_noc0;
  const double n = static_cast<double>(m.transactions);
  const double bytes = static_cast<double>(m.bytes);
  const double packets = std::ceil(bytes / 8192);
  const double per_byte = 1 / *mechanism.bytes_per_cycle;
  const bool single = m.pattern.subordinates == kOne;
  // One way around the 12 rows, and around the 10 columns.
  const double base = *mechanism.overhead_cycles + hop * (single && m.same_axis ? 12 : 22);
  if (m.method == Method::kUnicast) {
    const double others = single ? 0 : static_cast<double>(m.subordinates);
    return base + std::max((n - 1) * *mechanism.issue_cycles + others * *mechanism.receiver_cycles,
                           n * bytes * per_byte);
  }
  const std::array<std::int64_t, 8> rows = {1, 2, 3, 4, 5, 7, 8, 9};
  const std::array<std::int64_t, 8> columns = {1, 2, 3, 4, 6, 7, 8, 9};
  const auto g = static_cast<std::size_t>(std::sqrt(static_cast<double>(m.subordinates)));
  const test::NaiveTorus torus{12, 10, true};
  const Router master = {rows[0], columns[m.loopback ? 0 : g]};
  std::vector<Router> receivers;
  double there = 0;
  for (std::size_t r = 0; r < g; ++r) {
    for (std::size_t c = 0; c < g; ++c) {
      receivers.push_back({rows[r], columns[c]});
      there = std::max(there, static_cast<double>(torus.hops(master, receivers.back())));
    }
  }
  if (m.method == Method::kMulticast) {
    return base + n * packets * (*mechanism.issue_cycles + 2 * hop * there) + n * bytes * per_byte;
  }
  test::NaiveLoads loads;
  test::add_naive(torus, master, receivers, false, true, loads);
  double busiest = (n - 1) * *mechanism.issue_cycles;
  for (const auto& [link, load] : loads) {
    busiest = std::max(
        busiest, static_cast<double>(load.first) * n * bytes * per_byte +
                     static_cast<double>(load.second) * n * packets * *mechanism.receiver_cycles);
  }
  return base + packets * 2 * hop * there + busiest;
}

/// Transactions 1, 4, .., 256 for each receiver; 64 bytes to 64 KB.
void add_rows(const Measurement& like, std::vector<Measurement>& rows) {
  const bool each = like.method == Method::kUnicast && like.subordinates > 0;
  for (std::int64_t n = 1; n <= 256; n *= 4) {
    for (std::int64_t bytes = 64; bytes <= 65536; bytes *= 2) {
      Measurement m = like;
      m.transactions = each ? n * like.subordinates : n;
      m.bytes = bytes;
      rows.push_back(m);
    }
  }
}

std::vector<Measurement> table(const Truth& truth, double noise, unsigned seed) {
  std::vector<Measurement> rows;
  Measurement m;
  for (const bool reads : {false, true}) {
    for (const bool stateful : {false, true}) {
      for (const bool same_axis : {false, true}) {
        m = {};
        m.pattern = {kOne, kOne, reads};
        m.stateful = stateful;
        m.same_axis = same_axis;
        add_rows(m, rows);
      }
      for (const std::int64_t others : {4, 9, 25, 55}) {
        m = {};
        m.pattern = {kOne, kAll, reads};
        m.stateful = stateful;
        m.subordinates = others;
        add_rows(m, rows);
      }
    }
  }
  for (const Method method : {Method::kMulticast, Method::kMulticastLinked}) {
    for (const std::int64_t receivers : {4, 9, 25}) {
      for (const bool loopback : {false, true}) {
        m = {};
        m.method = method;
        m.pattern = {kOne, kAll, false};
        m.subordinates = receivers;
        m.loopback = loopback;
        add_rows(m, rows);
      }
    }
  }
  std::mt19937 random(seed);
  std::normal_distribution<double> error(0, noise > 0 ? noise : 1);
  for (Measurement& row : rows) {
    row.cycles = naive_cycles(truth, row) * (noise > 0 ? 1 + error(random) : 1);
  }
  return rows;
}

Machine machine_of(const std::string& json = test::kWormholeNoc) { return test::noc_machine(json); }

/// Within a share of the true value, and `cycles` more.
void expect_near(const std::optional<double>& found, const std::optional<double>& truth,
                 double share, const std::string& what, double cycles = 0) {
  ASSERT_EQ(found.has_value(), truth.has_value()) << what;
  if (!truth) return;
  EXPECT_NEAR(*found, *truth, share * *truth + cycles) << what;
}

void expect_figures(const Machine& machine, const Truth& truth, double tolerance) {
  for (const Mechanism& expected : {truth.read, truth.write, truth.read_stateful,
                                    truth.write_stateful, truth.multicast, truth.linked}) {
    bool found = false;
    for (const Mechanism& mechanism : machine.mesh[0].mechanisms) {
      if (mechanism.name != expected.name) continue;
      found = true;
      EXPECT_EQ(mechanism.network, expected.network);
      expect_near(mechanism.overhead_cycles, expected.overhead_cycles, 4 * tolerance,
                  expected.name + " overhead");
      expect_near(mechanism.issue_cycles, expected.issue_cycles, 3 * tolerance,
                  expected.name + " issue", 60 * tolerance);
      expect_near(mechanism.bytes_per_cycle, expected.bytes_per_cycle, tolerance,
                  expected.name + " bandwidth");
      expect_near(mechanism.receiver_cycles, expected.receiver_cycles, 4 * tolerance,
                  expected.name + " receiver");
    }
    EXPECT_TRUE(found) << expected.name;
  }
  expect_near(machine.mesh[0].networks[0].hop_cycles, truth.hop_noc0, tolerance, "noc0");
  expect_near(machine.mesh[0].networks[1].hop_cycles, truth.hop_noc1, 3 * tolerance, "noc1");
}

TEST(Calibrate, FindsTheFiguresOfAnExactTable) {
  const Truth truth;
  const std::vector<Measurement> rows = table(truth, 0, 0);
  const Result<Calibration> found = calibrate(machine_of(), rows);
  ASSERT_TRUE(found.ok()) << found.error().message;
  expect_figures(found->machine, truth, 0.001);
  EXPECT_EQ(found->all.rows, std::ssize(rows));
  EXPECT_EQ(found->fitted_rows, std::ssize(rows));
  EXPECT_LT(found->all.worst, 0.002);  // figures are rounded to 4 digits
}

TEST(Calibrate, FindsTheFiguresOfNoisyTables) {
  const Truth truth;
  for (unsigned seed = 0; seed < 4; ++seed) {
    const Result<Calibration> found = calibrate(machine_of(), table(truth, 0.03, seed));
    ASSERT_TRUE(found.ok()) << found.error().message;
    expect_figures(found->machine, truth, 0.02);
    // Of a normal distribution, half is within 0.67 deviations and 90 % within 1.64.
    EXPECT_NEAR(found->all.median, 0.67 * 0.03, 0.002);
    EXPECT_NEAR(found->all.p90, 1.64 * 0.03, 0.004);
  }
}

TEST(Calibrate, PredictsByTheMachineAlone) {
  const std::vector<Measurement> rows = table(Truth{}, 0.05, 7);
  const Result<Calibration> found = calibrate(machine_of(), rows);
  ASSERT_TRUE(found.ok());
  const Result<Machine> again = parse_machine(target::to_json(found->machine));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, found->machine);
  const Result<std::vector<double>> predicted = predict(*again, rows);
  ASSERT_TRUE(predicted.ok());
  EXPECT_EQ(*predicted, found->predicted_cycles);
}

TEST(Calibrate, SaysWhichFiguresAreFitted) {
  const Result<Calibration> found = calibrate(machine_of(), table(Truth{}, 0, 0));
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->mechanisms.size(), 6U);
  ASSERT_EQ(found->networks.size(), 2U);
  EXPECT_EQ(found->mechanisms[0].name, "read");
  EXPECT_FALSE(found->mechanisms[0].is_added);
  EXPECT_TRUE(found->mechanisms[2].is_added);
  const CalibratedTerm& overhead = found->mechanisms[0].terms[0];
  EXPECT_EQ(overhead.path, "/mesh/0/mechanisms/0/overhead_cycles");
  EXPECT_EQ(overhead.before, std::nullopt);
  EXPECT_TRUE(overhead.is_fitted);
  EXPECT_EQ(overhead.rows, found->mechanisms[0].errors.rows);
  EXPECT_EQ(found->networks[0].terms[0].before, 9);
  using target::Evidence;
  const Machine& machine = found->machine;
  EXPECT_EQ(machine.evidence("/mesh/0/mechanisms/0/overhead_cycles"), Evidence::kFitted);
  EXPECT_EQ(machine.evidence("/mesh/0/networks/1/hop_cycles"), Evidence::kFitted);
  EXPECT_EQ(machine.evidence("/mesh/0/networks/1/bits_per_cycle"), std::nullopt);
  // Fitting again replaces the notes.
  const Result<Calibration> again = calibrate(machine, table(Truth{}, 0, 0));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->machine.notes, machine.notes);
}

TEST(Calibrate, KeepsFiguresThatTheTableDoesNotDetermine) {
  Machine machine = machine_of();
  machine.mesh[0].mechanisms[1] = {"write", "noc0", 1, 2, 3, 4};
  std::vector<Measurement> rows;
  for (const Measurement& m : table(Truth{}, 0, 0)) {
    const bool one = m.method == Method::kUnicast && m.pattern == Pattern{kOne, kOne, false};
    if (one && !m.stateful && m.same_axis && m.transactions == 1) rows.push_back(m);
  }
  ASSERT_EQ(rows.size(), 11U);
  const Result<Calibration> found = calibrate(machine, rows);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->mechanisms.size(), 1U);
  const std::vector<CalibratedTerm>& terms = found->mechanisms[0].terms;
  EXPECT_TRUE(terms[0].is_fitted);
  EXPECT_FALSE(terms[1].is_fitted);  // issue
  EXPECT_TRUE(terms[2].is_fitted);
  EXPECT_FALSE(terms[3].is_fitted);  // receivers
  EXPECT_FALSE(found->networks[0].terms[0].is_fitted);
  // 12 hops of 8.8 in the table, of 9 in the machine.
  const Mechanism& write = found->machine.mesh[0].mechanisms[1];
  expect_near(write.overhead_cycles, 110 + 12 * (8.8 - 9), 0.001, "overhead");
  EXPECT_EQ(write.issue_cycles, 2);
  EXPECT_EQ(write.receiver_cycles, 4);
  EXPECT_EQ(found->machine.mesh[0].networks[0].hop_cycles, 9);
  EXPECT_EQ(found->machine.evidence("/mesh/0/mechanisms/1/issue_cycles"), std::nullopt);
  EXPECT_LT(found->all.worst, 0.001);
}

TEST(Calibrate, ManyMastersArePredictedNotFitted) {
  const Truth truth;
  std::vector<Measurement> rows = table(truth, 0, 0);
  const Result<Calibration> alone = calibrate(machine_of(), rows);
  Measurement all;
  all.pattern = {kAll, kAll, false};
  all.subordinates = 25;
  all.transactions = std::int64_t{25} * 64;
  all.bytes = 8192;
  all.cycles = 1;  // wrong on purpose
  rows.push_back(all);
  const Result<Calibration> with = calibrate(machine_of(), rows);
  ASSERT_TRUE(alone.ok() && with.ok());
  EXPECT_EQ(with->machine, alone->machine);
  EXPECT_EQ(with->fitted_rows + 1, with->all.rows);
  // 50 streams of 64 transactions over one link, each of 256 cycles and one header. On the same
  // link, acknowledgements: those of pairs that do not go around the end, 15 of 25, for 5 rows.
  // Both together go over all links of the ring: 10 + 15 pairs of columns.
  const double streams = 50.0 * 64 * 257;
  const double predicted = with->predicted_cycles.back();
  EXPECT_GE(predicted, streams);
  EXPECT_LE(predicted, streams + 100.0 * 64 + 400);
  EXPECT_GT(with->all.worst, 1000);
  ASSERT_EQ(with->groups.back().pattern, all.pattern);
  EXPECT_EQ(with->groups.back().errors.rows, 1);
}

TEST(Calibrate, BanksHaveAMechanismOfTheirOwn) {
  const Truth truth;
  std::vector<Measurement> rows = table(truth, 0, 0);
  Machine machine = machine_of();
  machine.memory[1].read.bytes_per_second = 6e9;  // so slow that no link matters
  Measurement bank;
  bank.pattern = {kOne, kOne, true};
  bank.far = {1, FarMemory::Spread::kSharded};
  std::vector<Measurement> banks;
  add_rows(bank, banks);
  for (Measurement& m : banks) {
    const double n = static_cast<double>(m.transactions);
    // A read with 300 more cycles, 40 per transaction and the 6 bytes per cycle of a bank.
    m.cycles = 398 + 22 * 9.1 + std::max((n - 1) * 40, n * static_cast<double>(m.bytes) / 6);
    rows.push_back(m);
  }
  Measurement all = bank;
  all.pattern = {kAll, kAll, true};
  all.transactions = 64;
  all.bytes = 4096;
  // 56 places were measured, as 55 subordinates tell: 14 for each of 4 banks.
  all.cycles = 398 + 22 * 9.1 + 14 * 64 * 4096 / 6.0;
  rows.push_back(all);
  const Result<Calibration> found = calibrate(machine, rows);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const Mechanism& mechanism = found->machine.mesh[0].mechanisms.back();
  EXPECT_EQ(mechanism.name, "read_dram");
  EXPECT_EQ(mechanism.network, "noc1");
  expect_near(mechanism.overhead_cycles, 398, 0.005, "overhead");
  expect_near(mechanism.issue_cycles, 40, 0.005, "issue");
  EXPECT_LT(found->all.worst, 0.01);
  // Without measured banks their rows are predicted by "read".
  const Result<Calibration> without =
      calibrate(machine, std::span(rows).first(rows.size() - banks.size() - 1));
  ASSERT_TRUE(without.ok());
  const Result<std::vector<double>> read = predict(without->machine, banks);
  ASSERT_TRUE(read.ok());
  EXPECT_NEAR(read->front(), 98 + 22 * 9.1 + 64 / 6.0, 1);
}

TEST(Calibrate, Refuses) {
  const auto code = [](const Machine& machine, const Measurement& m) {
    const Result<Calibration> found = calibrate(machine, std::span(&m, 1));
    return found ? "" : std::string(code_name(found.error().code));
  };
  Measurement m;
  m.pattern = {kOne, kOne, true};
  EXPECT_EQ(code(machine_of(), m), "");
  Measurement cast = m;
  cast.method = Method::kMulticast;
  EXPECT_EQ(code(machine_of(), cast), "contradiction");
  cast.pattern.reads = false;
  cast.stateful = true;
  EXPECT_EQ(code(machine_of(), cast), "contradiction");
  cast.stateful = false;
  cast.far = {1, FarMemory::Spread::kBanks};
  EXPECT_EQ(code(machine_of(), cast), "contradiction");
  for (const double cycles : {0.0, -1.0, std::nan(""), HUGE_VAL, 2e15}) {
    Measurement bad = m;
    bad.cycles = cycles;
    EXPECT_EQ(code(machine_of(), bad), "out_of_range") << cycles;
  }
  Measurement huge = m;
  huge.bytes = huge.transactions = INT64_MAX;
  EXPECT_EQ(code(machine_of(), huge), "out_of_range");
  Measurement many = m;
  many.pattern = {kAll, kAll, true};
  many.subordinates = 7;
  many.span = Span{3, 9};
  const Result<Calibration> found = calibrate(machine_of(), std::span(&many, 1));
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(found.error().span, (Span{3, 9}));

  Machine silent = machine_of();
  silent.mesh[0].mechanisms.clear();  // two networks, and nothing says which one reads take
  EXPECT_EQ(code(silent, m), "bad_target");
  silent.mesh[0].networks.pop_back();
  EXPECT_EQ(code(silent, m), "");
  silent.mesh[0].networks[0].bits_per_cycle.reset();
  EXPECT_EQ(code(silent, m), "not_supported");
  const std::vector<Measurement> too_many(kMaxMeasurements + 1, m);
  EXPECT_EQ(calibrate(machine_of(), too_many).error().code, ErrorCode::kTooLarge);
}

TEST(Calibrate, AnEmptyTableChangesNothing) {
  const Result<Calibration> found = calibrate(machine_of(), {});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->machine, machine_of());
  EXPECT_EQ(found->all, ErrorSummary{});
}

TEST(Calibrate, Summaries) {
  EXPECT_EQ(summarise({}), ErrorSummary{});
  EXPECT_EQ(summarise({0.5}), (ErrorSummary{1, 0.5, 0.5, 0.5}));
  EXPECT_EQ(summarise({4, 1, 2, 3}), (ErrorSummary{4, 2.5, 4, 4}));
  std::vector<double> ten;
  for (int i = 10; i >= 1; --i) ten.push_back(i);
  EXPECT_EQ(summarise(ten), (ErrorSummary{10, 5.5, 9, 10}));
}

}  // namespace
}  // namespace tessera::fabric

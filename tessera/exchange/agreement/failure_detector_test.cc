// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement/failure_detector.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tessera/exchange/agreement/note.h"
#include "tessera/testing/figures.h"

/// The failure detector with a clock that the test controls.
namespace tessera::exchange {
namespace {

using std::chrono::milliseconds;

/// Rank `rank` of a simulated exchange: the notes that it sends are recorded.
class PaperExchange final : public Exchange {
 public:
  PaperExchange(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  Result<std::unique_ptr<Lane>> open(const LaneSize&) override { return refused(); }
  Result<std::unique_ptr<SharedArray>> share(std::int64_t) override { return refused(); }
  Status tell(int to, std::span<const std::byte> bytes) override {
    told.push_back({to, {bytes.begin(), bytes.end()}});
    return ok_status();
  }
  Result<std::optional<RankNote>> heard() override { return std::optional<RankNote>(); }
  void idle() override {}
  void abandon(int) override {}

  std::vector<RankNote> told;  ///< `from` is the receiver

 private:
  static Error refused() { return {ErrorCode::kNotSupported, "on paper only"}; }
  int rank_;
  int ranks_;
};

/// How the other ranks of a simulated exchange answer: the rank they wait for, or not at all.
struct Manner {
  bool silent = false;
  int waits_on = Waiting::kNobody;
  bool impatient = true;
  int waited_ms = 100;
};

/// Rank 3 of 6 waits for `on`, until it has something to tell all, or told another rank.
struct Outcome {
  std::optional<Error> pronounced;
  int told_to = -1;  ///< the finding was sent to this rank
  Error finding;
  std::set<int> asked;
  int took_ms = 0;
};

Outcome inquire(int on, const std::map<int, Manner>& manners, bool candidate_acts = true) {
  const Timeouts timeouts{milliseconds(50), milliseconds(20)};
  PaperExchange exchange(3, 6);
  FailureDetector detector;
  Outcome outcome;
  const Moment start;
  std::size_t read = 0;
  for (int ms = 0; ms < 400; ++ms) {
    outcome.took_ms = ms;
    outcome.pronounced =
        detector.look(exchange, timeouts, Waiting{on, start}, start + milliseconds(ms));
    if (outcome.pronounced) return outcome;
    for (; read < exchange.told.size(); ++read) {
      const RankNote& note = exchange.told[read];
      NoteReader reader(note.bytes);
      const NoteKind kind = *reader.kind();
      if (kind == NoteKind::kFound) {
        outcome.told_to = note.from;
        outcome.finding = reader.error();
        if (candidate_acts && !manners.at(note.from).silent) return outcome;
        continue;
      }
      EXPECT_EQ(kind, NoteKind::kAsk);
      outcome.asked.insert(note.from);
      const std::int64_t question = reader.number();
      const Manner& manner = manners.at(note.from);
      if (manner.silent) continue;
      detector.heard(note.from, {question, manner.waits_on, manner.waited_ms, manner.impatient});
    }
  }
  return outcome;
}

TEST(FailureDetector, FollowsTheChainToTheSilentRank) {
  const Outcome outcome =
      inquire(5, {{0, {}}, {5, {false, 4}}, {4, {false, 1}}, {1, {true}}, {2, {}}});
  EXPECT_EQ(outcome.asked, (std::set<int>{5, 4, 1}));
  EXPECT_EQ(outcome.told_to, 0);
  EXPECT_EQ(outcome.finding.code, ErrorCode::kRankSilent);
  EXPECT_EQ(test::figures(outcome.finding.message), "1 4 20 ms");
  EXPECT_GE(outcome.took_ms, 50 + 20);
  EXPECT_LE(outcome.took_ms, 50 + 20 + 10);
}

TEST(FailureDetector, NobodyIsAskedBeforeTheTimeout) {
  const Timeouts timeouts{milliseconds(50), milliseconds(20)};
  PaperExchange exchange(3, 6);
  FailureDetector detector;
  const Moment start;
  for (int ms = 0; ms < 500; ++ms) {  // progress every 40 ms
    const Waiting waiting{5, start + milliseconds(ms / 40 * 40)};
    ASSERT_FALSE(detector.look(exchange, timeouts, waiting, start + milliseconds(ms)));
  }
  EXPECT_TRUE(exchange.told.empty());
}

TEST(FailureDetector, ProgressEndsTheAsking) {
  const Timeouts timeouts{milliseconds(50), milliseconds(20)};
  PaperExchange exchange(3, 6);
  FailureDetector detector;
  const Moment start;
  for (int ms = 0; ms < 200; ++ms) {  // nobody answers, but progress comes at 65 ms
    const Waiting waiting{5, start + milliseconds(ms < 65 ? 0 : 160)};
    ASSERT_FALSE(detector.look(exchange, timeouts, waiting, start + milliseconds(ms)));
  }
  EXPECT_EQ(exchange.told.size(), 2u) << "one question, and once again at half time";
  EXPECT_FALSE(detector.under_way());
}

TEST(FailureDetector, ARankThatDidNotLookHoldsNothingAgainstOthers) {
  const Timeouts timeouts{milliseconds(50), milliseconds(20)};
  PaperExchange exchange(3, 6);
  FailureDetector detector;
  const Moment start;
  (void)detector.look(exchange, timeouts, {5, start}, start + milliseconds(50));
  ASSERT_EQ(exchange.told.size(), 1u);
  // Busy for a second with other work; the answer takes a look or two to arrive.
  for (int looks = 0; looks < 3; ++looks) {
    (void)detector.look(exchange, timeouts, {5, start}, start + milliseconds(1050));
  }
  for (const RankNote& note : exchange.told) {
    NoteReader reader(note.bytes);
    EXPECT_EQ(reader.kind(), NoteKind::kAsk) << "reported without having listened";
  }
}

TEST(FailureDetector, WhenTheLowestIsSilentTooAllAreCalled) {
  // 0 and 1 are silent, 2 answers but never tells anybody: this rank is the last.
  const Outcome two = inquire(5, {{5, {true}}, {0, {true}}, {1, {true}}, {2, {false, 3}}});
  EXPECT_EQ(two.told_to, 2);
  EXPECT_EQ(test::figures(two.finding.message), "0 1 5 3 5 20 ms");
  const Outcome me = inquire(5, {{5, {true}}, {0, {true}}, {1, {true}}, {2, {true}}});
  ASSERT_TRUE(me.pronounced);
  EXPECT_EQ(test::figures(me.pronounced->message), "0 1 2 5 3 5 20 ms");
  EXPECT_LE(me.took_ms, 50 + 3 * 20 + 20);
  const Outcome deaf =
      inquire(5, {{5, {true}}, {0, {false, 3}}, {1, {false, 3}}, {2, {false, 3}}}, false);
  ASSERT_TRUE(deaf.pronounced) << "every stage ends";
}

TEST(FailureDetector, ACircleIsALostMessage) {
  const Outcome two = inquire(5, {{0, {}}, {5, {false, 3}}});
  EXPECT_EQ(two.told_to, 0);
  EXPECT_EQ(two.finding.code, ErrorCode::kRankSilent);
  EXPECT_EQ(test::figures(two.finding.message), "3 5");
  // Rank 4 has waited longest on the cycle 1, 4, 2, which does not include this rank.
  const Outcome three = inquire(
      1,
      {{0, {}}, {1, {false, 4, true, 70}}, {4, {false, 2, true, 90}}, {2, {false, 1, true, 80}}});
  EXPECT_EQ(test::figures(three.finding.message), "1 2 4 2 4");
}

TEST(FailureDetector, ACircleWithProgressIsNone) {
  const Outcome outcome = inquire(5, {{0, {}}, {5, {false, 3, false}}});
  EXPECT_EQ(outcome.told_to, -1);
  EXPECT_FALSE(outcome.pronounced);
  const Outcome nobody = inquire(5, {{0, {}}, {5, {false, Waiting::kNobody}}});
  EXPECT_EQ(nobody.told_to, -1);
  const Outcome wild = inquire(5, {{0, {}}, {5, {false, 1000}}});
  EXPECT_EQ(wild.told_to, -1);
}

}  // namespace
}  // namespace tessera::exchange

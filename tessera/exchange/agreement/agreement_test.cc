// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "tessera/exchange/agreement/agreement_state.h"
#include "tessera/exchange/agreement/contribution.h"
#include "tessera/exchange/agreement/failure_detector.h"
#include "tessera/exchange/agreement/note.h"
#include "tessera/exchange/agreement/tree.h"
#include "tessera/exchange/exchange.h"
#include "tessera/testing/figures.h"

/// The parts of an agreement, one thread at a time: the tree, notes, contributions, and notes that
/// no rank would send.
namespace tessera::exchange {
namespace {

using std::chrono::milliseconds;

TEST(Tree, EveryRankIsReachedOnceInFewSteps) {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 1000, 16384}) {
    std::vector<int> depth(static_cast<std::size_t>(ranks), -1);
    depth[0] = 0;
    int edges = 0;
    for (int rank = 0; rank < ranks; ++rank) {  // parents come before children
      ASSERT_GE(depth[static_cast<std::size_t>(rank)], 0) << rank << " of " << ranks;
      int size_before = 0;
      for (const int child : tree_children(rank, ranks)) {
        ASSERT_EQ(tree_parent(child), rank);
        ASSERT_GT(child, rank);
        ASSERT_LT(child, ranks);
        ASSERT_GT(child - rank, size_before);
        size_before = child - rank;
        depth[static_cast<std::size_t>(child)] = depth[static_cast<std::size_t>(rank)] + 1;
        ++edges;
      }
    }
    EXPECT_EQ(edges, ranks - 1);
    const int deepest = *std::max_element(depth.begin(), depth.end());
    EXPECT_LE(1LL << deepest, ranks) << "deeper than log2 of " << ranks;
  }
  EXPECT_EQ(tree_children(0, std::numeric_limits<int>::max()).size(), 31u);
  EXPECT_EQ(tree_children(1 << 30, std::numeric_limits<int>::max()).size(), 30u);
}

TEST(Note, CutsBetweenCharacters) {
  EXPECT_EQ(cut_text("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_text("abcdef", 5), "abc..");
  EXPECT_EQ(cut_text("aäöü", 7), "aäöü");
  EXPECT_EQ(cut_text("aäöü", 6), "aä..");  // the cut would fall inside ö
  EXPECT_EQ(cut_text("aäöü", 5), "aä..");
  EXPECT_EQ(cut_text("\xf0\x9f\x98\x80xy", 5), "..");
  EXPECT_EQ(cut_text("abcdef", 2), "..");
  // Not valid UTF-8: still short, still the beginning.
  EXPECT_EQ(cut_text(std::string(10, '\x80'), 8), std::string(3, '\x80') + "..");
}

Error error_read_back(const Error& error) {
  NoteWriter note(NoteKind::kFound);
  note.error(error);
  EXPECT_LE(note.bytes().size(), static_cast<std::size_t>(Exchange::kNoteBytes - 200));
  NoteReader reader(note.bytes());
  EXPECT_EQ(reader.kind(), NoteKind::kFound);
  Error back = reader.error();
  EXPECT_TRUE(reader.done());
  return back;
}

TEST(Note, CarriesAllOfAnError) {
  for (const ErrorCode code : all_error_codes()) {
    const Error error{code, "a shard of 17", Span{3, 9}, "make it 18", "18"};
    const Error back = error_read_back(error);
    EXPECT_EQ(back.code, code);
    EXPECT_EQ(back.message, error.message);
    EXPECT_EQ(back.span, error.span);
    EXPECT_EQ(back.help, error.help);
    EXPECT_EQ(back.correction, error.correction);
  }
  EXPECT_EQ(error_read_back({ErrorCode::kIo, "no span"}).span, std::nullopt);
  const Error back = error_read_back({ErrorCode::kIo, std::string(10000, 'm'), std::nullopt,
                                      std::string(10000, 'h'), std::string(10000, 'c')});
  EXPECT_TRUE(back.message.starts_with("mmm") && back.message.ends_with("m.."));
  EXPECT_TRUE(back.help.starts_with("hhh") && back.help.ends_with("h.."));
  EXPECT_EQ(back.correction, "") << "half a correction is a wrong one";
  EXPECT_EQ(error_read_back(back).message, back.message) << "what was cut is cut no further";
}

TEST(Note, EveryBeginningOfANoteIsRefused) {
  NoteWriter note(NoteKind::kUp);
  note.number(7);
  Contribution contribution{Subject::kReport, std::nullopt, {1, -2, 3}, {"one", "two"}};
  write(note, contribution);
  for (std::size_t bytes = 0; bytes <= note.bytes().size(); ++bytes) {
    NoteReader reader(note.bytes().first(bytes));
    reader.kind();
    reader.number();
    const Contribution back = read_contribution(reader);
    EXPECT_EQ(reader.done(), bytes == note.bytes().size()) << bytes;
    if (!reader.done()) continue;
    EXPECT_EQ(back.numbers, contribution.numbers);
    EXPECT_EQ(back.texts, contribution.texts);
  }
}

Contribution vote_of(const std::vector<int>& hashes, std::size_t from, std::size_t to,
                     std::mt19937& random) {
  if (to - from == 1) {
    const std::int64_t hash = hashes[from];
    return {Subject::kVote, std::nullopt, {hash, 1, 1, hash}, {}};
  }
  const std::size_t middle = from + 1 + random() % (to - from - 1);
  Contribution all = vote_of(hashes, from, middle, random);
  all.merge(static_cast<int>(from), vote_of(hashes, middle, to, random), static_cast<int>(middle));
  return all;
}

TEST(Contribution, TheVoteFindsTheMajorityInEveryShapeOfTree) {
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t ranks = 1 + random() % 17;
    std::vector<int> hashes;
    for (std::size_t i = 0; i < ranks; ++i)
      hashes.push_back(random() % 3 == 0 ? 1 + static_cast<int>(random() % 3) : 0);
    const Contribution vote = vote_of(hashes, 0, ranks, random);
    ASSERT_FALSE(vote.fault);
    EXPECT_EQ(vote.numbers[Vote::kHashOfLowest], hashes[0]);
    const bool alike =
        std::count(hashes.begin(), hashes.end(), hashes[0]) == static_cast<std::ptrdiff_t>(ranks);
    EXPECT_EQ(vote.numbers[Vote::kAlike], alike ? 1 : 0);
    for (int hash = 0; hash < 4; ++hash) {
      const auto count = std::count(hashes.begin(), hashes.end(), hash);
      if (2 * count > static_cast<std::ptrdiff_t>(ranks)) {
        EXPECT_EQ(vote.numbers[Vote::kHash], hash);
      }
    }
  }
}

TEST(Contribution, TheFaultOfTheLowestRankStands) {
  const auto faulty = [](int rank) {
    return Contribution{
        Subject::kSettle, Fault{rank, {ErrorCode::kIo, std::to_string(rank)}}, {}, {}};
  };
  Contribution contribution{Subject::kSettle, std::nullopt, {}, {}};
  contribution.merge(0, faulty(6), 4);
  EXPECT_EQ(contribution.fault->rank, 6);
  contribution.merge(0, faulty(3), 2);
  EXPECT_EQ(contribution.fault->rank, 3);
  contribution.merge(0, faulty(5), 4);
  EXPECT_EQ(contribution.fault->error.message, "3");
}

TEST(Contribution, WhatDoesNotFitIsAFault) {
  Contribution sums{Subject::kSum, std::nullopt, {1, 0, 5}, {}};
  sums.merge(0, {Subject::kSettle, std::nullopt, {}, {}}, 1);
  EXPECT_EQ(sums.fault->error.code, ErrorCode::kPlansDiffer);
  EXPECT_EQ(test::figures(sums.fault->error.message), "1 0");
  Contribution largest{Subject::kLargest, std::nullopt, {2, 8, 9}, {}};
  largest.merge(2, {Subject::kLargest, std::nullopt, {1, 8}, {}}, 3);
  EXPECT_EQ(test::figures(largest.fault->error.message), "3 1 2 2");
}

/// The result of an agreement of rank 0 when rank 1 of `ranks` sends it `note`.
Status after_note(std::span<const std::byte> note, int ranks) {
  std::vector<std::unique_ptr<Exchange>> all = in_process_exchange(ranks);
  Agreement agreement(*all[0], {milliseconds(60'000), milliseconds(60'000)});
  EXPECT_TRUE(all[1]->tell(0, note).ok());
  Status status = ok_status();
  for (int i = 0; i < 20 && status.ok(); ++i) {
    status = agreement.wait(1, std::chrono::steady_clock::now());
  }
  if (!status.ok()) {
    EXPECT_EQ(agreement.settle(ok_status()).error().message, status.error().message);
  }
  return status;
}

TEST(Agreement, HostileNotesAreErrors) {
  std::mt19937 random(11);
  const auto expect_refused = [](std::span<const std::byte> note, const std::string& what) {
    const Status status = after_note(note, 3);
    ASSERT_FALSE(status.ok()) << what;
    EXPECT_EQ(status.error().code, ErrorCode::kBadPacket) << what;
    EXPECT_TRUE(test::figures(status.error().message).starts_with("1 0")) << what;
  };
  expect_refused({}, "nothing");
  std::vector<std::byte> longest(static_cast<std::size_t>(Exchange::kNoteBytes));
  for (std::byte& byte : longest) byte = static_cast<std::byte>(random() & 255);
  longest[0] = std::byte{200};
  expect_refused(longest, "no kind");

  const Contribution contribution{Subject::kSettle, std::nullopt, {}, {}};
  const auto tree_note = [&](NoteKind kind, std::int64_t decision) {
    NoteWriter note(kind);
    note.number(decision);
    write(note, contribution);
    return note;
  };
  EXPECT_TRUE(after_note(tree_note(NoteKind::kUp, 0).bytes(), 3).ok());
  expect_refused(tree_note(NoteKind::kUp, 1).bytes(), "a decision that cannot have begun");
  expect_refused(tree_note(NoteKind::kUp, -1).bytes(), "a decision that never was");
  expect_refused(tree_note(NoteKind::kDown, 0).bytes(), "an outcome for the root");

  NoteWriter final_error(NoteKind::kFinal);
  final_error.number(3);
  final_error.error({ErrorCode::kRankSilent, "rank 2 is silent"});
  expect_refused(final_error.bytes(), "a speaker that does not exist");
}

TEST(Agreement, NoNoteAtAllEndsInACrash) {
  // Notes with a few bytes changed, cut or added: success or an error, and soon.
  std::mt19937 random(12);
  std::vector<NoteWriter> notes;
  for (const NoteKind kind : {NoteKind::kUp, NoteKind::kDown}) {
    notes.emplace_back(kind);
    notes.back().number(0);
    write(notes.back(), {Subject::kSum, std::nullopt, {1, 0, 5}, {"word"}});
    notes.emplace_back(kind);
    notes.back().number(0);
    write(notes.back(), {Subject::kSettle, Fault{1, {ErrorCode::kIo, "x", Span{0, 1}}}, {}, {}});
  }
  notes.emplace_back(NoteKind::kAsk).number(4);
  notes.emplace_back(NoteKind::kHere).number(4);
  notes.back().number(1);
  notes.back().number(70);
  notes.back().byte(1);
  notes.emplace_back(NoteKind::kFound).error({ErrorCode::kRankSilent, "rank 2 is silent"});
  notes.emplace_back(NoteKind::kFinal).number(0);
  notes.back().error({ErrorCode::kRankSilent, "rank 2 is silent"});
  int errors = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::span<const std::byte> good = notes[random() % notes.size()].bytes();
    std::vector<std::byte> note(good.begin(), good.end());
    for (int i = static_cast<int>(random() % 4); i > 0; --i) {
      note[random() % note.size()] = static_cast<std::byte>(random() & 255);
    }
    if (random() % 4 == 0) note.resize(random() % (2 * note.size()));
    errors += after_note(note, 2).ok() ? 0 : 1;
  }
  EXPECT_GT(errors, 1000);
  EXPECT_LT(errors, 4000);
}

TEST(Agreement, WhatWasWaitedForOnceIsNotComplainedAbout) {
  // Rank 0 waited for rank 1 long ago; when it is asked next, it has just reached a decision.
  const auto all = in_process_exchange(2);
  Agreement agreement(*all[0], {std::chrono::hours(1), std::chrono::hours(1)});
  const auto long_ago = std::chrono::steady_clock::now() - std::chrono::minutes(30);
  ASSERT_TRUE(agreement.wait(1, long_ago).ok());
  NoteWriter question(NoteKind::kAsk);
  question.number(77);
  ASSERT_TRUE(all[1]->tell(0, question.bytes()).ok());
  NoteWriter contribution(NoteKind::kUp);
  contribution.number(0);
  write(contribution, {Subject::kSettle, std::nullopt, {}, {}});
  ASSERT_TRUE(all[1]->tell(0, contribution.bytes()).ok());
  EXPECT_TRUE(agreement.settle(ok_status()).ok());
  const auto answer = *all[1]->heard();
  ASSERT_TRUE(answer);
  NoteReader reader(answer->bytes);
  EXPECT_EQ(reader.kind(), NoteKind::kHere);
  EXPECT_EQ(reader.number(), 77);
  EXPECT_EQ(reader.number(), Waiting::kNobody);
  EXPECT_EQ(reader.number(), 0) << "ms without progress";
  EXPECT_EQ(reader.byte(), 0);
  EXPECT_TRUE(reader.done());
}

TEST(Agreement, OneRankDecidesAlone) {
  const auto all = in_process_exchange(1);
  Agreement agreement(*all[0], {});
  EXPECT_TRUE(agreement.settle(ok_status()).ok());
  const Status bad =
      agreement.settle(Error{ErrorCode::kIo, "no room", Span{1, 2}, "clean up", "x"});
  EXPECT_EQ(bad.error().message, "no room");
  EXPECT_EQ(bad.error().span, (Span{1, 2}));
  EXPECT_EQ(bad.error().help, "clean up");
  EXPECT_EQ(bad.error().correction, "x");
  EXPECT_TRUE(agreement.same(std::vector<Fact>{{"a", 1, "one"}}).ok());
  EXPECT_EQ(*agreement.sums(std::vector<std::int64_t>{1, -2}), (std::vector<std::int64_t>{1, -2}));
  EXPECT_EQ(*agreement.largest({}), std::vector<std::int64_t>{});
  EXPECT_TRUE(agreement.speaks());
}

TEST(Agreement, AnAbandonedExchangeIsAnError) {
  const auto all = in_process_exchange(2);
  Agreement agreement(*all[0], {});
  all[1]->abandon(3);
  EXPECT_FALSE(agreement.settle(ok_status()).ok());
  Status status = ok_status();
  const auto since = std::chrono::steady_clock::now();
  for (int i = 0; i < 8 && status.ok(); ++i) status = agreement.wait(1, since);
  EXPECT_FALSE(status.ok());
}

}  // namespace
}  // namespace tessera::exchange

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement/agreement_state.h"
#include "tessera/exchange/fingerprint.h"

// Comparing plans. Ranks that agree, which is nearly always, are done after one vote. Otherwise a
// second decision finds the rank that differs and one from the majority. These two then send the
// hashes of their facts to all, one full note at a time, until one hash differs, and then the texts
// of that fact.
namespace tessera::exchange {
namespace {

constexpr std::size_t kHashesInNote = 200;
constexpr std::size_t kNameBytes = 200;
constexpr std::size_t kSaidBytes = 1200;

std::int64_t fact_hash(const Fact& fact) {
  Fingerprint print;
  print.add(fact.name);
  print.add(static_cast<std::int64_t>(fact.hash));
  return static_cast<std::int64_t>(print.value());
}

/// Which rank differs from which.
struct Odd {
  std::int64_t rank = 0;
  std::int64_t from = 0;
  bool majority = false;  ///< `from` is in the majority
};

/// A contribution for the data of the rank that differs and of the one that it differs from: two
/// halves of equal form, filled only by the two. The first number of a half tells whether it is
/// filled.
Contribution report(const Odd& odd, int rank, const std::vector<std::int64_t>& numbers,
                    const std::vector<std::string>& texts) {
  Contribution contribution{Subject::kReport, std::nullopt, {}, {}};
  for (const std::int64_t reporter : {odd.rank, odd.from}) {
    const bool mine = reporter == rank;
    contribution.numbers.push_back(mine ? 1 : 0);
    for (const std::int64_t number : numbers) contribution.numbers.push_back(mine ? number : 0);
    for (const std::string& text : texts) contribution.texts.push_back(mine ? text : "");
  }
  return contribution;
}

/// Half 0 or 1 of the result.
template <typename T>
std::span<const T> half_of(const std::vector<T>& all, std::size_t half) {
  return std::span(all).subspan(half * (all.size() / 2), all.size() / 2);
}

std::string hex(std::int64_t number) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) {
    digits += "0123456789abcdef"[static_cast<std::uint64_t>(number) >> shift & 15];
  }
  return digits;
}

/// The text of a fact in one half. If both texts are equal, only the hashes show the difference.
std::string fact_text(const Contribution& told, std::size_t half) {
  const auto texts = half_of(told.texts, half);
  if (texts[0].empty() && texts[1].empty()) return "nothing";
  const bool alike = texts[1] == half_of(told.texts, 1 - half)[1];
  return alike ? cat(texts[1], texts[1].empty() ? "" : " ", "(hash ",
                     hex(half_of(told.numbers, half)[1]), ")")
               : texts[1];
}

}  // namespace

Status Agreement::same(std::span<const Fact> facts) {
  Fingerprint whole;
  for (const Fact& fact : facts) whole.add(fact_hash(fact));
  const auto hash = static_cast<std::int64_t>(whole.value());

  TESSERA_TRY(const Contribution vote,
              state_->decide({Subject::kVote, std::nullopt, {hash, 1, 1, hash}, {}}));
  if (vote.numbers[Vote::kAlike] == 1) return ok_status();

  const bool chosen = hash == vote.numbers[Vote::kHash];
  const bool like_root = hash == vote.numbers[Vote::kHashOfLowest];
  TESSERA_TRY(
      const Contribution count,
      state_->decide({Subject::kCount,
                      std::nullopt,
                      {chosen ? 1 : 0, chosen ? rank() : Count::kNobody,
                       chosen ? Count::kNobody : rank(), like_root ? Count::kNobody : rank()},
                      {}}));
  Odd odd;
  odd.majority = count.numbers[Count::kHaving] > ranks() / 2;
  odd.rank = count.numbers[odd.majority ? Count::kDiffers : Count::kDiffersFromRoot];
  odd.from = odd.majority ? count.numbers[Count::kFirst] : 0;

  // The first fact in which they differ; each half also contains the number of facts.
  std::size_t index = 0;
  for (bool found = false; !found;) {
    std::vector<std::int64_t> hashes(kHashesInNote + 1);
    hashes[0] = static_cast<std::int64_t>(facts.size());
    for (std::size_t i = 0; i < kHashesInNote && index + i < facts.size(); ++i) {
      hashes[i + 1] = fact_hash(facts[index + i]);
    }
    TESSERA_TRY(const Contribution told, state_->decide(report(odd, rank(), hashes, {})));
    const auto here = half_of(told.numbers, 0).subspan(1);
    const auto there = half_of(told.numbers, 1).subspan(1);
    const std::int64_t least = std::min(here[0], there[0]);
    std::size_t i = 0;
    while (i < kHashesInNote && static_cast<std::int64_t>(index + i) < least &&
           here[i + 1] == there[i + 1]) {
      ++i;
    }
    index += i;
    found = i < kHashesInNote;
  }

  const Fact missing;
  const Fact& fact = index < facts.size() ? facts[index] : missing;
  TESSERA_TRY(
      const Contribution told,
      state_->decide(report(odd, rank(), {static_cast<std::int64_t>(fact.hash)},
                            {cut_text(fact.name, kNameBytes), cut_text(fact.said, kSaidBytes)})));
  const std::string& name = told.texts[0].empty() ? told.texts[2] : told.texts[0];
  return Error{ErrorCode::kPlansDiffer,
               cat("rank ", odd.rank, " has a different ", name, " than ",
                   odd.majority ? cat(count.numbers[Count::kHaving], " of ", ranks(), " ranks")
                                : cat("rank ", odd.from),
                   ": ", fact_text(told, 0), " instead of ", fact_text(told, 1)),
               std::nullopt, "start all ranks with the same layouts, maps and options"};
}

}  // namespace tessera::exchange

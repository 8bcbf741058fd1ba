// SPDX-License-Identifier: Apache-2.0
#include "tessera/moves/collective_choices.h"

#include <cstdint>
#include <string_view>

#include "tessera/base/text.h"

namespace tessera::moves {

using reshard::AlgorithmChoice;
using reshard::Collective;
using reshard::CollectiveKind;

namespace {

/// The divisor of n that is nearest to its square root from below.
std::int64_t rows_of(std::int64_t n) {
  std::int64_t rows = 1;
  for (std::int64_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) rows = d;
  }
  return rows;
}

bool has_inner(const AlgorithmChoice& choice) {
  using reshard::Algorithm;
  return choice.algorithm == Algorithm::kTwoPhase || choice.algorithm == Algorithm::kScattered;
}

}  // namespace

std::vector<AlgorithmChoice> choices_for(const Collective& collective) {
  using reshard::Algorithm;
  std::vector<AlgorithmChoice> choices;
  for (const Algorithm algorithm :
       {Algorithm::kDirect, Algorithm::kRing, Algorithm::kTwoWayRing, Algorithm::kChain,
        Algorithm::kTree, Algorithm::kDoubling, Algorithm::kPairwise, Algorithm::kScattered}) {
    choices.push_back({algorithm, 1, 1, Algorithm::kRing});
  }
  const bool whole = collective.kind == CollectiveKind::kBroadcast ||
                     collective.kind == CollectiveKind::kReduce ||
                     collective.kind == CollectiveKind::kAllReduce;
  for (const std::int64_t segments : {4, 16}) {
    if (whole) choices.push_back({Algorithm::kChain, segments, 1, Algorithm::kRing});
  }
  choices.push_back({Algorithm::kScattered, 1, 1, Algorithm::kDirect});
  const std::int64_t rows = rows_of(collective.members);
  if (rows > 1) choices.push_back({Algorithm::kTwoPhase, 1, rows, Algorithm::kDirect});
  if (rows > 1) choices.push_back({Algorithm::kTwoPhase, 1, rows, Algorithm::kRing});
  return choices;
}

bool is_direct(const AlgorithmChoice& choice) {
  using reshard::Algorithm;
  return (has_inner(choice) ? choice.inner : choice.algorithm) == Algorithm::kDirect;
}

std::string choice_name(const AlgorithmChoice& choice, bool multicasts) {
  using reshard::Algorithm;
  const auto name_of = [&](Algorithm algorithm) {
    if (multicasts && algorithm == Algorithm::kDirect) return std::string_view("multicast");
    return reshard::algorithm_name(algorithm);
  };
  std::string name(name_of(choice.algorithm));
  if (choice.segments > 1) name += cat(" in ", choice.segments, " segments");
  if (has_inner(choice)) name += cat(" (", name_of(choice.inner), ")");
  return name;
}

}  // namespace tessera::moves

// SPDX-License-Identifier: Apache-2.0
// Two lines are two tensors of one shape. The following bytes are choices: how many ranks, which
// places they have, how packets are cut, the rule for padding.
//   All ranks accept a reshard, or all refuse it with the same error.
//   Afterwards every rank holds what moving element by element gives for B, in every run.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/laws.h"
#include "tessera/base/text.h"
#include "tessera/exchange/resharder.h"
#include "tessera/testing/exchange/exchange_runs.h"

namespace tessera {
namespace {

/// Reads choices from the bytes; when they are used up, every choice is the first.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : rest_(bytes) {}
  std::int64_t below(std::int64_t n) {
    if (n <= 1 || rest_.empty()) return 0;
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return byte % n;
  }
  template <std::size_t kCount>
  std::int64_t one_of(const std::array<std::int64_t, kCount>& numbers) {
    return numbers[static_cast<std::size_t>(below(kCount))];
  }

 private:
  std::string_view rest_;
};

/// Small enough to check element by element many times per second.
bool is_small(const Placement& placement) {
  constexpr std::int64_t kMostElements = 1 << 10;
  constexpr std::int64_t kMostPlaces = 1 << 7;
  constexpr std::int64_t kMostSlots = 1 << 13;
  if (placement.shape().elements() > kMostElements || placement.places() > kMostPlaces ||
      placement.slots() > kMostSlots) {
    return false;
  }
  const std::int64_t most = std::max(placement.shape().elements(), placement.slots());
  return most * placement.places() <= kMostSlots;
}

exchange::RankMap any_ranks(Choices& choices, std::int64_t places, int ranks) {
  const std::int64_t kind = choices.below(3);
  if (kind == 0) return *exchange::RankMap::blocks(places, ranks);
  if (kind == 1) return *exchange::RankMap::cyclic(places, ranks);
  std::vector<std::int32_t> table;
  for (std::int64_t p = 0; p < places; ++p) {
    table.push_back(static_cast<std::int32_t>(choices.below(ranks)));
  }
  return *exchange::RankMap::table(std::move(table), ranks);
}

exchange::ResharderOptions any_options(Choices& choices) {
  constexpr std::array<std::int64_t, 9> kPackets = {0, 256, 64, 512, 4096, 1, 300, -1, INT64_MAX};
  constexpr std::array<std::int64_t, 8> kStaging = {1 << 20, 1 << 12, 1 << 10, 1 << 9,
                                                    700,     1 << 17, 0,       INT64_MIN};
  exchange::ResharderOptions options;
  options.packet_bytes = choices.one_of(kPackets);
  options.staging_bytes = choices.one_of(kStaging);
  options.threads = 1 + static_cast<int>(choices.below(2));
  options.checksums = choices.below(2) == 1;
  options.padding = static_cast<relayout::PaddingRule>(choices.below(3));
  return options;
}

/// True when padding of B may be requested to be zero: some layouts promise another value, which
/// wins.
bool promises_nothing(const Placement& placement) {
  const auto is_open = [](const Layout& layout) {
    return layout.spec().padding.kind == PaddingValue::Kind::kUndef;
  };
  if (const Layout* layout = placement.layout()) return is_open(*layout);
  const Piecewise* pieces = placement.pieces();
  return pieces != nullptr && std::all_of(pieces->pieces().begin(), pieces->pieces().end(),
                                          [&](const auto& piece) { return is_open(piece.layout); });
}

/// The error of a rank for a reshard; empty when it accepts.
std::string refusal(exchange::Exchange& exchange, const reshard::Reshard& reshard,
                    const exchange::RankMap& from, const exchange::RankMap& to,
                    const exchange::ResharderOptions& options) {
  const auto resharder = exchange::Resharder::make(exchange, reshard, from, to, options);
  if (resharder.ok()) return "";
  require(!resharder.error().message.empty(), "an error has words", "");
  return cat(code_name(resharder.error().code), ": ", resharder.error().message);
}

void check_pair(const test::ReshardPair& pair, Choices& choices, std::string_view text) {
  const Result<reshard::Reshard> reshard =
      reshard::Reshard::make(pair.from, pair.to, pair.physical);
  if (!reshard.ok()) return;
  require(test::naive_refusals(pair.from, pair.to, pair.physical).empty(), "nothing speaks against",
          text);
  const auto ranks = static_cast<int>(1 + choices.below(4));
  const std::int64_t places = pair.physical.mesh.elements();
  const exchange::RankMap from = any_ranks(choices, places, ranks);
  const exchange::RankMap to = choices.below(2) == 0 ? from : any_ranks(choices, places, ranks);
  exchange::ResharderOptions options = any_options(choices);
  if (options.padding == relayout::PaddingRule::kZero && !promises_nothing(pair.to)) {
    options.padding = relayout::PaddingRule::kPromised;
  }

  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  test::on_ranks(ranks, [&](exchange::Exchange& exchange) {
    said[static_cast<std::size_t>(exchange.rank())] =
        refusal(exchange, *reshard, from, to, options);
    return std::string();
  });
  for (const std::string& words : said) {
    require(words == said.front(), "an error of one rank is the error of all", text);
  }
  const test::NaiveReshard moves = test::naive_reshard(pair.from, pair.to, pair.physical);
  if (!said.front().empty() || !test::can_be_exchanged(pair, moves)) return;

  const test::ExchangeCase data = test::exchange_case(pair, moves);
  test::RankCase question{pair, data, from, to, options, choices.below(3) == 1, 2};
  const std::string mistakes = test::on_ranks(
      ranks, [&](exchange::Exchange& exchange) { return test::rank_mistake(exchange, question); });
  require(mistakes.empty(), mistakes.c_str(), text);
}

void check_text(std::string_view text) {
  const std::size_t first = text.find('\n');
  if (first == std::string_view::npos) return;
  const std::size_t second = text.find('\n', first + 1);
  if (second == std::string_view::npos) return;
  const Result<Tensor> a = parse_tensor(text.substr(0, first));
  const Result<Tensor> b = parse_tensor(text.substr(first + 1, second - first - 1));
  if (!a.ok() || !b.ok() || !is_small(a->placement) || !is_small(b->placement)) return;
  Choices choices(text.substr(second + 1));
  const Result<reshard::PhysicalMesh> physical =
      choices.below(2) == 0 ? reshard::PhysicalMesh::in_a_row(a->placement, b->placement)
                            : reshard::PhysicalMesh::around(a->placement, b->placement);
  constexpr std::int64_t kMostPlaces = 1 << 9;
  if (!physical.ok() || physical->mesh.elements() > kMostPlaces) return;
  check_pair({a->placement, b->placement, *physical}, choices, text);
}

}  // namespace
}  // namespace tessera

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  tessera::check_text({reinterpret_cast<const char*>(bytes), size});
  return 0;
}

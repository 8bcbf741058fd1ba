// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/exchange.h"
#include "tessera/exchange/resharder.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/exchange/faulty_exchange.h"
#include "tessera/testing/figures.h"

/// Faults on one of three ranks that move 96x96 f32 from rows to columns: one clear error, the same
/// on all of them, and none without a fault.
namespace tessera::exchange {
namespace {

using std::chrono::milliseconds;
using test::ExchangeCall;
using test::Faults;
using test::FaultyExchange;
using test::Pace;

constexpr int kRanks = 3;
constexpr std::int64_t kSide = 96;
constexpr std::int64_t kShare = kSide / kRanks;

reshard::Reshard rows_to_columns(const std::string& to = "pyflame.ColPartition(3)") {
  const auto tensor = [](const std::string& layout) {
    return *parse_tensor("tensor<96x96xf32, " + layout + ">");
  };
  // Columns are places [0, c] of the mesh, rows [r, 0].
  const Tensor a = tensor("pyflame.RowPartition(3)");
  const Tensor b = tensor(to);
  return *reshard::Reshard::make(a.placement, b.placement,
                                 *reshard::PhysicalMesh::around(a.placement, b.placement));
}

/// The ranks of rows 0 1 2 (places 0, 3, 6 of a 3x3 physical mesh) and of columns (places 0, 1, 2).
RankMap by_row() { return *RankMap::table({0, 0, 0, 1, 1, 1, 2, 2, 2}, kRanks); }
RankMap by_column() { return *RankMap::table({0, 1, 2, 0, 1, 2, 0, 1, 2}, kRanks); }

ResharderOptions small_packets() {
  ResharderOptions options;
  options.packet_bytes = 1024;
  options.staging_bytes = std::int64_t{16} << 10;
  options.timeouts = {milliseconds(120'000), milliseconds(60'000)};
  return options;
}

/// Runs twice, as other programs do, and returns the errors: of make, or of the first and the
/// second run.
struct Outcome {
  Status made = ok_status();
  Status first = ok_status();
  Status second = ok_status();
  bool right = false;  ///< the contents of B after the second run
};

Outcome outcome_of(Exchange& exchange, const reshard::Reshard& reshard,
                   const ResharderOptions& options) {
  Outcome outcome;
  Result<Resharder> made = Resharder::make(exchange, reshard, by_row(), by_column(), options);
  if (!made) {
    outcome.made = made.error();
    return outcome;
  }
  std::vector<float> from(static_cast<std::size_t>(kShare * kSide));
  std::vector<float> to(from.size());
  const int rank = exchange.rank();
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = static_cast<float>(rank * kShare * kSide + static_cast<std::int64_t>(i));
  }
  const auto run = [&] {
    return made->run(std::as_bytes(std::span(from)), std::as_writable_bytes(std::span(to)));
  };
  outcome.first = run();
  outcome.second = run();
  outcome.right = true;
  for (std::int64_t row = 0; row < kSide; ++row) {
    for (std::int64_t col = 0; col < kShare; ++col) {
      const float expected = static_cast<float>(row * kSide + rank * kShare + col);
      if (to[static_cast<std::size_t>(row * kShare + col)] != expected) outcome.right = false;
    }
  }
  return outcome;
}

/// Every rank runs `work` on a separate thread, and leaves `pace` if there is one.
std::vector<Outcome> on_all(const std::vector<std::unique_ptr<Exchange>>& all,
                            const std::function<Outcome(Exchange&)>& work, Pace* pace = nullptr) {
  std::vector<Outcome> outcomes(all.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[rank] = work(*all[rank]);
      if (pace != nullptr) pace->leave(static_cast<int>(rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

std::vector<Outcome> with_faults(int rank, const Faults& faults, const ResharderOptions& options) {
  const auto pace = std::make_shared<Pace>(kRanks);
  const auto all = test::paced_exchange(pace, kRanks, rank, faults);
  const reshard::Reshard reshard = rows_to_columns();
  return on_all(
      all, [&](Exchange& exchange) { return outcome_of(exchange, reshard, options); }, pace.get());
}

/// The first run ends in one error on all ranks, in which `reader` reports `sender`; the second
/// succeeds.
void expect_bad_packet(const std::vector<Outcome>& outcomes, int reader, int sender,
                       const std::string& figures) {
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.made.ok()) << outcome.made.error().message;
    ASSERT_FALSE(outcome.first.ok());
    const Error& error = outcome.first.error();
    EXPECT_EQ(error.code, ErrorCode::kBadPacket);
    // The reader, the number of the packet, the sender, and what is wrong with it.
    const std::string found = test::figures(error.message);
    EXPECT_TRUE(found.starts_with(cat(reader, " "))) << error.message;
    EXPECT_NE((found + " ").find(cat(" ", sender, " ", figures)), std::string::npos)
        << error.message;
    EXPECT_EQ(error.message, outcomes[0].first.error().message);
    EXPECT_TRUE(outcome.second.ok()) << "the fault is over";
    EXPECT_TRUE(outcome.right);
  }
}

TEST(Faults, NothingIsWrongWithoutAny) {
  for (const Outcome& outcome : with_faults(1, {}, small_packets())) {
    ASSERT_TRUE(outcome.made.ok()) << outcome.made.error().message;
    EXPECT_TRUE(outcome.first.ok());
    EXPECT_TRUE(outcome.second.ok());
    EXPECT_TRUE(outcome.right);
  }
}

TEST(Faults, ATruncatedPacketIsOneErrorOnAllRanks) {
  Faults faults;
  faults.cut_packets = {{0, 1, 5}};  // the second from rank 1 to rank 0
  expect_bad_packet(with_faults(1, faults, small_packets()), 0, 1, "");
  faults.cut_packets = {{2, 0, 1 << 20}};  // nothing is left of the first to rank 2
  expect_bad_packet(with_faults(1, faults, small_packets()), 2, 1, "0 ");
}

TEST(Faults, AFlippedBitIsSeenByTheChecksum) {
  Faults faults;
  faults.flipped_bits = {{2, 0, 8 * 600 + 3}};
  ResharderOptions options = small_packets();
  for (const Outcome& outcome : with_faults(0, faults, options)) {
    EXPECT_TRUE(outcome.first.ok()) << "nobody looks";
  }
  options.checksums = true;
  expect_bad_packet(with_faults(0, faults, options), 2, 0, "");
}

TEST(Faults, ASlowRankIsNone) {
  Faults faults;
  for (const ExchangeCall call : {ExchangeCall::kSend, ExchangeCall::kArrived}) {
    faults.delays.push_back({call, 2, milliseconds(200)});
  }
  ResharderOptions options = small_packets();
  options.timeouts = {milliseconds(50), milliseconds(2000)};
  for (const Outcome& outcome : with_faults(2, faults, options)) {
    EXPECT_TRUE(outcome.first.ok());
    EXPECT_TRUE(outcome.second.ok());
    EXPECT_TRUE(outcome.right);
  }
}

/// Rank 0 receives all of B, which is on rank `source`, and is slow. Returns the error on rank 2,
/// which only waits.
Status while_another_is_busy(int source, bool in_place) {
  const auto pace = std::make_shared<Pace>(kRanks);
  const auto all = test::paced_exchange(pace, kRanks);
  const reshard::Reshard reshard = rows_to_columns();
  ResharderOptions options = small_packets();
  options.timeouts = {milliseconds(40), milliseconds(400)};
  const RankMap from = *RankMap::table(std::vector<std::int32_t>(9, source), kRanks);
  const RankMap to = *RankMap::table(std::vector<std::int32_t>(9, 0), kRanks);
  const auto work = [&](Exchange& exchange) -> Outcome {
    Outcome outcome;
    Result<Resharder> made = Resharder::make(exchange, reshard, from, to, options);
    outcome.made = made ? ok_status() : Status(made.error());
    if (!made) return outcome;
    made->on_progress(
        [&](std::int64_t, std::int64_t) { pace->pass(exchange.rank(), milliseconds(20)); });
    std::vector<std::byte> own(static_cast<std::size_t>(made->from().bytes()));
    std::vector<std::byte> b(static_cast<std::size_t>(made->to().bytes()));
    std::unique_ptr<SharedArray> shared;
    if (in_place) shared = std::move(*made->share_source());
    outcome.first = made->run(shared ? shared->mine() : std::span(own), b);
    return outcome;
  };
  const auto outcomes = on_all(all, work, pace.get());
  EXPECT_TRUE(outcomes[2].made.ok());
  return outcomes[2].first;
}

TEST(Faults, ARankThatIsBusyIsNotSilent) {
  std::vector<std::thread> cases;
  const auto begin = [&](int source, bool in_place) {
    cases.emplace_back([source, in_place] {
      const Status waiting = while_another_is_busy(source, in_place);
      EXPECT_TRUE(waiting.ok()) << source << in_place << waiting.error().message;
    });
  };
  begin(0, false);
  begin(1, false);
  begin(1, true);
  for (std::thread& one : cases) one.join();
}

void expect_hung_rank_is_named(int hung, ExchangeCall call) {
  Faults faults;
  faults.hangs = {{call, 4}};
  const auto pace = std::make_shared<Pace>(kRanks);
  const auto all = test::paced_exchange(pace, kRanks, hung, faults);
  auto& hanging = static_cast<FaultyExchange&>(*all[static_cast<std::size_t>(hung)]);
  ResharderOptions options = small_packets();
  options.timeouts = {milliseconds(40), milliseconds(600)};
  const reshard::Reshard reshard = rows_to_columns();
  std::atomic<int> done = 0;
  const auto work = [&](Exchange& exchange) {
    Outcome outcome = outcome_of(exchange, reshard, options);
    if (++done == kRanks - 1) hanging.let_go();
    return outcome;
  };
  const auto outcomes = on_all(all, work, pace.get());
  std::string message;
  for (const Outcome& outcome : outcomes) {
    // The hung rank learns of it too, once it continues.
    const Status& status = !outcome.made.ok() ? outcome.made : outcome.second;
    ASSERT_FALSE(status.ok()) << static_cast<int>(call) << " on " << hung;
    EXPECT_EQ(status.error().code, ErrorCode::kRankSilent);
    EXPECT_TRUE(test::figures(status.error().message).starts_with(cat(hung, " ")))
        << status.error().message;
    if (message.empty()) message = status.error().message;
    EXPECT_EQ(status.error().message, message);
  }
}

TEST(Faults, AHungRankIsNamedByTheOthers) {
  std::vector<std::thread> cases;
  for (const ExchangeCall call :
       {ExchangeCall::kSend, ExchangeCall::kArrived, ExchangeCall::kTell}) {
    for (const int hung : {0, 2}) cases.emplace_back(expect_hung_rank_is_named, hung, call);
  }
  for (std::thread& one : cases) one.join();
}

TEST(Faults, ARankWithAnotherPlanIsNamed) {
  const reshard::Reshard usual = rows_to_columns();
  const reshard::Reshard other = rows_to_columns("pyflame.BlockCyclic(1, 3, 96, 8)");
  auto all = in_process_exchange(kRanks);
  const auto outcomes = on_all(all, [&](Exchange& exchange) {
    return outcome_of(exchange, exchange.rank() == 2 ? other : usual, small_packets());
  });
  for (const Outcome& outcome : outcomes) {
    ASSERT_FALSE(outcome.made.ok());
    EXPECT_EQ(outcome.made.error().code, ErrorCode::kPlansDiffer);
    EXPECT_TRUE(test::figures(outcome.made.error().message).starts_with("2"))
        << outcome.made.error().message;
    EXPECT_NE(test::figures(outcome.made.error().message).find("2 3"), std::string::npos);
  }
  auto again = in_process_exchange(kRanks);
  const auto options = on_all(again, [&](Exchange& exchange) {
    ResharderOptions mine = small_packets();
    mine.checksums = exchange.rank() == 0;
    return outcome_of(exchange, usual, mine);
  });
  for (const Outcome& outcome : options) {
    ASSERT_FALSE(outcome.made.ok());
    EXPECT_TRUE(test::figures(outcome.made.error().message).starts_with("0"))
        << outcome.made.error().message;
  }
}

/// An exchange whose lanes break down when a packet has arrived for the fourth time.
class BrokenExchange final : public Exchange {
 public:
  explicit BrokenExchange(std::unique_ptr<Exchange> inner) : inner_(std::move(inner)) {}
  int rank() const override { return inner_->rank(); }
  int ranks() const override { return inner_->ranks(); }
  Result<std::unique_ptr<Lane>> open(const LaneSize& size) override {
    TESSERA_TRY(std::unique_ptr<Lane> lane, inner_->open(size));
    return std::unique_ptr<Lane>(std::make_unique<BrokenLane>(std::move(lane)));
  }
  Result<std::unique_ptr<SharedArray>> share(std::int64_t bytes) override {
    return inner_->share(bytes);
  }
  Status tell(int to, std::span<const std::byte> bytes) override { return inner_->tell(to, bytes); }
  Result<std::optional<RankNote>> heard() override { return inner_->heard(); }
  void idle() override { inner_->idle(); }
  void abandon(int status) override { inner_->abandon(status); }

 private:
  class BrokenLane final : public Lane {
   public:
    explicit BrokenLane(std::unique_ptr<Lane> inner) : inner_(std::move(inner)) {}
    Result<std::span<std::byte>> room() override { return inner_->room(); }
    Status send(int to, std::int64_t bytes) override { return inner_->send(to, bytes); }
    Status expect(int from) override { return inner_->expect(from); }
    Result<std::optional<std::span<const std::byte>>> arrived(int from) override {
      auto answer = inner_->arrived(from);
      if (!answer.ok() || !*answer || ++arrived_ < 4) return answer;
      return Error{ErrorCode::kIo, "the card is gone"};
    }
    Status release(int from) override { return inner_->release(from); }
    std::int64_t staged_bytes() const override { return inner_->staged_bytes(); }

   private:
    std::unique_ptr<Lane> inner_;
    int arrived_ = 0;
  };
  std::unique_ptr<Exchange> inner_;
};

TEST(Faults, ATransportThatBreaksOnOneRankIsTheErrorOfAll) {
  auto all = in_process_exchange(kRanks);
  all[1] = std::make_unique<BrokenExchange>(std::move(all[1]));
  const reshard::Reshard reshard = rows_to_columns();
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<Outcome> outcomes = on_all(
      all, [&](Exchange& exchange) { return outcome_of(exchange, reshard, small_packets()); });
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.made.ok()) << outcome.made.error().message;
    ASSERT_FALSE(outcome.first.ok());
    EXPECT_EQ(outcome.first.error().code, ErrorCode::kIo);
    EXPECT_EQ(outcome.first.error().message, "rank 1: the card is gone");
    ASSERT_FALSE(outcome.second.ok()) << "it is over";
    EXPECT_EQ(outcome.second.error().message, "rank 1: the card is gone");
  }
  // At once: no timeout of two minutes has to expire first.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace tessera::exchange

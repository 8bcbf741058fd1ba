// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/exchange/fingerprint.h"
#include "tessera/exchange/resharder.h"
#include "tessera/mpi/mpi_exchange.h"
#include "tessera/notation/notation.h"
#include "tessera/testing/exchange/exchange_runs.h"
#include "tessera/testing/exchange/faulty_exchange.h"
#include "tessera/testing/figures.h"
#include "tessera/testing/reshard/reshard_runs.h"

/// Reshards between processes: all ranks draw the same pairs, and each checks its own places.
namespace tessera::mpi {
namespace {

using test::Dice;

std::unique_ptr<exchange::Exchange> world(bool shared_memory) {
  auto exchange = mpi_exchange({.shared_memory = shared_memory});
  EXPECT_TRUE(exchange.ok()) << exchange.error().message;
  return exchange.ok() ? std::move(*exchange) : nullptr;
}

/// An error on any rank is an error on all, so that all continue with the same next pair.
std::string told_to_all(const std::string& mine) {
  const int bad = mine.empty() ? 0 : 1;
  int any = 0;
  MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return any == 0 ? "" : cat("on some rank; here: ", mine);
}

void random_pairs_arrive(bool shared_memory, int cases, test::ReshardSource source) {
  const auto exchange = world(shared_memory);
  ASSERT_NE(exchange, nullptr);
  test::reshard_law_holds(
      cases, source, [&](const test::ReshardPair& pair, const test::NaiveReshard& moves) {
        if (!test::can_be_exchanged(pair, moves)) return std::string();
        exchange::Fingerprint seed;
        seed.add(test::describe(pair));
        Dice dice(seed.value());
        const std::int64_t places = pair.physical.mesh.elements();
        const exchange::RankMap from = test::random_ranks(dice, places, exchange->ranks());
        const exchange::RankMap to = test::random_ranks(dice, places, exchange->ranks());
        const test::ExchangeCase data = test::exchange_case(pair, moves);
        test::RankCase question{pair, data, from, to, {}, false, 2};
        question.options.packet_bytes = dice.chance(50) ? 256 : 4096;
        question.options.staging_bytes = 2 * question.options.packet_bytes * dice.between(1, 4);
        question.options.checksums = dice.chance(50);
        question.options.padding = relayout::PaddingRule::kZero;
        question.shared = dice.chance(33);
        return told_to_all(test::rank_mistake(*exchange, question));
      });
}

TEST(ResharderMpi, RandomPairsThroughSharedMemory) {
  random_pairs_arrive(true, 150, test::ReshardSource::kForms);
}
TEST(ResharderMpi, RandomPairsThroughMessages) {
  random_pairs_arrive(false, 150, test::ReshardSource::kForms);
}
TEST(ResharderMpi, NotationsThroughBoth) {
  random_pairs_arrive(true, 100, test::ReshardSource::kTexts);
  random_pairs_arrive(false, 100, test::ReshardSource::kTexts);
}

/// Square row shards to column shards, one place per rank.
struct Square {
  Tensor a;
  Tensor b;
  reshard::Reshard reshard;
  exchange::RankMap from;
  exchange::RankMap to;
};

Square square(std::int64_t side, int ranks) {
  const auto tensor = [&](const std::string& layout) {
    return *parse_tensor(cat("tensor<", side, "x", side, "xf32, ", layout, "(", ranks, ")>"));
  };
  Tensor a = tensor("pyflame.RowPartition");
  Tensor b = tensor("pyflame.ColPartition");
  const reshard::PhysicalMesh physical = *reshard::PhysicalMesh::around(a.placement, b.placement);
  reshard::Reshard reshard = *reshard::Reshard::make(a.placement, b.placement, physical);
  exchange::RankMap from = *exchange::distribute_places(a.placement, physical, ranks);
  exchange::RankMap to = *exchange::distribute_places(b.placement, physical, ranks);
  return {std::move(a), std::move(b), std::move(reshard), std::move(from), std::move(to)};
}

/// Kilobytes of a line of this process's status, such as VmHWM.
std::int64_t status_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
  }
  return -1;
}

/// The possible error of these lines, which proc(5) calls inaccurate: every processor counts a
/// batch of pages before it reports them.
std::int64_t status_error_kib() {
  const std::int64_t processors = sysconf(_SC_NPROCESSORS_CONF);
  const std::int64_t batch_pages = std::max<std::int64_t>(32, 2 * processors);
  return processors * batch_pages * sysconf(_SC_PAGESIZE) / 1024;
}

/// A run takes no more memory than staging, except for memory that does not grow with the data: the
/// scratch of a worker, and MPI's own memory.
TEST(ResharderMpi, MemoryStaysWithinTheParameter) {
  constexpr std::int64_t kScratchKib = 6 << 10;
  for (const bool shared_memory : {true, false}) {
    const auto exchange = world(shared_memory);
    ASSERT_NE(exchange, nullptr);
    const Square data = square(4096, exchange->ranks());
    exchange::ResharderOptions options;
    options.staging_bytes = std::int64_t{1} << 20;
    auto resharder =
        exchange::Resharder::make(*exchange, data.reshard, data.from, data.to, options);
    ASSERT_TRUE(resharder.ok()) << resharder.error().message;
    EXPECT_LE(resharder->totals().staged_bytes, options.staging_bytes);
    EXPECT_GT(resharder->totals().sent_bytes, 4 * options.staging_bytes);
    const std::vector<std::byte> from(static_cast<std::size_t>(resharder->from().bytes()),
                                      std::byte{1});
    std::vector<std::byte> to(static_cast<std::size_t>(resharder->to().bytes()), std::byte{2});
    std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
    const std::int64_t before = status_kib("VmRSS");
    ASSERT_TRUE(resharder->run(from, to).ok());
    const std::int64_t peak = status_kib("VmHWM");
    ASSERT_GT(before, 0);
    EXPECT_LE(peak - before, options.staging_bytes / 1024 + kScratchKib + 2 * status_error_kib())
        << (shared_memory ? "shared memory" : "messages");
  }
}

/// No rank is reported as silent in a test that is not about silence, however busy the machine; in
/// a test about silence, the present ranks have seconds to answer.
constexpr exchange::Timeouts kPatient{std::chrono::seconds(60), std::chrono::seconds(60)};
constexpr exchange::Timeouts kHasty{std::chrono::milliseconds(200), std::chrono::seconds(4)};

exchange::ResharderOptions small_packets(const exchange::Timeouts& timeouts) {
  exchange::ResharderOptions options;
  options.packet_bytes = 4096;
  options.staging_bytes = 64 << 10;
  options.checksums = true;
  options.timeouts = timeouts;
  return options;
}

/// The error of a run between all ranks on `exchange` when the last of them may have another plan.
std::string error_of(exchange::Exchange& exchange, const exchange::Timeouts& timeouts,
                     const std::string& other_layout = "") {
  const int last = exchange.ranks() - 1;
  const bool faulty = exchange.rank() == last;
  const Square data = square(256, last + 1);
  reshard::Reshard reshard = data.reshard;
  if (faulty && !other_layout.empty()) {
    const Tensor other = *parse_tensor(other_layout);
    reshard =
        *reshard::Reshard::make(data.a.placement, other.placement,
                                *reshard::PhysicalMesh::around(data.a.placement, data.b.placement));
  }
  auto resharder =
      exchange::Resharder::make(exchange, reshard, data.from, data.to, small_packets(timeouts));
  if (!resharder.ok())
    return cat(code_name(resharder.error().code), ": ", test::figures(resharder.error().message));
  const std::vector<std::byte> from(static_cast<std::size_t>(resharder->from().bytes()));
  std::vector<std::byte> to(static_cast<std::size_t>(resharder->to().bytes()));
  const Status done = resharder->run(from, to);
  return done.ok() ? ""
                   : cat(code_name(done.error().code), ": ", test::figures(done.error().message));
}

/// The same when `faults` happen on the last rank.
std::string error_with(const test::Faults& faults, bool shared_memory) {
  auto exchange = world(shared_memory);
  if (exchange == nullptr) return "no exchange";
  if (exchange->rank() == exchange->ranks() - 1) {
    exchange = std::make_unique<test::FaultyExchange>(std::move(exchange), faults);
  }
  return error_of(*exchange, kPatient);
}

/// A number that ranks of one machine share, and read and write without MPI.
class SharedCount {
 public:
  SharedCount() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    void* mine = nullptr;
    MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                            static_cast<void*>(&mine), &window_);
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &bytes, &unit, static_cast<void*>(&number_));
    if (rank == 0) number().store(0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~SharedCount() { MPI_Win_free(&window_); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  std::atomic_ref<int> number() const { return std::atomic_ref<int>(*number_); }

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  int* number_ = nullptr;
};

int last_rank() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks - 1;
}

TEST(FaultsMpi, ACutOrChangedPacketIsOneErrorThatNamesTheRank) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  for (const bool shared_memory : {true, false}) {
    test::Faults cut;
    cut.cut_packets = {{0, 1, 100}};
    const std::string shorter = error_with(cut, shared_memory);
    EXPECT_TRUE(shorter.starts_with("bad_packet: 0 ")) << shorter;
    EXPECT_NE(shorter.find(cat(" ", last_rank(), " ")), std::string::npos) << shorter;
    test::Faults flipped;
    flipped.flipped_bits = {{0, 1, 10'000}};
    const std::string changed = error_with(flipped, shared_memory);
    EXPECT_TRUE(changed.starts_with("bad_packet: 0 ")) << changed;
    EXPECT_NE((changed + " ").find(cat(" ", last_rank(), " ")), std::string::npos) << changed;
    EXPECT_EQ(error_with({}, shared_memory), "");
  }
}

TEST(FaultsMpi, ARankWithAnotherPlanIsNamed) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  const std::string other = cat("tensor<256x256xf32, pyflame.RowPartition(", last_rank() + 1, ")>");
  const auto exchange = world(true);
  ASSERT_NE(exchange, nullptr);
  const std::string error = error_of(*exchange, kPatient, other);
  EXPECT_TRUE(error.starts_with("plans_differ: ")) << error;
  EXPECT_NE((error + " ").find(cat(" ", last_rank(), " ")), std::string::npos) << error;
}

/// The rank resumes after the others have given it up, and learns of it.
TEST(FaultsMpi, AHungRankIsNamed) {
  if (last_rank() == 0) GTEST_SKIP() << "needs two ranks";
  const SharedCount done;
  test::Faults faults;
  faults.hangs = {{test::ExchangeCall::kSend, 3}};
  auto inner = world(true);
  ASSERT_NE(inner, nullptr);
  const bool is_last = inner->rank() == last_rank();
  test::FaultyExchange exchange(std::move(inner), is_last ? faults : test::Faults{});
  std::jthread waker([&] {
    while (done.number() < last_rank()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    exchange.let_go();
  });
  const std::string error = error_of(exchange, kHasty);
  ++done.number();
  EXPECT_TRUE(error.starts_with("rank_silent: ")) << error;
  EXPECT_NE((error + " ").find(cat(" ", last_rank(), " ")), std::string::npos) << error;
}

}  // namespace
}  // namespace tessera::mpi

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  const int outcome = RUN_ALL_TESTS();
  MPI_Finalize();
  return outcome;
}

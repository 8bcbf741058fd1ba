// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/resharder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/exchange/agreement/plan_facts.h"
#include "tessera/exchange/contract.h"
#include "tessera/exchange/packets/packet_run.h"
#include "tessera/exchange/packets/packets.h"
#include "tessera/exchange/packets/rank_start.h"

namespace tessera::exchange {
namespace {

/// The size of packets, and how many may be in flight.
Result<LaneSize> lane_size(const ResharderOptions& options) {
  constexpr std::int64_t kGoodPacket = std::int64_t{256} << 10;
  constexpr std::int64_t kSmallPacket = std::int64_t{64} << 10;
  constexpr std::int64_t kLeastPacket = 4 * PacketHeader::kBytes;
  constexpr int kDeep = 4;
  LaneSize size;
  if (options.packet_bytes > 0) {
    size.packet_bytes = options.packet_bytes;
  } else {
    std::int64_t depth = kDeep;
    while (depth > 1 && options.staging_bytes / (2 * depth) < kSmallPacket) depth /= 2;
    size.packet_bytes = std::min(kGoodPacket, options.staging_bytes / (2 * depth));
  }
  size.packet_bytes = size.packet_bytes / PacketHeader::kBytes * PacketHeader::kBytes;
  if (size.packet_bytes < kLeastPacket || size.packet_bytes > kMostPacketBytes ||
      options.staging_bytes / 2 < size.packet_bytes) {
    return Error{ErrorCode::kOutOfRange,
                 cat("packets of ", size.packet_bytes, " bytes in ", options.staging_bytes,
                     " bytes of staging"),
                 std::nullopt,
                 cat("packets have ", kLeastPacket, " to ", kMostPacketBytes,
                     " bytes, and staging must hold two of them")};
  }
  const std::int64_t fit = options.staging_bytes / (2 * size.packet_bytes);
  size.sending = static_cast<int>(std::min<std::int64_t>(fit, kDeep));
  size.receiving = size.sending;
  return size;
}

std::string_view padding_name(relayout::PaddingRule rule) {
  switch (rule) {
    case relayout::PaddingRule::kPromised:
      return "promised";
    case relayout::PaddingRule::kZero:
      return "zero";
    case relayout::PaddingRule::kLeave:
      return "left";
  }
  return "";
}

}  // namespace

struct Resharder::Body {
  Body(Exchange& exchange, const ResharderOptions& asked)
      : options(asked), agreement(exchange, asked.timeouts), pool(asked.threads) {}

  ResharderOptions options;
  Agreement agreement;
  ThreadPool pool;
  LaneSize size;
  std::uint64_t hash = 0;
  std::optional<RankPlan> plan;
  std::optional<SlabMovers> movers;
  Packets packets;
  RankStart start;
  std::unique_ptr<Lane> lane;
  RankTotals totals;
  std::function<void(std::int64_t, std::int64_t)> on_progress;

  /// The array of share_source(), as long as its owner keeps it.
  struct Shared {
    SharedArray* array = nullptr;
    std::vector<bool> near;
    DirectReads reads;
  };
  std::shared_ptr<Shared> shared;

  Status make(const reshard::Reshard& reshard, const RankMap& from, const RankMap& to);
  void count();
};

namespace {

/// The array of share_source, which notifies the resharder when it is destroyed.
class SourceArray final : public SharedArray {
 public:
  SourceArray(std::unique_ptr<SharedArray> array, std::function<void()> on_end)
      : array_(std::move(array)), on_end_(std::move(on_end)) {}
  ~SourceArray() override { on_end_(); }
  std::span<std::byte> mine() override { return array_->mine(); }
  std::optional<std::span<const std::byte>> of(int rank) const override { return array_->of(rank); }

 private:
  std::unique_ptr<SharedArray> array_;
  std::function<void()> on_end_;
};

}  // namespace

Status Resharder::Body::make(const reshard::Reshard& reshard, const RankMap& from,
                             const RankMap& to) {
  for (const RankMap* map : {&from, &to}) {
    if (map->ranks() == agreement.ranks()) continue;
    return Error{ErrorCode::kMeshMismatch,
                 cat("a map to ", map->ranks(), " ranks for an exchange of ", agreement.ranks()),
                 std::nullopt, cat("give every place a rank below ", agreement.ranks())};
  }
  TESSERA_TRY(size, lane_size(options));
  TESSERA_TRY(RankPlan made, RankPlan::make(std::make_shared<const reshard::Reshard>(reshard), from,
                                            to, agreement.rank()));
  plan.emplace(std::move(made));
  movers.emplace(plan->from().memory.atom, plan->to().bytes());
  TESSERA_TRY(packets, Packets::make(*plan, agreement.ranks(), size.packet_bytes, *movers));
  TESSERA_TRY(start, RankStart::make(reshard, plan->to(), options.padding));
  return ok_status();
}

void Resharder::Body::count() {
  const auto moved = [](const std::vector<PacketPlan>& list) {
    std::int64_t bytes = 0;
    for (const PacketPlan& packet : list) bytes += packet.moved_bytes;
    return bytes;
  };
  for (const RankRoute& route : plan->sends())
    totals.sent_bytes += plan->reshard().bytes(route.elements);
  for (const RankRoute& route : plan->receives()) {
    totals.received_bytes += plan->reshard().bytes(route.elements);
  }
  totals.local_bytes = moved(packets.local);
  totals.packets_sent = static_cast<std::int64_t>(packets.sends.size());
  totals.packets_received = static_cast<std::int64_t>(packets.receives.size());
  std::vector<int> partners;
  for (const RankRoute& route : plan->sends()) partners.push_back(route.rank);
  for (const RankRoute& route : plan->receives()) partners.push_back(route.rank);
  std::sort(partners.begin(), partners.end());
  totals.partners = std::unique(partners.begin(), partners.end()) - partners.begin();
  totals.staged_bytes = lane->staged_bytes();
}

Resharder::Resharder(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Resharder::Resharder(Resharder&&) noexcept = default;
Resharder& Resharder::operator=(Resharder&&) noexcept = default;
Resharder::~Resharder() = default;

Result<Resharder> Resharder::make(Exchange& exchange, const reshard::Reshard& reshard,
                                  const RankMap& from, const RankMap& to,
                                  const ResharderOptions& options) {
  auto body = std::make_unique<Body>(exchange, options);
  const std::string agreed =
      cat("staging of ", options.staging_bytes, " bytes, packets of ", options.packet_bytes,
          ", checksums ", options.checksums ? "on" : "off", ", padding ",
          padding_name(options.padding));
  const std::vector<Fact> facts = facts_of(reshard, from, to, agreed);
  body->hash = tessera::exchange::plan_hash(facts);
  TESSERA_CHECK_OK(body->agreement.same(facts));
  TESSERA_CHECK_OK(body->agreement.settle(body->make(reshard, from, to)));
  TESSERA_TRY(body->lane, exchange.open(body->size));
  body->count();
  return Resharder(std::move(body));
}

const RankSide& Resharder::from() const { return body_->plan->from(); }
const RankSide& Resharder::to() const { return body_->plan->to(); }
const RankTotals& Resharder::totals() const { return body_->totals; }
std::uint64_t Resharder::plan_hash() const { return body_->hash; }
void Resharder::on_progress(std::function<void(std::int64_t, std::int64_t)> tell) {
  body_->on_progress = std::move(tell);
}

Result<std::unique_ptr<SharedArray>> Resharder::share_source() {
  Body& body = *body_;
  auto array = body.agreement.exchange().share(body.plan->from().bytes());
  Status made = array.ok() ? ok_status() : Status(array.error());
  auto shared = std::make_shared<Body::Shared>();
  if (array.ok()) {
    for (int rank = 0; rank < body.agreement.ranks(); ++rank) {
      shared->near.push_back(rank != body.agreement.rank() && array.value()->of(rank).has_value());
    }
    auto reads = DirectReads::make(*body.plan, shared->near, body.size.packet_bytes, *body.movers);
    if (reads.ok()) {
      shared->reads = std::move(reads.value());
    } else {
      made = reads.error();
    }
  }
  TESSERA_CHECK_OK(body.agreement.settle(made));
  shared->array = array.value().get();
  body.shared = shared;
  std::weak_ptr<Body::Shared> ends = shared;
  return std::unique_ptr<SharedArray>(
      std::make_unique<SourceArray>(std::move(array.value()), [ends] {
        if (const auto alive = ends.lock()) alive->array = nullptr;
      }));
}

namespace {

Status check_size(std::string_view which, std::size_t has, std::int64_t needed) {
  if (std::cmp_equal(has, needed)) return ok_status();
  return Error{
      ErrorCode::kOutOfRange,
      cat("the memory of ", which, " has ", has, " bytes, but this rank's places need ", needed),
      std::nullopt, "give memory of exactly that size"};
}

}  // namespace

Status Resharder::run(std::span<const std::byte> from, std::span<std::byte> to) {
  Body& body = *body_;
  Status ready = check_size("A", from.size(), body.plan->from().bytes());
  if (ready.ok()) ready = check_size("B", to.size(), body.plan->to().bytes());
  TESSERA_CHECK_OK(body.agreement.settle(ready));
  bool direct = false;
  if (body.shared) {
    // Sources are read in place when all ranks have them there.
    const bool mine = body.shared->array != nullptr && !from.empty()
                          ? from.data() == body.shared->array->mine().data()
                          : body.shared->array != nullptr;
    const std::int64_t elsewhere = mine ? 0 : 1;
    TESSERA_TRY(const std::vector<std::int64_t> others, body.agreement.sums({&elsewhere, 1}));
    direct = others[0] == 0;
  }
  const Status begun = body.start.run(to, body.pool);
  PacketRun run({body.agreement, *body.lane, *body.movers, body.pool, body.size, body.hash,
                 body.options.checksums},
                body.packets, from, to);
  if (direct) run.read_directly(body.shared->near, body.shared->reads, *body.shared->array);
  run.on_progress(body.on_progress);
  const Status ran = run.all();
  if (!ran.ok()) return body.agreement.give_up(ran.error());
  return body.agreement.settle(begun.ok() ? run.outcome() : begun);
}

}  // namespace tessera::exchange

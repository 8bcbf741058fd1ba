// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/packets/packet_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tessera/base/text.h"
#include "tessera/exchange/packets/checksum.h"

namespace tessera::exchange {

PacketRun::PacketRun(const PacketTools& tools, const Packets& packets,
                     std::span<const std::byte> from, std::span<std::byte> to)
    : tools_(tools),
      packets_(packets),
      from_(from),
      to_(to),
      taken_(packets.receives.size(), false) {
  for (const auto* list : {&packets.receives, &packets.local}) {
    for (const PacketPlan& packet : *list) all_bytes_ += packet.moved_bytes;
  }
}

void PacketRun::read_directly(const std::vector<bool>& near, const DirectReads& reads,
                              const SharedArray& array) {
  near_ = &near;
  reads_ = &reads;
  array_ = &array;
}

void PacketRun::on_progress(const std::function<void(std::int64_t, std::int64_t)>& tell) {
  if (tell) tell_ = &tell;
}

Status PacketRun::all() {
  // Reductions are combined in one fixed order, independent of arrival.
  if (packets_.combines) {
    while (next_local_ < packets_.local.size()) {
      copy_local();
      TESSERA_CHECK_OK(attend());
    }
  }
  if (reads_ != nullptr) TESSERA_CHECK_OK(read_all());
  last_ = tools_.agreement.exchange().now();
  while (true) {
    skip_near();
    TESSERA_CHECK_OK(expect_more());
    TESSERA_TRY(const bool sent, send_one());
    TESSERA_TRY(const bool received, receive_one());
    bool moved = sent || received;
    if (!moved && next_local_ < packets_.local.size()) {
      copy_local();
      moved = true;
    }
    if (moved) {
      TESSERA_CHECK_OK(attend());
      continue;
    }
    skip_near();
    if (next_send_ == packets_.sends.size() && first_missing_ == packets_.receives.size()) break;
    TESSERA_CHECK_OK(tools_.agreement.wait(awaited(), last_));
  }
  return ok_status();
}

bool PacketRun::is_near(int rank) const {
  return near_ != nullptr && (*near_)[static_cast<std::size_t>(rank)];
}

void PacketRun::note(Status status) {
  if (outcome_.ok() && !status.ok()) outcome_ = std::move(status);
}

void PacketRun::done(std::int64_t bytes) {
  done_bytes_ += bytes;
  if (tell_ != nullptr) (*tell_)(done_bytes_, all_bytes_);
}

void PacketRun::move_all(const PacketPlan& packet, std::span<const SlabMovers::Use> uses,
                         std::span<const std::byte> from, std::span<std::byte> to) {
  for (const SlabMovers::Use& use : uses.subspan(packet.first, packet.count)) {
    note(tools_.movers.run(use, from, to, tools_.pool));
  }
}

void PacketRun::copy_local() {
  const PacketPlan& slab = packets_.local[next_local_++];
  move_all(slab, packets_.uses, from_, to_);
  done(slab.moved_bytes);
}

/// Copies as much local data as has arrived from others: both write the same lines of B, which are
/// still in the caches.
Status PacketRun::keep_up(std::size_t received) {
  const std::size_t all = packets_.receives.size();
  while (next_local_ < packets_.local.size() &&
         next_local_ * all < received * packets_.local.size()) {
    copy_local();
    TESSERA_CHECK_OK(attend());
  }
  return ok_status();
}

Status PacketRun::read_all() {
  for (const std::vector<PacketPlan>& route : reads_->routes) {
    for (const PacketPlan& slab : route) {
      move_all(slab, reads_->uses, *array_->of(slab.peer), to_);
      done(slab.moved_bytes);
      TESSERA_CHECK_OK(attend());
    }
  }
  return ok_status();
}

/// Records progress. Periodically this rank reads its notes: other ranks may be done and wait for
/// long.
Status PacketRun::attend() {
  constexpr std::chrono::milliseconds kBetween{10};
  last_ = tools_.agreement.exchange().now();
  if (last_ - attended_ < kBetween) return ok_status();
  attended_ = last_;
  return tools_.agreement.wait(tools_.agreement.rank(), last_);
}

/// Skips packets that are read in place, and packets that have arrived.
void PacketRun::skip_near() {
  while (next_send_ < packets_.sends.size() && is_near(packets_.sends[next_send_].peer)) {
    ++next_send_;
  }
  while (next_expected_ < packets_.receives.size() &&
         is_near(packets_.receives[next_expected_].peer)) {
    taken_[next_expected_++] = true;
  }
  while (first_missing_ < packets_.receives.size() && taken_[first_missing_]) ++first_missing_;
}

Status PacketRun::expect_more() {
  while (next_expected_ < packets_.receives.size() && expected_ < tools_.size.receiving) {
    TESSERA_CHECK_OK(tools_.lane.expect(packets_.receives[next_expected_].peer));
    ++expected_;
    ++next_expected_;
    skip_near();
  }
  return ok_status();
}

Result<bool> PacketRun::send_one() {
  if (next_send_ == packets_.sends.size()) return false;
  TESSERA_TRY(const std::span<std::byte> room, tools_.lane.room());
  if (room.empty()) return false;
  const PacketPlan& packet = packets_.sends[next_send_];
  const auto bytes = static_cast<std::size_t>(packet.bytes);
  move_all(packet, packets_.uses, from_, room);
  PacketHeader header{tools_.plan, static_cast<std::uint64_t>(packet.index), bytes, 0};
  if (tools_.checksums) {
    header.checksum = checksum(room.subspan(PacketHeader::kBytes, bytes - PacketHeader::kBytes));
  }
  std::memset(room.data(), 0, PacketHeader::kBytes);
  std::memcpy(room.data(), &header, sizeof header);
  TESSERA_CHECK_OK(tools_.lane.send(packet.peer, packet.bytes));
  ++next_send_;
  return true;
}

Result<bool> PacketRun::receive_one() {
  // Packets of one rank arrive in order: after a missing one, no other of that rank is checked.
  passed_.clear();
  for (std::size_t i = first_missing_; i < next_expected_; ++i) {
    if (taken_[i]) continue;
    const PacketPlan& packet = packets_.receives[i];
    if (std::find(passed_.begin(), passed_.end(), packet.peer) != passed_.end()) continue;
    TESSERA_TRY(const auto arrived, tools_.lane.arrived(packet.peer));
    if (arrived) {
      Status checked = check(packet, *arrived);
      if (checked.ok()) {
        move_all(packet, packets_.uses, *arrived, to_);
      } else {
        note(std::move(checked));
      }
      TESSERA_CHECK_OK(tools_.lane.release(packet.peer));
      taken_[i] = true;
      --expected_;
      done(packet.moved_bytes);
      TESSERA_CHECK_OK(keep_up(++received_));
      return true;
    }
    if (packets_.combines) return false;
    passed_.push_back(packet.peer);
  }
  return false;
}

Status PacketRun::check(const PacketPlan& packet, std::span<const std::byte> bytes) const {
  const auto wrong = [&](const std::string& what, std::string help) {
    return Error{ErrorCode::kBadPacket,
                 cat("packet ", packet.index, " from rank ", packet.peer, " ", what), std::nullopt,
                 std::move(help)};
  };
  if (std::cmp_not_equal(bytes.size(), packet.bytes)) {
    return wrong(cat("has ", bytes.size(), " bytes, and ", packet.bytes, " were expected"),
                 "data were lost in transit: check the network, and run again");
  }
  PacketHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.plan != tools_.plan || std::cmp_not_equal(header.index, packet.index) ||
      std::cmp_not_equal(header.bytes, packet.bytes)) {
    return wrong("carries the header of another packet",
                 "data were changed in transit: check the network");
  }
  if (tools_.checksums && header.checksum != checksum(bytes.subspan(PacketHeader::kBytes))) {
    return wrong("does not match its checksum",
                 "data were changed in transit: check memory and network");
  }
  return ok_status();
}

/// The rank that must act before this rank can continue.
int PacketRun::awaited() const {
  if (first_missing_ < packets_.receives.size()) return packets_.receives[first_missing_].peer;
  // All memory for packets is in flight: the oldest packet has not been read.
  std::size_t oldest = next_send_;
  for (int on_way = 0; oldest > 0 && on_way < tools_.size.sending;) {
    if (!is_near(packets_.sends[--oldest].peer)) ++on_way;
  }
  return packets_.sends[oldest].peer;
}

}  // namespace tessera::exchange

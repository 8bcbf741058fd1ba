// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/exchange/exchange_laws.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tessera/base/text.h"
#include "tessera/testing/exchange/exchange_witness.h"

namespace tessera::test {
namespace {

void check_notes(Witness& w) {
  constexpr int kNotes = 12;
  constexpr std::int64_t kMost = exchange::Exchange::kNoteBytes;
  const auto key = [&](int from, int to, int i) { return mixed(w.seed(), 1, from, to, i); };
  const auto bytes = [&](std::uint64_t k, int i) {
    if (i < 2) return i == 0 ? kMost : std::int64_t{0};
    return static_cast<std::int64_t>(k % static_cast<std::uint64_t>(kMost + 1));
  };
  for (int i = 0; i < kNotes; ++i) {
    for (int to = 0; to < w.ranks(); ++to) {
      const std::uint64_t k = key(w.rank(), to, i);
      std::vector<std::byte> note(static_cast<std::size_t>(bytes(k, i)));
      write_pattern(note, k);
      w.expect_fine(w.exchange().tell(to, note), "tell");
      std::ranges::fill(note, std::byte{0xee});  // the buffer may be reused at once
    }
  }
  for (int from = 0; from < w.ranks(); ++from) {
    for (int i = 0; i < kNotes && w.fine(); ++i) {
      const std::uint64_t k = key(from, w.rank(), i);
      const auto note = w.note_of(from);
      if (!note) return;
      w.expect(static_cast<std::int64_t>(note->size()) == bytes(k, i),
               cat("note ", i, " of rank ", from, " has ", note->size(), " bytes"));
      w.expect(has_pattern(*note, k), cat("note ", i, " of rank ", from, " is another"));
    }
  }
  const std::vector<std::byte> long_note(static_cast<std::size_t>(kMost + 1));
  w.expect_refused(w.exchange().tell(0, long_note), "a note of 4097 bytes");
  w.expect_refused(w.exchange().tell(w.ranks(), {}), "a note to a rank that is not there");
  w.expect_refused(w.exchange().tell(-1, {}), "a note to rank -1");
}

/// Packets from every rank to every other over one lane. Rank r sends to r + 1, then to r + 2, and
/// so on, and receives in the same order, so that the earliest undelivered packet can always make
/// progress.
class AllToAll {
 public:
  AllToAll(Witness& w, exchange::Lane& lane, const exchange::LaneSize& size, std::uint64_t seed)
      : w_(w), lane_(lane), size_(size), seed_(seed) {
    for (int step = 1; step < w.ranks(); ++step) {
      list(outgoing_, w.rank(), (w.rank() + step) % w.ranks(), true);
      list(incoming_, (w.rank() + w.ranks() - step) % w.ranks(), w.rank(), false);
    }
  }

  bool done() const { return sent_ == outgoing_.size() && read_ == incoming_.size(); }

  /// Does everything that is possible now.
  void go_on() {
    send();
    while (w_.fine() && expected_ < incoming_.size() &&
           expected_ - read_ < static_cast<std::size_t>(size_.receiving)) {
      w_.expect_fine(lane_.expect(incoming_[expected_++].other), "expect");
    }
    read();
  }

 private:
  struct Packet {
    int other;
    std::uint64_t key;
    std::int64_t bytes;
  };

  void list(std::vector<Packet>& packets, int from, int to, bool out) {
    const int count = static_cast<int>(mixed(seed_, 2, from, to) % 7);
    for (int i = 0; i < count; ++i) {
      const std::uint64_t key = mixed(seed_, 3, from, to, i);
      std::int64_t bytes =
          static_cast<std::int64_t>(key % static_cast<std::uint64_t>(size_.packet_bytes + 1));
      if (key >> 62 == 0) bytes = 0;
      if (key >> 62 == 1) bytes = size_.packet_bytes;
      packets.push_back({out ? to : from, key, bytes});
    }
  }

  void send() {
    if (sent_ == outgoing_.size()) return;
    const Result<std::span<std::byte>> room = lane_.room();
    if (!room) return w_.wrong(said("room", room.error()));
    if (room->empty()) return;
    const Packet& packet = outgoing_[sent_++];
    w_.expect(static_cast<std::int64_t>(room->size()) == size_.packet_bytes, "room is too small");
    w_.expect(reinterpret_cast<std::uintptr_t>(room->data()) % 64 == 0, "room is not on a line");
    write_pattern(room->first(static_cast<std::size_t>(packet.bytes)), packet.key);
    const Result<std::span<std::byte>> again = lane_.room();
    w_.expect(again.ok() && again->data() == room->data(), "room moves before send");
    w_.expect_fine(lane_.send(packet.other, packet.bytes), "send");
  }

  void read() {
    while (w_.fine() && read_ < expected_) {
      const Packet& packet = incoming_[read_];
      const auto here = lane_.arrived(packet.other);
      if (!here) return w_.wrong(said("arrived", here.error()));
      if (!*here) return;
      w_.expect(static_cast<std::int64_t>((*here)->size()) == packet.bytes,
                cat("packet ", read_, ", of rank ", packet.other, ", has ", (*here)->size(),
                    " bytes, not ", packet.bytes));
      w_.expect(has_pattern(**here, packet.key),
                cat("packet ", read_, ", of rank ", packet.other, ", is another"));
      const auto again = lane_.arrived(packet.other);
      w_.expect(again.ok() && again->has_value() && (**again).data() == (**here).data(),
                "a packet moves before it is released");
      w_.expect_fine(lane_.release(packet.other), "release");
      ++read_;
    }
  }

  Witness& w_;
  exchange::Lane& lane_;
  exchange::LaneSize size_;
  std::uint64_t seed_;
  std::vector<Packet> outgoing_;
  std::vector<Packet> incoming_;
  std::size_t sent_ = 0;
  std::size_t expected_ = 0;
  std::size_t read_ = 0;
};

void check_packets(Witness& w) {
  const exchange::LaneSize sizes[] = {
      {1, 1, 1}, {100, 3, 1}, {5000, 1, 4}, {70'000, 2, 2}, {300'000, 4, 3}};
  for (const exchange::LaneSize& size : sizes) {
    const std::unique_ptr<exchange::Lane> lane = w.open(size);
    if (!lane) return;
    w.expect(lane->staged_bytes() <= size.packet_bytes * (size.sending + size.receiving),
             "a lane takes more memory than it may");
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
      AllToAll all(w, *lane, size, mixed(w.seed(), 4, size.packet_bytes, turn));
      w.wait(cat("packets of ", size.packet_bytes), [&] {
        all.go_on();
        return all.done();
      });
    }
  }
}

void check_lanes(Witness& w) {
  const exchange::LaneSize sizes[] = {{64, 2, 2}, {64, 2, 2}, {9000, 1, 1}, {200'000, 3, 2}};
  std::vector<std::unique_ptr<exchange::Lane>> lanes;
  std::vector<AllToAll> runs;
  for (const exchange::LaneSize& size : sizes) lanes.push_back(w.open(size));
  if (!w.fine()) return;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    runs.emplace_back(w, *lanes[i], sizes[i], mixed(w.seed(), 5, i));
  }
  w.wait("several lanes at once", [&] {
    for (AllToAll& run : runs) run.go_on();
    return std::ranges::all_of(runs, [](const AllToAll& run) { return run.done(); });
  });
  // One after the other, each with a packet that no rank reads, short or long; ranks drop them at
  // different times.
  const int next = (w.rank() + 1) % w.ranks();
  for (int i = 0; i < 8 && w.fine(); ++i) {
    const exchange::LaneSize size{i % 2 == 0 ? 100 : 500'000, 2, 2};
    lanes[static_cast<std::size_t>((i + w.rank()) % 4)] = w.open(size);
    exchange::Lane* const lane = lanes[static_cast<std::size_t>((i + w.rank()) % 4)].get();
    if (!lane || w.ranks() == 1) continue;
    w.expect_fine(lane->expect(next), "expect of what never comes");
    w.expect(lane->room().ok() && !lane->room()->empty(), "a new lane has no room");
    w.expect_fine(lane->send(next, size.packet_bytes), "send of what nobody reads");
  }
}

/// Packets so long that no network accepts them before the receiver is ready.
void check_room(Witness& w) {
  const exchange::LaneSize size{std::int64_t{1} << 20, 3, 3};
  const std::unique_ptr<exchange::Lane> lane = w.open(size);
  if (!lane || w.ranks() == 1) return;
  const int next = (w.rank() + 1) % w.ranks();
  const int previous = (w.rank() + w.ranks() - 1) % w.ranks();
  for (int turn = 0; turn < 3 && w.fine(); ++turn) {
    for (int i = 0; i < size.sending && w.fine(); ++i) {
      w.wait("room", [&] { return !lane->room().ok() || !lane->room()->empty(); });
      w.expect_fine(lane->send(next, size.packet_bytes), "send");
    }
    for (int poll = 0; poll < 20; ++poll) {
      w.expect(lane->room().ok() && lane->room()->empty(), "room with all packets on their way");
      w.exchange().idle();
    }
    w.expect_refused(lane->send(next, 1), "a packet without room");
    w.meet();
    for (int i = 0; i < size.receiving; ++i) w.expect_fine(lane->expect(previous), "expect");
    w.expect_refused(lane->expect(previous), "one more expected packet than may be");
    for (int i = 0; i < size.receiving && w.fine(); ++i) {
      w.wait("a packet", [&] {
        const auto here = lane->arrived(previous);
        return !here.ok() || here->has_value();
      });
      w.expect_fine(lane->release(previous), "release");
    }
  }
}

void check_share(Witness& w, Nearness nearness) {
  const std::int64_t sizes[] = {0, 1, 5000, 1'000'003};
  std::vector<std::unique_ptr<exchange::SharedArray>> kept;
  for (int turn = 0; turn < 5; ++turn) {
    const auto bytes = [&](int rank) { return sizes[(rank + turn) % 4]; };
    const auto key = [&](int rank) { return mixed(w.seed(), 6, turn, rank); };
    Result<std::unique_ptr<exchange::SharedArray>> array = w.exchange().share(bytes(w.rank()));
    if (!array) return w.wrong(said("share", array.error()));
    const std::span<std::byte> mine = (*array)->mine();
    w.expect(static_cast<std::int64_t>(mine.size()) == bytes(w.rank()), "share has another size");
    w.expect(reinterpret_cast<std::uintptr_t>(mine.data()) % 4096 == 0, "share is not on a page");
    write_pattern(mine, key(w.rank()));
    w.meet();
    for (int rank = 0; rank < w.ranks(); ++rank) {
      const std::optional<std::span<const std::byte>> theirs = (*array)->of(rank);
      const bool must = nearness == Nearness::kAll || rank == w.rank();
      if (must) w.expect(theirs.has_value(), cat("the share of rank ", rank, " is not there"));
      if (!theirs) continue;
      w.expect(static_cast<std::int64_t>(theirs->size()) == bytes(rank) &&
                   has_pattern(*theirs, key(rank)),
               cat("the share of rank ", rank, " holds something else"));
    }
    w.expect(!(*array)->of(-1) && !(*array)->of(w.ranks()), "the share of a rank that is not");
    if ((turn + w.rank()) % 2 == 0) kept.push_back(std::move(*array));
    w.meet();
  }
  const Result<std::unique_ptr<exchange::SharedArray>> none =
      w.exchange().share(w.rank() == 0 ? -1 : 10);
  w.expect_refused(none, "a share of -1 bytes on one rank");
}

void check_refusals(Witness& w) {
  const exchange::LaneSize none[] = {{0, 1, 1}, {-5, 1, 1}, {(std::int64_t{1} << 30) + 1, 1, 1},
                                     {8, 0, 1}, {8, 1, 0},  {8, 1 << 20, 1}};
  for (const exchange::LaneSize& size : none) {
    w.expect_refused(w.exchange().open(size),
                     cat("a lane of ", size.sending, " packets of ", size.packet_bytes, " bytes"));
  }
  const std::unique_ptr<exchange::Lane> lane = w.open({100, 2, 2});
  if (!lane) return;
  const int other = (w.rank() + 1) % w.ranks();
  w.expect_refused(lane->send(w.rank(), 1), "a packet to itself");
  w.expect_refused(lane->send(w.ranks(), 1), "a packet to a rank that is not there");
  w.expect_refused(lane->expect(w.rank()), "a packet from itself");
  w.expect_refused(lane->expect(-1), "a packet from rank -1");
  if (other == w.rank()) return;
  w.expect_refused(lane->send(other, 101), "a packet that is too long");
  w.expect_refused(lane->send(other, -1), "a packet of -1 bytes");
  w.expect_refused(lane->release(other), "the release of what has not come");
  const auto here = lane->arrived(other);
  w.expect(here.ok() && !here->has_value(), "a packet that nobody expects");
}

}  // namespace

std::string exchange_mistake(exchange::Exchange& exchange, Nearness nearness, std::uint64_t seed) {
  Witness w(exchange, seed);
  const auto run = [&](auto law) {
    if (w.fine()) law();
    if (w.fine()) w.meet();
  };
  run([&] { check_notes(w); });
  run([&] { check_packets(w); });
  run([&] { check_lanes(w); });
  run([&] { check_room(w); });
  run([&] { check_share(w, nearness); });
  run([&] { check_refusals(w); });
  return w.mistake();
}

}  // namespace tessera::test

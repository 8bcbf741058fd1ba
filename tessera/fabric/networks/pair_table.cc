// SPDX-License-Identifier: Apache-2.0
#include "tessera/fabric/networks/pair_table.h"

#include <algorithm>
#include <iterator>

#include "tessera/fabric/networks/message_sums.h"

namespace tessera::fabric {
namespace {

// More are slower than no table: of one device, and of all.
constexpr std::int64_t kMostEntries = std::int64_t{1} << 14;
constexpr std::int64_t kMostOfDevices = std::int64_t{1} << 18;

// Limits of plain messages, so that sums over kMost of them need no checks: bytes, packets and
// header bytes of one message, and steps of a route, which are fewer than the entries.
constexpr std::size_t kMost = std::size_t{1} << 10;
constexpr int kByteBits = 36;
constexpr int kPacketBits = 20;
constexpr std::int64_t kMostHeader = std::int64_t{1} << 16;

}  // namespace

bool PairTable::fits(const Grid& grid, std::int64_t devices) {
  const std::size_t axes = grid.axes.size();
  if (grid.all_to_all || axes == 0 || axes > 2 || grid.routers > kMostEntries) return false;
  const std::int64_t lines = grid.axes.back().extent + (axes == 2 ? grid.axes.front().extent : 1);
  const std::int64_t entries = grid.routers * lines;
  return entries <= kMostEntries && devices <= kMostOfDevices / entries;
}

PairTable PairTable::of(const Grid& grid, std::int64_t devices, const std::vector<End>& ends) {
  PairTable table;
  if (!fits(grid, devices)) return table;
  const std::size_t axes = grid.axes.size();
  const GridAxis along = grid.axes.back();
  const GridAxis across = axes == 2 ? grid.axes.front() : GridAxis{};
  const std::int64_t cols = along.extent;
  const std::int64_t rows = across.extent;
  table.devices = static_cast<std::uint32_t>(devices);
  table.cols = static_cast<std::uint32_t>(cols);
  table.rows = static_cast<std::uint32_t>(rows);
  const auto add_steps = [&](const GridAxis& axis, std::int64_t lines) {
    for (std::int64_t line = 0; line < lines; ++line) {
      for (std::int64_t from = 0; from < axis.extent; ++from) {
        for (std::int64_t to = 0; to < axis.extent; ++to) {
          const auto there = static_cast<std::uint64_t>(axis.steps(from, to).count);
          const auto back = static_cast<std::uint64_t>(axis.steps(to, from).count);
          table.steps.push_back((there + back) << 32 | there);
        }
      }
    }
  };
  add_steps(along, rows);
  table.along_entries = table.steps.size();
  add_steps(across, cols);
  const bool along_first = grid.order.front() == axes - 1;
  table.ends.reserve(ends.size());
  for (const End& end : ends) {
    const auto row = static_cast<std::uint32_t>(end.router / cols);
    const auto col = static_cast<std::uint32_t>(end.router % cols);
    const auto width = static_cast<std::uint32_t>(cols);
    const auto height = static_cast<std::uint32_t>(rows);
    // The line along is a row, that of the end at which the route takes columns; the line across is
    // a column, that of the other end.
    const std::uint32_t row_line = row * width * width;
    const std::uint32_t col_line = col * height * height;
    table.ends.push_back(
        {col * width + (along_first ? row_line : 0), row * height + (along_first ? 0 : col_line),
         col + (along_first ? 0 : row_line), row + (along_first ? col_line : 0),
         static_cast<std::uint32_t>(end.device) * static_cast<std::uint32_t>(table.steps.size())});
  }
  return table;
}

PlainMessages::PlainMessages(const PairTable& table, const LinkFacts& link, std::int64_t places)
    : table_(table),
      link_(link),
      packet_bytes_(link.packet_bytes == 0
                        ? std::int64_t{1} << kByteBits
                        : std::min(link.packet_bytes, std::int64_t{1} << kByteBits)),
      places_(static_cast<std::uint32_t>(places)),
      ends_(std::ssize(table.ends)),
      bytes_(table.steps.size() * table.devices) {}

void PlainMessages::clear() {
  last_ = {};
  there_ = {};
  there_and_back_ = {};
  ends_.clear();
  for (const std::uint32_t entry : entries_) bytes_[entry] = 0;
  entries_.clear();
}

std::size_t PlainMessages::add(std::span<const Message> messages, bool reads) {
  last_ = {};
  if (link_.header_bytes > kMostHeader) return 0;
  const auto known = static_cast<std::uint32_t>(table_.ends.size());
  const PairTable::Parts* const parts = table_.ends.data();
  const PairTable::PackedSteps* const along_steps = table_.steps.data();
  const auto across_first = static_cast<std::uint32_t>(table_.along_entries);
  const std::int64_t packet = packet_bytes_;
  const std::int64_t header = link_.header_bytes;
  Sums sums;
  Range there_range = there_;
  PairTable::PackedSteps shortest = ~PairTable::PackedSteps{0};
  PairTable::PackedSteps longest = 0;
  const std::size_t count = std::min(messages.size(), kMost);
  std::size_t done = 0;
  for (; done < count; ++done) {
    const Message& message = messages[done];
    const auto from = static_cast<std::uint32_t>(message.source);
    const auto to = static_cast<std::uint32_t>(message.destination);
    const std::int64_t size = message.bytes;
    const std::int64_t pieces = message.transactions;
    if (from >= known || to >= known || std::min(from, to) >= places_ ||
        parts[from].first != parts[to].first ||
        (static_cast<std::uint64_t>(size) >> kByteBits) != 0 ||
        (static_cast<std::uint64_t>(pieces - 1) >> kPacketBits) != 0) {
      break;
    }
    const std::int64_t packets =
        size <= pieces * packet ? pieces : packets_of(link_, message).value_or(INT64_MAX);
    if (packets >> kPacketBits > 1) break;
    if (from == to) continue;
    End& source = ends_.at(from);
    source.sent += size;
    source.sent_packets += packets;
    End& end = ends_.at(to);
    end.received += size;
    end.received_packets += packets;
    End& issuer = to < places_ && (reads || from >= places_) ? end : source;
    issuer.issued += pieces;
    issuer.issued_bytes += size;
    const std::uint32_t along = parts[from].along_from + parts[to].along_to;
    const std::uint32_t across = across_first + parts[from].across_from + parts[to].across_to;
    const std::int64_t wire = size + packets * header;
    sums.wire += wire;
    const std::uint32_t first = parts[from].first;
    for (const std::uint32_t entry : {first + along, first + across}) {
      if (bytes_[entry] == 0 && wire > 0) entries_.push_back(entry);
      bytes_[entry] += wire;
    }
    const PairTable::PackedSteps steps = along_steps[along] + along_steps[across];
    const std::int64_t there = PairTable::there(steps);
    sums.hops += size * there;
    sums.bytes += size;
    sums.transactions += pieces;
    ++sums.messages;
    there_range.shortest = std::min(there_range.shortest, there);
    there_range.longest = std::max(there_range.longest, there);
    shortest = std::min(shortest, steps);  // compares there and back first
    longest = std::max(longest, steps);
  }
  last_ = sums;
  there_ = there_range;
  if (sums.messages > 0) {
    there_and_back_.shortest =
        std::min(there_and_back_.shortest, PairTable::there_and_back(shortest));
    there_and_back_.longest = std::max(there_and_back_.longest, PairTable::there_and_back(longest));
  }
  return done;
}

}  // namespace tessera::fabric

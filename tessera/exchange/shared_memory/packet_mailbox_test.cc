// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/shared_memory/packet_mailbox.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tessera/exchange/shared_memory/pages.h"
#include "tessera/testing/figures.h"

namespace tessera::exchange {
namespace {

/// Mailboxes of several ranks in the memory of one test.
struct Table {
  Table(const LaneSize& size, int ranks) {
    const std::int64_t part = Pages::rounded(PacketMailbox::part_bytes(size));
    pages = std::move(*Pages::anonymous(part * ranks));
    for (int rank = 0; rank < ranks; ++rank) parts.push_back(pages.bytes().data() + rank * part);
    for (int rank = 0; rank < ranks; ++rank) mailboxes.emplace_back(size, parts, rank);
  }
  Pages pages;
  std::vector<std::byte*> parts;
  std::vector<PacketMailbox> mailboxes;
};

bool send_text(PacketMailbox& mailbox, int to, const std::string& text) {
  const auto room = mailbox.room();
  if (!room.ok() || room->size() < text.size()) return false;
  std::memcpy(room->data(), text.data(), text.size());
  return mailbox.send(to, static_cast<std::int64_t>(text.size())).ok();
}

std::string text_of(PacketMailbox& mailbox, int from) {
  const auto here = mailbox.arrived(from);
  if (!here.ok()) return here.error().message;
  if (!*here) return "nothing";
  return {reinterpret_cast<const char*>((**here).data()), (**here).size()};
}

TEST(PacketMailbox, KeepsTheOrderOfEachPairAndGivesSlotsBack) {
  Table table({16, 3, 3}, 3);
  PacketMailbox& a = table.mailboxes[0];
  PacketMailbox& b = table.mailboxes[1];
  PacketMailbox& c = table.mailboxes[2];
  ASSERT_TRUE(send_text(a, 2, "a1") && send_text(b, 2, "b1") && send_text(a, 2, "a2"));
  ASSERT_TRUE(send_text(a, 1, "a3") && send_text(b, 2, ""));
  EXPECT_TRUE(a.room()->empty());
  EXPECT_FALSE(send_text(a, 1, "a4"));
  EXPECT_EQ(text_of(c, 1), "b1");
  EXPECT_EQ(text_of(c, 0), "a1");
  EXPECT_EQ(text_of(b, 0), "a3");
  EXPECT_EQ(text_of(b, 2), "nothing");
  ASSERT_TRUE(c.release(0).ok());
  EXPECT_FALSE(a.room()->empty());
  EXPECT_EQ(text_of(c, 0), "a2");
  ASSERT_TRUE(c.release(1).ok());
  EXPECT_EQ(text_of(c, 1), "");
  ASSERT_TRUE(send_text(a, 2, "a5"));
  ASSERT_TRUE(c.release(0).ok());
  EXPECT_EQ(text_of(c, 0), "a5");
  EXPECT_FALSE(b.release(2).ok());
}

TEST(PacketMailbox, ALentSlotIsRoomAgainWhenItIsGivenBack) {
  Table table({16, 1, 1}, 2);
  PacketMailbox& mailbox = table.mailboxes[0];
  const std::byte* const memory = mailbox.room()->data();
  const auto slot = mailbox.lend();
  ASSERT_TRUE(slot.ok());
  EXPECT_EQ(mailbox.packet(*slot), memory);
  EXPECT_TRUE(mailbox.room()->empty());
  EXPECT_FALSE(mailbox.lend().ok());
  mailbox.give_back(*slot);
  EXPECT_EQ(mailbox.room()->data(), memory);
}

// A part begins with the number of the newest slot that arrived, and that of the newest that was
// returned, each on a line of 64 bytes; a slot begins with the next slot (4 bytes), its sender (4)
// and its length (8).
constexpr std::size_t kReturned = 64;
constexpr std::size_t kFirstSlot = 128;

template <typename T>
void overwrite(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

void expect_bad(PacketMailbox& mailbox, int from, const std::string& figures) {
  const auto here = mailbox.arrived(from);
  ASSERT_FALSE(here.ok());
  EXPECT_EQ(here.error().code, ErrorCode::kBadPacket);
  EXPECT_EQ(test::figures(here.error().message), figures);
}

TEST(PacketMailbox, SeesHeadersThatCannotBe) {
  for (const std::int64_t bytes : {std::int64_t{17}, std::int64_t{-1}}) {
    Table table({16, 2, 2}, 2);
    ASSERT_TRUE(send_text(table.mailboxes[0], 1, "x"));
    overwrite(table.parts[0] + kFirstSlot + 8, bytes);
    expect_bad(table.mailboxes[1], 0, std::to_string(bytes));
  }
  {
    Table table({16, 2, 2}, 2);
    ASSERT_TRUE(send_text(table.mailboxes[0], 1, "x"));
    overwrite(table.parts[0] + kFirstSlot + 4, std::int32_t{1});
    expect_bad(table.mailboxes[1], 0, "1");
  }
  {
    Table table({16, 2, 2}, 2);
    overwrite(table.parts[1], std::uint32_t{5});  // there are 4
    expect_bad(table.mailboxes[1], 0, "5");
  }
  {
    Table table({16, 2, 2}, 2);
    ASSERT_TRUE(send_text(table.mailboxes[0], 1, "x"));
    overwrite(table.parts[0] + kFirstSlot, std::uint32_t{1});  // follows itself
    expect_bad(table.mailboxes[1], 0, "1");
  }
  {
    Table table({16, 1, 1}, 2);
    ASSERT_TRUE(send_text(table.mailboxes[0], 1, "x"));
    overwrite(table.parts[0] + kReturned, std::uint32_t{2});  // a slot of rank 1
    EXPECT_FALSE(table.mailboxes[0].room().ok());
  }
}

TEST(Pages, AreFoundByOtherProcessesUntilHidden) {
  constexpr std::int64_t kBytes = 10'000;
  auto pages = Pages::shared(kBytes);
  ASSERT_TRUE(pages.ok()) << pages.error().message;
  ASSERT_EQ(pages->bytes().size(), static_cast<std::size_t>(kBytes));
  const PagesKey key = pages->key();
  {
    const auto found = Pages::find(key);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_NE(found->bytes().data(), pages->bytes().data());
    found->bytes().back() = std::byte{5};
  }
  EXPECT_EQ(pages->bytes().back(), std::byte{5});
  PagesKey wrong = key;
  wrong.mark += 1;
  EXPECT_EQ(Pages::find(wrong).error().code, ErrorCode::kIo);
  wrong = key;
  wrong.bytes += 1;
  EXPECT_EQ(Pages::find(wrong).error().code, ErrorCode::kIo);
  pages->hide();
  EXPECT_EQ(Pages::find(key).error().code, ErrorCode::kIo);
  EXPECT_EQ(pages->bytes().back(), std::byte{5});
}

TEST(Pages, RefuseSizesThatCannotBe) {
  for (const auto make : {Pages::anonymous, Pages::shared}) {
    EXPECT_EQ(make(-1).error().code, ErrorCode::kOutOfRange);
    EXPECT_EQ(make(INT64_MAX).error().code, ErrorCode::kOutOfMemory);
    EXPECT_TRUE(make(0).ok());
  }
}

/// A child process echoes what its parent sends.
TEST(PacketMailbox, WorksBetweenProcesses) {
  constexpr int kTurns = 200;
  const LaneSize size{1000, 2, 2};
  auto pages = Pages::shared(2 * Pages::rounded(PacketMailbox::part_bytes(size)));
  ASSERT_TRUE(pages.ok());
  const PagesKey key = pages->key();
  const auto board_of = [&](const Pages& memory, int rank) {
    std::byte* const start = memory.bytes().data();
    return PacketMailbox(size, {start, start + Pages::rounded(PacketMailbox::part_bytes(size))},
                         rank);
  };
  const pid_t child = ::fork();
  if (child == 0) {
    const auto found = Pages::find(key);
    if (!found.ok()) ::_exit(1);
    PacketMailbox mailbox = board_of(*found, 1);
    ::alarm(600);  // if the parent dies
    for (int turn = 0; turn < kTurns;) {
      const std::string text = text_of(mailbox, 0);
      if (text == "nothing") {
        ::sched_yield();
        continue;
      }
      if (!mailbox.release(0).ok()) ::_exit(2);
      while (!send_text(mailbox, 0, text + "!")) ::sched_yield();
      ++turn;
    }
    ::_exit(0);
  }
  PacketMailbox mailbox = board_of(*pages, 0);
  int sent = 0;
  int status = 0;
  bool has_ended = false;
  for (int turn = 0; turn < kTurns;) {
    if (sent < kTurns && send_text(mailbox, 1, std::to_string(sent))) ++sent;
    const std::string text = text_of(mailbox, 1);
    if (text == "nothing") {
      // It may have ended between its last answer and this check; what it sent is there now.
      ASSERT_FALSE(has_ended) << "the child ended with " << status << " before turn " << turn;
      has_ended = ::waitpid(child, &status, WNOHANG) == child;
      ::sched_yield();
      continue;
    }
    ASSERT_EQ(text, std::to_string(turn++) + "!");
    ASSERT_TRUE(mailbox.release(1).ok());
  }
  if (!has_ended) {
    ASSERT_EQ(::waitpid(child, &status, 0), child);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace tessera::exchange

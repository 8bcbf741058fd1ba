// SPDX-License-Identifier: Apache-2.0
#include "tessera/testing/relayout/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace tessera::test {
namespace {

constexpr std::byte kCanary{0xA5};

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGABRT};

char note[4096];
volatile sig_atomic_t note_size = 0;
std::array<struct sigaction, kCrashes.size()> handlers;

void restore() {
  for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &handlers[i], nullptr);
}

/// Prints, and restores the previous handler: the crash happens again on return.
void print_note(int) {
  restore();
  if (write(STDERR_FILENO, note, static_cast<std::size_t>(note_size)) < 0) _exit(1);
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::size_t bytes)
    : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
      room_((bytes + 64 + page_ - 1) / page_ * page_) {
  void* const all = mmap(nullptr, room_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) std::abort();
  mapping_ = static_cast<std::byte*>(all);
  if (mprotect(mapping_ + page_, room_, PROT_READ | PROT_WRITE) != 0) std::abort();
}

GuardedBuffer::~GuardedBuffer() { munmap(mapping_, room_ + 2 * page_); }

std::span<std::byte> GuardedBuffer::settle(std::size_t begin, std::size_t bytes) {
  if (begin + bytes > room_) std::abort();
  last_ = {mapping_ + page_ + begin, bytes};
  const std::size_t before = std::min(begin, page_);
  const std::size_t after = std::min(room_ - begin - bytes, page_);
  std::memset(last_.data() - before, static_cast<int>(kCanary), before);
  std::memset(last_.data() + bytes, static_cast<int>(kCanary), after);
  return last_;
}

std::span<std::byte> GuardedBuffer::at_start(std::size_t bytes, std::size_t skip) {
  return settle(skip, bytes);
}

std::span<std::byte> GuardedBuffer::at_end(std::size_t bytes) {
  return settle(room_ - bytes, bytes);
}

bool GuardedBuffer::surroundings_kept() const {
  const std::byte* const first = mapping_ + page_;
  const auto begin = static_cast<std::size_t>(last_.data() - first);
  const std::size_t before = std::min(begin, page_);
  const std::size_t after = std::min(room_ - begin - last_.size(), page_);
  const auto kept = [](std::byte byte) { return byte == kCanary; };
  const std::byte* const end = last_.data() + last_.size();
  return std::all_of(last_.data() - before, last_.data(), kept) &&
         std::all_of(end, end + after, kept);
}

CrashNote::CrashNote(std::string_view text) {
  const std::size_t size = std::min(text.size(), sizeof(note) - 1);
  std::memcpy(note, text.data(), size);
  note[size] = '\n';
  note_size = static_cast<sig_atomic_t>(size + 1);
  struct sigaction action{};
  action.sa_handler = print_note;
  for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &action, &handlers[i]);
}

CrashNote::~CrashNote() { restore(); }

}  // namespace tessera::test

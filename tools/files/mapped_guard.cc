// SPDX-License-Identifier: Apache-2.0
#include "tools/files/mapped_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace tessera::tools {
namespace {

constexpr int kSlots = 16;

// The state that signal handlers read. A slot is in use when `begin` (or the first letter) is not
// 0; it is written in an order that leaves it empty or complete at every moment.
struct Region {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> lost{false};
};
struct Path {
  std::atomic<bool> is_there{false};
  std::array<char, PATH_MAX> text{};
};
std::array<Region, kSlots> regions;
std::array<Path, kSlots> paths;
std::mutex slots_mutex;
std::once_flag bus_installed;
std::once_flag ends_installed;

void on_bus_error(int signal_number, siginfo_t* facts, void* /*context*/) {
  const int kept_errno = errno;
  const auto fault = reinterpret_cast<std::uintptr_t>(facts->si_addr);
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (Region& region : regions) {
    const std::uintptr_t begin = region.begin.load();
    const std::uintptr_t end = region.end.load();
    if (begin == 0 || fault < begin || fault >= end) continue;
    region.lost.store(true);
    char* const from = static_cast<char*>(facts->si_addr) - fault % page;
    void* const zeros =
        mmap(from, end - (fault - fault % page), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, /*fd=*/-1, /*offset=*/0);
    if (zeros == MAP_FAILED) break;
    errno = kept_errno;
    return;
  }
  // Not ours: the instruction runs again and ends the process as usual.
  std::signal(signal_number, SIG_DFL);
}

void on_end(int signal_number) {
  for (Path& path : paths) {
    if (path.is_there.load()) unlink(path.text.data());
  }
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void handle_bus_errors() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGBUS, &action, nullptr);
}

void handle_ends() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before = {};
    if (sigaction(signal_number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action = {};
    action.sa_handler = on_end;
    sigaction(signal_number, &action, nullptr);
  }
}

}  // namespace

GuardedMapping::GuardedMapping(int descriptor, std::size_t size, bool writable) : size_(size) {
  if (size == 0) return;
  std::call_once(bus_installed, handle_bus_errors);
  const std::lock_guard lock(slots_mutex);
  for (int i = 0; i < kSlots && slot_ < 0; ++i) {
    if (regions[i].begin.load() == 0) slot_ = i;
  }
  if (slot_ < 0) {
    errno = EMFILE;
    return;
  }
  void* const memory = mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                            MAP_SHARED, descriptor, /*offset=*/0);
  if (memory == MAP_FAILED) {
    slot_ = -1;
    return;
  }
  at_ = static_cast<std::byte*>(memory);
  Region& region = regions[slot_];
  region.lost.store(false);
  region.end.store(reinterpret_cast<std::uintptr_t>(at_) + size);
  region.begin.store(reinterpret_cast<std::uintptr_t>(at_));
}

GuardedMapping::~GuardedMapping() {
  if (slot_ < 0) return;
  const std::lock_guard lock(slots_mutex);
  munmap(at_, size_);
  regions[slot_].begin.store(0);
}

bool GuardedMapping::is_lost() const { return slot_ >= 0 && regions[slot_].lost.load(); }

RemovedOnSignal::RemovedOnSignal(const std::string& path) {
  if (path.size() >= PATH_MAX) return;
  std::call_once(ends_installed, handle_ends);
  const std::lock_guard lock(slots_mutex);
  for (int i = 0; i < kSlots && slot_ < 0; ++i) {
    if (!paths[i].is_there.load()) slot_ = i;
  }
  if (slot_ < 0) return;
  std::memcpy(paths[slot_].text.data(), path.c_str(), path.size() + 1);
  paths[slot_].is_there.store(true);
}

RemovedOnSignal::~RemovedOnSignal() {
  if (slot_ < 0) return;
  const std::lock_guard lock(slots_mutex);
  paths[slot_].is_there.store(false);
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/files/mapped_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>

namespace tessera::tools {
namespace {

constexpr int kSlots = 16;

// The state that signal handlers read. A region is in use when `begin` is not 0; it is written in
// an order that leaves it empty or complete at every moment.
struct Region {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> lost{false};
};
// A path is in use while `text` is not null. Whoever exchanges it for null owns it: the handler,
// which removes the file, or the program, which frees the text. Entries are never freed, because a
// handler in another thread may be looking at them; those that are not in use are used again.
struct Path {
  std::atomic<char*> text{nullptr};
  Path* next = nullptr;       ///< in the list of all, which only grows
  Path* next_free = nullptr;  ///< in the list of those that are not in use
};
std::array<Region, kSlots> regions;
std::atomic<Path*> all_paths{nullptr};
Path* free_paths = nullptr;  ///< guarded by `slots_mutex`
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
  for (Path* path = all_paths.load(); path != nullptr; path = path->next) {
    if (const char* const text = path->text.exchange(nullptr)) unlink(text);
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
  std::call_once(ends_installed, handle_ends);
  auto text = std::make_unique<char[]>(path.size() + 1);
  std::memcpy(text.get(), path.c_str(), path.size() + 1);
  const std::lock_guard lock(slots_mutex);
  Path* entry = free_paths;
  if (entry != nullptr) {
    free_paths = entry->next_free;
  } else {
    entry = new Path;
    entry->next = all_paths.load();
    all_paths.store(entry);
  }
  entry->text.store(text.release());
  entry_ = entry;
}

RemovedOnSignal::~RemovedOnSignal() {
  auto* const entry = static_cast<Path*>(entry_);
  const std::unique_ptr<char[]> text(entry->text.exchange(nullptr));
  const std::lock_guard lock(slots_mutex);
  entry->next_free = free_paths;
  free_paths = entry;
}

}  // namespace tessera::tools

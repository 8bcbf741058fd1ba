// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

Status check_bytes(std::int64_t bytes) {
  if (bytes >= 0) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("memory of ", bytes, " bytes"), std::nullopt,
               "ask for 0 bytes or more"};
}

/// A file descriptor that is closed when this goes.
struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

Error no_shared_memory(std::int64_t bytes, std::string_view why) {
  return Error{ErrorCode::kTooLarge,
               cat("no ", bytes, " bytes of shared memory on this machine: ", why), std::nullopt,
               "give /dev/shm more room, or pass packets as messages (shared memory off)"};
}

Result<std::byte*> map_shared(int descriptor, std::int64_t bytes) {
  void* start = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED,
                       descriptor, 0);
  if (start == MAP_FAILED) return no_shared_memory(bytes, std::strerror(errno));
  return static_cast<std::byte*>(start);
}

}  // namespace

Pages::Pages(Pages&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_, other.size_);
  return *this;
}

Pages::~Pages() {
  if (size_ > 0) ::munmap(start_, size_);
}

std::int64_t Pages::rounded(std::int64_t bytes) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return ceil_div(bytes, page) * page;
}

Result<Pages> Pages::anonymous(std::int64_t bytes) {
  TESSERA_CHECK_OK(check_bytes(bytes));
  if (bytes == 0) return Pages();
  void* start = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    return Error{ErrorCode::kTooLarge, cat("no ", bytes, " bytes of memory for packets"),
                 std::nullopt, "use shorter packets, fewer at once, or fewer ranks"};
  }
  return Pages(static_cast<std::byte*>(start), static_cast<std::size_t>(bytes));
}

Result<Pages> Pages::named(const std::string& name, std::int64_t bytes) {
  TESSERA_CHECK_OK(check_bytes(bytes));
  if (bytes == 0) return Pages();
  const Descriptor file{::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR)};
  if (file.number < 0) {
    return Error{ErrorCode::kIo, cat("cannot make shared memory: ", std::strerror(errno)),
                 std::nullopt, "check that /dev/shm is there and may be written"};
  }
  int refused = 0;
  do {
    refused = ::posix_fallocate(file.number, 0, static_cast<off_t>(bytes));
  } while (refused == EINTR);
  Result<std::byte*> start =
      refused != 0 ? Result<std::byte*>(no_shared_memory(bytes, std::strerror(refused)))
                   : map_shared(file.number, bytes);
  if (!start) {
    forget(name);
    return start.error();
  }
  return Pages(*start, static_cast<std::size_t>(bytes));
}

Result<Pages> Pages::find(const std::string& name, std::int64_t bytes) {
  TESSERA_CHECK_OK(check_bytes(bytes));
  if (bytes == 0) return Pages();
  const Descriptor file{::shm_open(name.c_str(), O_RDWR, 0)};
  if (file.number < 0) {
    return Error{ErrorCode::kIo,
                 cat("cannot find the shared memory of another rank: ", std::strerror(errno)),
                 std::nullopt, "ranks of one machine must see the same /dev/shm"};
  }
  struct stat facts{};
  if (::fstat(file.number, &facts) != 0 || facts.st_size < bytes) {
    return Error{ErrorCode::kBadPacket, cat("the shared memory of another rank has ",
                                            std::int64_t{facts.st_size}, " bytes, not ", bytes)};
  }
  TESSERA_TRY(std::byte* const start, map_shared(file.number, bytes));
  return Pages(start, static_cast<std::size_t>(bytes));
}

void Pages::forget(const std::string& name) { ::shm_unlink(name.c_str()); }

}  // namespace tessera

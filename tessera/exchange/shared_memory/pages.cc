// SPDX-License-Identifier: Apache-2.0
#include "tessera/exchange/shared_memory/pages.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::exchange {
namespace {

Status check_bytes(std::int64_t bytes) {
  if (bytes >= 0) return ok_status();
  return Error{ErrorCode::kOutOfRange, cat("memory of ", bytes, " bytes"), std::nullopt,
               "ask for 0 bytes or more"};
}

Error no_memory(std::int64_t bytes, int why) {
  return Error{ErrorCode::kOutOfMemory,
               cat("no ", bytes, " bytes of memory to share on this machine: ", std::strerror(why)),
               std::nullopt, "use shorter packets, fewer at once, or fewer ranks"};
}

Error cannot_share(std::string_view what, int why) {
  return Error{ErrorCode::kIo, cat("cannot ", what, " shared memory: ", std::strerror(why)),
               std::nullopt,
               "ranks of one machine must see each other in /proc; otherwise use messages "
               "(shared memory off)"};
}

/// A number that no other pages of this machine have.
std::uint64_t new_mark() {
  static std::atomic<std::uint64_t> made = 0;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return (static_cast<std::uint64_t>(now) << 12) + made.fetch_add(1) % 4096;
}

std::string mark_name(std::uint64_t mark) { return cat("tessera-", mark); }

Result<std::byte*> map(int flags, int descriptor, std::int64_t bytes) {
  void* start = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, flags,
                       descriptor, 0);
  if (start == MAP_FAILED) return no_memory(bytes, errno);
  return static_cast<std::byte*>(start);
}

/// True when an open file is the memory with that mark.
bool is_marked(int descriptor, std::uint64_t mark) {
  std::array<char, 256> target{};
  const std::string path = cat("/proc/self/fd/", descriptor);
  const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
  const std::string_view found(target.data(), static_cast<std::size_t>(length < 0 ? 0 : length));
  return found.starts_with(cat("/memfd:", mark_name(mark), " "));
}

}  // namespace

Pages::Pages(Pages&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      mark_(other.mark_) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_, other.size_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(mark_, other.mark_);
  return *this;
}

Pages::~Pages() {
  hide();
  if (size_ > 0) ::munmap(start_, size_);
}

void Pages::hide() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

PagesKey Pages::key() const {
  return {std::int64_t{::getpid()}, descriptor_, mark_, static_cast<std::int64_t>(size_)};
}

std::int64_t Pages::rounded(std::int64_t bytes) {
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  return ceil_div(bytes, page) * page;
}

Result<Pages> Pages::anonymous(std::int64_t bytes) {
  TESSERA_CHECK_OK(check_bytes(bytes));
  if (bytes == 0) return Pages();
  TESSERA_TRY(std::byte* const start, map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, bytes));
  return Pages(start, static_cast<std::size_t>(bytes));
}

Result<Pages> Pages::shared(std::int64_t bytes) {
  TESSERA_CHECK_OK(check_bytes(bytes));
  if (bytes == 0) return Pages();
  Pages pages;
  pages.mark_ = new_mark();
  pages.descriptor_ = ::memfd_create(mark_name(pages.mark_).c_str(), MFD_CLOEXEC);
  if (pages.descriptor_ < 0) return cannot_share("make", errno);
  if (::ftruncate(pages.descriptor_, static_cast<off_t>(bytes)) != 0) {
    return no_memory(bytes, errno);
  }
  TESSERA_TRY(pages.start_, map(MAP_SHARED, pages.descriptor_, bytes));
  pages.size_ = static_cast<std::size_t>(bytes);
  return pages;
}

Result<Pages> Pages::find(const PagesKey& key) {
  TESSERA_CHECK_OK(check_bytes(key.bytes));
  if (key.bytes == 0) return Pages();
  const std::string path = cat("/proc/", key.process, "/fd/", key.descriptor);
  Pages pages;
  pages.descriptor_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (pages.descriptor_ < 0) return cannot_share("find", errno);
  struct stat facts{};
  if (!is_marked(pages.descriptor_, key.mark) || ::fstat(pages.descriptor_, &facts) != 0 ||
      std::int64_t{facts.st_size} < key.bytes) {
    return cannot_share("recognise", EINVAL);
  }
  TESSERA_TRY(pages.start_, map(MAP_SHARED, pages.descriptor_, key.bytes));
  pages.size_ = static_cast<std::size_t>(key.bytes);
  pages.hide();
  return pages;
}

}  // namespace tessera::exchange

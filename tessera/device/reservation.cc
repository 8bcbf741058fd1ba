// SPDX-License-Identifier: Apache-2.0
#include "tessera/device/reservation.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera::device {
namespace {

std::int64_t page_bytes() {
  static const std::int64_t bytes = sysconf(_SC_PAGESIZE);
  return bytes;
}

}  // namespace

Result<Reservation> Reservation::make(std::int64_t bytes, bool small_pages) {
  Reservation made;
  const std::int64_t page = page_bytes();
  const Checked whole = Checked(ceil_div(std::max<std::int64_t>(bytes, 1), page)) * page;
  void* data = MAP_FAILED;
  if (!whole.overflowed()) {
    data = mmap(nullptr, static_cast<std::size_t>(whole.raw()), PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (data == MAP_FAILED) {
    return Error{ErrorCode::kOutOfMemory,
                 cat("cannot reserve ", bytes, " bytes of address space for a memory"),
                 std::nullopt,
                 "plan how many bytes of each part are used, or raise the limit of the process"};
  }
  made.data_ = static_cast<std::byte*>(data);
  made.bytes_ = whole.raw();
  // Refused where the kernel has no large pages, which is as well.
  if (small_pages) madvise(data, static_cast<std::size_t>(whole.raw()), MADV_NOHUGEPAGE);
  return made;
}

Reservation::~Reservation() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

std::int64_t Reservation::resident_bytes() const {
  constexpr std::int64_t kPages = 1 << 16;
  std::array<unsigned char, kPages> resident{};
  std::int64_t pages = 0;
  for (std::int64_t at = 0; at < bytes_; at += kPages * page_bytes()) {
    const std::int64_t length = std::min(bytes_ - at, kPages * page_bytes());
    if (mincore(data_ + at, static_cast<std::size_t>(length), resident.data()) != 0) continue;
    pages += std::count_if(resident.begin(), resident.begin() + length / page_bytes(),
                           [](unsigned char page) { return (page & 1) != 0; });
  }
  return pages * page_bytes();
}

}  // namespace tessera::device

// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// Loaded before all other libraries (LD_PRELOAD). Stops the process as soon as disk space is
/// reserved for a file in the folder $TESSERA_STOP_IN: always at the same point, in the middle of
/// its work.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the system has none
extern "C" int posix_fallocate(int descriptor, off_t from, off_t size) {
  using Function = int (*)(int, off_t, off_t);
  const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "posix_fallocate"));
  if (next == nullptr) return ENOSYS;
  const int error = next(descriptor, from, size);
  const char* folder = std::getenv("TESSERA_STOP_IN");
  std::array<char, 64> link{};
  std::snprintf(link.data(), link.size(), "/proc/self/fd/%d", descriptor);
  std::array<char, 4096> target{};
  const ssize_t length = readlink(link.data(), target.data(), target.size());
  if (folder == nullptr || length < 0) return error;
  const std::string_view file(target.data(), static_cast<std::size_t>(length));
  if (file.starts_with(folder)) kill(getpid(), SIGSTOP);
  return error;
}

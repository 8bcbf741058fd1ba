// SPDX-License-Identifier: Apache-2.0
#include "tools/files/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr std::size_t kChunk = 1 << 16;

/// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Result<std::string> read_text_file(const std::string& name, std::size_t most_bytes,
                                   std::string_view help) {
  const auto cannot_read = [&](int error_number) {
    return file_error("cannot read", name, error_number, std::string(help));
  };
  const Descriptor descriptor(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.number() < 0) return cannot_read(errno);
  struct stat facts = {};
  if (fstat(descriptor.number(), &facts) != 0) return cannot_read(errno);
  if (S_ISREG(facts.st_mode) && std::cmp_greater(facts.st_size, most_bytes)) {
    return text_too_long(name, most_bytes, facts.st_size);
  }
  // A regular file reports its size, and one more read checks that it did not grow.
  std::string text(S_ISREG(facts.st_mode) ? static_cast<std::size_t>(facts.st_size) + 1 : kChunk,
                   '\0');
  std::size_t size = 0;
  while (size <= most_bytes) {
    if (size == text.size()) text.resize(std::min(text.size() * 2, most_bytes + 1));
    const ssize_t got = read(descriptor.number(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > most_bytes) return text_too_long(name, most_bytes, std::nullopt);
  text.resize(size);
  return text;
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/check/check_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <istream>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>

#include "tessera/base/text.h"
#include "tools/terminal/text.h"

namespace tessera::tools {
namespace {

namespace fs = std::filesystem;

/// As much as check_mlir() and read_buffers() accept.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

bool is_folder(const std::string& name) {
  struct stat facts = {};
  return stat(name.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

Error cannot_read(const std::string& name, int error_number) {
  return file_error("cannot read", name, error_number, "name files and folders that can be read");
}

/// The path without links, or the name itself where there is no such file.
std::string real_path(const std::string& name) {
  const std::unique_ptr<char, void (*)(void*)> real(realpath(name.c_str(), nullptr), std::free);
  return real == nullptr ? name : std::string(real.get());
}

std::string inside(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : cat(folder, "/", name);
}

/// All *.mlir files below `root`, sorted; folders that cannot be read are included.
std::vector<FoundFile> files_below(const std::string& root) {
  std::vector<FoundFile> found;
  std::vector<std::string> folders = {root};
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const fs::directory_entry& entry = *entries;
      const std::string name = entry.path().filename().string();
      std::error_code no_type;  // an entry that vanishes meanwhile is skipped
      if (entry.is_directory(no_type)) {
        if (!entry.is_symlink(no_type)) folders.push_back(inside(folder, name));
      } else if (name.ends_with(".mlir") && entry.is_regular_file(no_type)) {
        found.push_back({inside(folder, name)});
      }
    }
    if (error) found.push_back({folder, false, cannot_read(folder, error.value())});
  }
  std::sort(found.begin(), found.end(),
            [](const FoundFile& a, const FoundFile& b) { return a.name < b.name; });
  return found;
}

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

/// `size`: how long it is, where that is known.
Error too_long(const std::string& name, std::optional<std::int64_t> size) {
  return Error{ErrorCode::kTextTooLong,
               cat("'", printable(name), "': a text of ", size ? "" : "more than ",
                   size.value_or(kMostBytes), " bytes; at most ", kMostBytes, " are read"),
               std::nullopt, "cut it into parts"};
}

Result<std::string> read_stream(std::istream& in) {
  std::string text;
  std::array<char, 1 << 16> chunk{};
  while (in && text.size() <= kMostBytes) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return cannot_read("standard input", EIO);
  if (text.size() > kMostBytes) return too_long("standard input", std::nullopt);
  return text;
}

}  // namespace

Error file_error(std::string_view what, const std::string& name, int error_number,
                 std::string help) {
  const ErrorCode code = error_number == ENOMEM ? ErrorCode::kOutOfMemory : ErrorCode::kIo;
  return Error{code, cat(what, " '", printable(name), "': ", std::strerror(error_number)),
               std::nullopt, std::move(help)};
}

std::vector<FoundFile> find_mlir_files(const std::vector<std::string>& arguments) {
  std::vector<FoundFile> found;
  std::unordered_set<std::string> seen;
  const auto add = [&](FoundFile file) {
    const bool is_new = seen.insert(file.is_standard_input ? "-" : real_path(file.name)).second;
    if (is_new || !file.status.ok()) found.push_back(std::move(file));
  };
  for (const std::string& argument : arguments) {
    if (argument == "-") {
      add({"<stdin>", true});
    } else if (is_folder(argument)) {
      for (FoundFile& file : files_below(argument)) add(std::move(file));
    } else {
      add({argument});
    }
  }
  return found;
}

Result<std::string> read_text_file(const FoundFile& file, std::istream& in) {
  if (file.is_standard_input) return read_stream(in);
  const std::string& name = file.name;
  const Descriptor descriptor(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  if (descriptor.number() < 0) return cannot_read(name, errno);
  struct stat facts = {};
  if (fstat(descriptor.number(), &facts) != 0) return cannot_read(name, errno);
  constexpr std::size_t kChunk = 1 << 16;
  if (S_ISREG(facts.st_mode) && std::cmp_greater(facts.st_size, kMostBytes)) {
    return too_long(name, facts.st_size);
  }
  // A regular file reports its size, and one more read checks that it did not grow.
  std::string text(S_ISREG(facts.st_mode) ? static_cast<std::size_t>(facts.st_size) + 1 : kChunk,
                   '\0');
  std::size_t size = 0;
  while (size <= kMostBytes) {
    if (size == text.size()) text.resize(std::min(text.size() * 2, kMostBytes + 1));
    const ssize_t got = read(descriptor.number(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(name, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  if (size > kMostBytes) return too_long(name, std::nullopt);
  text.resize(size);
  return text;
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/progress.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <ostream>
#include <utility>

#include "tessera/base/text.h"

namespace tessera::tools {
namespace {

constexpr auto kQuiet = std::chrono::seconds(1);
constexpr auto kBetween = std::chrono::milliseconds(200);

/// "999 B", "1.2 GB": at most three digits.
std::string size_text(std::int64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1000 && unit + 1 < kUnits.size(); ++unit) size /= 1000;
  if (unit == 0) return cat(bytes, " B");
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f ", size);
  return cat(text.data(), kUnits[unit]);
}

}  // namespace

std::string progress_line(std::int64_t done, std::int64_t total, double seconds, int width) {
  const std::int64_t shown = std::clamp<std::int64_t>(done, 0, total);
  const double share = total > 0 ? static_cast<double>(shown) / static_cast<double>(total) : 1.0;
  const std::string words = cat(" ", static_cast<int>(share * 100), " %  ", size_text(shown),
                                " of ", size_text(total), "  ", static_cast<int>(seconds), " s");
  const int room = std::min(40, width - static_cast<int>(words.size()) - 3);
  if (room < 4) return words.substr(0, static_cast<std::size_t>(std::max(0, width - 1)));
  const auto full = static_cast<std::size_t>(share * room);
  return cat("[", std::string(full, '#'), std::string(static_cast<std::size_t>(room) - full, '-'),
             "]", words);
}

LiveLine::LiveLine(std::ostream& err, bool show, std::function<std::string(double seconds)> text)
    : err_(err), text_(std::move(text)), start_(std::chrono::steady_clock::now()) {
  if (!show) return;
  try {
    thread_ = std::thread([this] { draw(); });
  } catch (const std::exception&) {
    return;  // the system refuses a thread: the work shows no progress
  }
}

void LiveLine::draw() {
  std::unique_lock lock(mutex_);
  auto wait = std::chrono::milliseconds(kQuiet);
  while (!ended_.wait_for(lock, wait, [this] { return is_over_; })) {
    wait = kBetween;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    try {
      const std::string text = text_(passed.count());
      if (text.empty()) continue;
      err_ << "\r\x1b[K" << text << std::flush;
    } catch (const std::exception&) {
      return;  // no memory: the work itself reports that if it needs some
    }
    is_drawn_ = true;
  }
}

LiveLine::~LiveLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  ended_.notify_one();
  thread_.join();
  if (is_drawn_) err_ << "\r\x1b[K" << std::flush;
}

ProgressBar::ProgressBar(std::ostream& err, bool show, std::int64_t total, int width)
    : total_(total), line_(err, show, [this, width](double seconds) -> std::string {
        const std::int64_t all = total_.load();
        return all == 0 ? "" : progress_line(done_.load(), all, seconds, width);
      }) {}

}  // namespace tessera::tools

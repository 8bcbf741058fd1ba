// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::tools {

/// "[#######-------]  52 %  1.2 of 2.3 GB  4 s" in at most `width` columns.
std::string progress_line(std::int64_t done, std::int64_t total, double seconds, int width);

/// A line of text that a separate thread draws during the work and removes at the end. Work that
/// takes less than a second shows none.
class LiveLine {
 public:
  /// `show`: draw on `err`; if false nothing is ever drawn. The thread calls `text` with the time
  /// since the start, and draws nothing where it is empty.
  LiveLine(std::ostream& err, bool show, std::function<std::string(double seconds)> text);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

 private:
  void draw();

  std::ostream& err_;
  std::function<std::string(double seconds)> text_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  bool is_drawn_ = false;
  std::thread thread_;
};

/// A progress bar in such a line.
class ProgressBar {
 public:
  /// `total` may be 0 until it is known; up to then nothing is drawn.
  ProgressBar(std::ostream& err, bool show, std::int64_t total, int width);

  /// The counter of completed work; any thread may add to it.
  std::atomic<std::int64_t>& done() { return done_; }
  /// All of the work.
  std::atomic<std::int64_t>& total() { return total_; }

 private:
  std::atomic<std::int64_t> total_;
  std::atomic<std::int64_t> done_{0};
  LiveLine line_;  ///< last: its thread reads the others
};

}  // namespace tessera::tools

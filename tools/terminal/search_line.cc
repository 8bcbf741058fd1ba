// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/search_line.h"

#include <ostream>

namespace tessera::tools {
namespace {

constexpr double kQuietSeconds = 1;
constexpr double kBetweenSeconds = 0.2;

}  // namespace

SearchLine::SearchLine(std::ostream& err, bool shows, int width)
    : err_(err), shows_(shows), width_(width), next_(kQuietSeconds) {}

SearchLine::~SearchLine() {
  if (is_drawn_) err_ << "\r\x1b[K" << std::flush;
}

bool SearchLine::update(double seconds, const std::function<std::string(int width)>& words) {
  if (shows_ && seconds >= next_) {
    err_ << "\r\x1b[K" << words(width_) << std::flush;
    is_drawn_ = true;
    next_ = seconds + kBetweenSeconds;
  }
  return !interrupted();
}

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>
#include <string>

#include "tools/terminal/interrupts.h"

namespace tessera::tools {

/// What a search shows on the terminal while it runs: one line, replaced a few times per second
/// once the search takes longer than a second, and removed at the end. An interrupt (Ctrl-C) asks
/// the search to stop; a second one ends the process as usual. Only one may exist at a time.
class SearchLine {
 public:
  /// `shows`: draw on `err`; if false nothing is ever drawn. Lines have fewer than `width` columns.
  SearchLine(std::ostream& err, bool shows, int width);
  ~SearchLine();
  SearchLine(const SearchLine&) = delete;
  SearchLine& operator=(const SearchLine&) = delete;

  /// Draws `words(width)` if it is time to, `seconds` after the search began. False if the search
  /// should stop.
  bool update(double seconds, const std::function<std::string(int width)>& words);
  bool interrupted() const { return Interrupts::seen(); }

 private:
  std::ostream& err_;
  bool shows_;
  int width_;
  double next_;
  bool is_drawn_ = false;
  Interrupts interrupts_;
};

}  // namespace tessera::tools

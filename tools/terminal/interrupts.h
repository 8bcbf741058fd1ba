// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::tools {

/// Treats the first SIGINT (Ctrl-C) of its scope as a request to stop, which `seen` reports; a
/// second one ends the process as usual. Only one may exist at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  static bool seen();

 private:
  bool is_set_ = false;
};

}  // namespace tessera::tools

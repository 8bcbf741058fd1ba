// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/interrupts.h"

#include <csignal>

namespace tessera::tools {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;
/// What SIGINT did before; one suffices, as only one Interrupts exists at a time.
struct sigaction interrupt_before = {};

extern "C" void note_interrupt(int) { interrupt_seen = 1; }

}  // namespace

Interrupts::Interrupts() {
  interrupt_seen = 0;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  is_set_ = sigaction(SIGINT, nullptr, &interrupt_before) == 0 &&
            interrupt_before.sa_handler != SIG_IGN && sigaction(SIGINT, &action, nullptr) == 0;
}

Interrupts::~Interrupts() {
  if (is_set_) sigaction(SIGINT, &interrupt_before, nullptr);
}

bool Interrupts::seen() { return interrupt_seen != 0; }

}  // namespace tessera::tools

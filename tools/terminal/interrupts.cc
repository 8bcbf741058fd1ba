// SPDX-License-Identifier: Apache-2.0
#include "tools/terminal/interrupts.h"

namespace tessera::tools {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

extern "C" void note_interrupt(int) { interrupt_seen = 1; }

}  // namespace

Interrupts::Interrupts() {
  interrupt_seen = 0;
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  is_set_ = sigaction(SIGINT, nullptr, &before_) == 0 && before_.sa_handler != SIG_IGN &&
            sigaction(SIGINT, &action, nullptr) == 0;
}

Interrupts::~Interrupts() {
  if (is_set_) sigaction(SIGINT, &before_, nullptr);
}

bool Interrupts::seen() { return interrupt_seen != 0; }

}  // namespace tessera::tools

// SPDX-License-Identifier: Apache-2.0
#include "tessera/mpi/watch.h"

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <string>

#include "tessera/base/text.h"

namespace tessera::mpi {

struct Watch::State {
  std::chrono::milliseconds time{};
  std::function<void(const Error&)> on_silence;
  std::string what;
  pthread_t thread{};
  bool has_ended = false;
  std::mutex mutex;
  std::condition_variable ended;

  void wait() {
    {
      std::unique_lock lock(mutex);
      if (ended.wait_for(lock, time, [this] { return has_ended; })) return;
    }
    on_silence(Error{ErrorCode::kRankSilent, cat(what, " within ", time.count(), " ms"),
                     std::nullopt,
                     "a rank is missing, stopped, or runs another program: see that all ranks run "
                     "the same command, or allow more time"});
  }

  static void* enter(void* state) {
    static_cast<State*>(state)->wait();
    return nullptr;
  }
};

Watch::Watch(const MpiOptions& options, std::string_view what) {
  if (!options.on_silence) return;
  state_ = std::make_unique<State>();
  state_->time = options.timeouts.silence;
  state_->on_silence = options.on_silence;
  state_->what = what;
  // Signals are for the threads of the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  const bool is_masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  if (pthread_create(&state_->thread, nullptr, &State::enter, state_.get()) != 0) state_.reset();
  if (is_masked) pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  if (!state_) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->has_ended = true;
  }
  state_->ended.notify_one();
  pthread_join(state_->thread, nullptr);
}

}  // namespace tessera::mpi

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/stop_signal.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <unistd.h>

namespace voxcycle {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
volatile std::sig_atomic_t interrupted = 0;
int alive = 0;  ///< objects
void (*pipe_before)(int) = SIG_DFL;
std::atomic<char const*> answer = nullptr;
static_assert(std::atomic<char const*>::is_always_lock_free, "read in a signal handler");
constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGUSR1, SIGHUP};

extern "C" void request_stop(int number) {
  if (number == SIGINT) {
    if (interrupted != 0) {
      std::signal(number, SIG_DFL);
      std::raise(number);
    }
    interrupted = 1;
  }
  int const error = errno;
  char const* const text = answer;
  if (stop_requested == 0 && text != nullptr) {
    [[maybe_unused]] auto const written = write(STDERR_FILENO, text, std::strlen(text));
  }
  errno = error;
  stop_requested = 1;
}

}  // namespace

StopSignal::StopSignal(char const* text) {
  if (alive++ > 0) {
    if (answer == nullptr) answer = text;
    return;
  }
  stop_requested = 0;
  interrupted = 0;
  answer = text;
  pipe_before = std::signal(SIGPIPE, SIG_IGN);
  for (int number : kSignals) {
    auto const before = std::signal(number, request_stop);
    if (number == SIGHUP && before == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

StopSignal::~StopSignal() {
  if (--alive > 0) return;
  answer = nullptr;
  std::signal(SIGPIPE, pipe_before);
  for (int number : kSignals) {
    auto const before = std::signal(number, SIG_DFL);
    if (before == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

bool StopSignal::requested() const {
  return asked();
}

bool StopSignal::asked() {
  return alive > 0 && stop_requested != 0;
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/stop_signal.hpp"

#include <array>
#include <csignal>

namespace voxcycle {
namespace {

volatile std::sig_atomic_t stop_requested = 0;
constexpr std::array<int, 4> kSignals{SIGINT, SIGTERM, SIGUSR1, SIGHUP};

extern "C" void request_stop(int number) {
  if (number == SIGINT && stop_requested != 0) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
  stop_requested = 1;
}

}  // namespace

StopSignal::StopSignal() {
  stop_requested = 0;
  for (int number : kSignals) {
    auto const before = std::signal(number, request_stop);
    if (number == SIGHUP && before == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

StopSignal::~StopSignal() {
  for (int number : kSignals) {
    auto const before = std::signal(number, SIG_DFL);
    if (before == SIG_IGN) std::signal(number, SIG_IGN);
  }
}

bool StopSignal::requested() const {
  return stop_requested != 0;
}

}  // namespace voxcycle

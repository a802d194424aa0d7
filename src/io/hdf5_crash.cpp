// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_crash.hpp"

#include "voxcycle/core/printable.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <mutex>
#include <string_view>

#include <unistd.h>

namespace voxcycle::hdf5 {
namespace {

constexpr std::array<int, 3> kSignals{SIGSEGV, SIGBUS, SIGFPE};
std::array<struct sigaction, kSignals.size()> before;
std::array<char, 4097> opened_last;  ///< ends with 0

void say(std::string_view text) {
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// The instruction is repeated when this returns, and met by whoever had the signal before.
extern "C" void name_file(int) {
  for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &before[k], nullptr);
  if (!InLibrary::now()) return;
  say("\nthe HDF5 library has failed. The file that was opened last is probably damaged; make it "
      "again: ");
  say({opened_last.data(), std::strlen(opened_last.data())});
  say("\n");
}

}  // namespace

thread_local int InLibrary::depth = 0;

void name_in_crash(std::string const& path) {
  auto const text = printable(path);
  auto const length = std::min(text.size(), opened_last.size() - 1);
  std::copy_n(text.begin(), length, opened_last.begin());
  opened_last[length] = '\0';
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_handler = name_file;
    action.sa_flags = SA_ONSTACK;
    for (std::size_t k = 0; k < kSignals.size(); ++k) sigaction(kSignals[k], &action, &before[k]);
  });
}

}  // namespace voxcycle::hdf5

// SPDX-License-Identifier: BSD-3-Clause
// The one place where errors end: prints rank and host, then ends all ranks.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/cli/error_words.hpp"
#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/tensor_memory.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

/// A file opened where standard input, output or error is closed would get what is meant for those.
void fill_standard_files() {
  int file = 0;
  do {
    file = ::open("/dev/null", O_RDWR);
  } while (file >= 0 && file <= STDERR_FILENO);
  if (file >= 0) ::close(file);
}

/// A process that leaves an error to another is ended by that one's abort; should that be lost, it
/// ends all itself.
constexpr std::chrono::seconds kPatience{10};

/// An error that all ranks meet is told once: by the rank that they agreed on, else by the first of
/// each machine. One that a rank meets alone is told at once.
bool tells(std::exception const& error, voxcycle::Communicator const& comm) {
  auto const* const common = dynamic_cast<voxcycle::CommonError const*>(&error);
  return common != nullptr ? common->told_here() : comm.claim_error();
}

int status_of(std::exception const& error) {
  if (dynamic_cast<voxcycle::UsageError const*>(&error) != nullptr)
    return voxcycle::UsageError::status;
  auto const* const common = dynamic_cast<voxcycle::CommonError const*>(&error);
  return common != nullptr ? common->status() : 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace voxcycle;
  fill_standard_files();
  std::signal(SIGXFSZ, SIG_IGN);           // a file's limit is then an error with its name
  if (has_launcher()) stop_with_parent();  // launchers that are killed cannot end us
  keep_freed_memory();
  reuse_tensor_memory();
  std::unique_ptr<Communicator> comm;
  try {
    comm = make_communicator();
    log_set_rank(comm->rank(), comm->size());
    int const status = run_command_line({argv + 1, argv + argc}, *comm);
    // A launcher may end the other ranks as soon as one has ended with another status than 0.
    bool const told = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    VOXCYCLE_REQUIRE(told,
                     "the standard output could not be written (the disk that it leads to may be "
                     "full). Make space, or write elsewhere.");
    return status;
  } catch (std::exception const& error) {
    if (!comm || comm->size() == 1) {
      log_error(words_of(error));
      return status_of(error);
    }
    if (tells(error, *comm)) {
      log_error("on " + host_name() + ": " + words_of(error));
    } else {
      std::this_thread::sleep_for(kPatience);
    }
    comm->abort(status_of(error));
  }
}

// SPDX-License-Identifier: BSD-3-Clause
// The one place where errors end: prints rank and host, then ends all ranks.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/cli/error_words.hpp"
#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/tensor_memory.hpp"

#include <algorithm>
#include <chrono>
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

}  // namespace

int main(int argc, char** argv) {
  using namespace voxcycle;
  fill_standard_files();
  keep_freed_memory();
  reuse_tensor_memory();
  std::unique_ptr<Communicator> comm;
  try {
    comm = make_communicator();
    log_set_rank(comm->rank(), comm->size());
    int const status = run_command_line({argv + 1, argv + argc}, *comm);
    // A launcher may end the other ranks as soon as one has ended with another status than 0.
    std::fflush(stdout);
    return status;
  } catch (std::exception const& error) {
    int const rank = comm ? comm->rank() : 0;
    // An error that all ranks meet is told once: the lowest rank ends the others before they speak,
    // which takes a busy launcher some tenths of a second.
    int const wait = rank == 0 ? 0 : 800 + 50 * std::min(rank, 20);
    std::this_thread::sleep_for(std::chrono::milliseconds(wait));
    std::string const where = comm && comm->size() > 1 ? "on " + host_name() + ": " : "";
    log_error(where + words_of(error));
    if (!comm || comm->size() == 1) return 1;
    comm->abort(1);
  }
}

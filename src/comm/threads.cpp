// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/threads.hpp"

#include "voxcycle/core/control_groups.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <latch>
#include <limits>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <ATen/Parallel.h>
#include <sched.h>
#include <unistd.h>

namespace voxcycle {
namespace {

// The cores that a process (0: this one) may run on, one bit each; none if the system does not say.
std::vector<bool> allowed_cores(pid_t process = 0) {
  constexpr int maximum = 1 << 14;
  std::vector<bool> allowed;
  cpu_set_t* const set = CPU_ALLOC(maximum);
  if (::sched_getaffinity(process, CPU_ALLOC_SIZE(maximum), set) == 0) {
    for (int core = 0; core < maximum; ++core) {
      allowed.push_back(CPU_ISSET_S(core, CPU_ALLOC_SIZE(maximum), set) != 0);
    }
  }
  CPU_FREE(set);
  return allowed;
}

// Processes of this machine that may run on the very same cores as this one: all of them, unless
// the launcher binds each to its own. **Collective**.
std::int64_t processes_sharing_cores(Communicator const& comm) {
  std::string const place = host_name() + ' ' + core_mask();
  auto const places = comm.all_gather_text(place);
  return std::count(places.begin(), places.end(), place);
}

int count_of(std::vector<bool> const& allowed) {
  return static_cast<int>(std::count(allowed.begin(), allowed.end(), true));
}

int allowed_core_count() {
  auto const count = count_of(allowed_cores());
  return count > 0 ? count : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

/// Open MPI binds each of one or two processes to a core, and so does it with more if it is told
/// to.
/// @return of the cores that it has itself, those that no process of this machine gets; 0 under
///         other launchers
int cores_left_idle(Communicator const& comm) {
  auto const launcher = ::getppid();
  std::ifstream name_file("/proc/" + std::to_string(launcher) + "/comm");
  std::string name;
  std::getline(name_file, name);
  bool const is_open_mpi = name == "mpirun" || name == "mpiexec" || name == "orterun" ||
                           name == "orted" || name == "prterun" || name == "prted";
  if (!is_open_mpi) return 0;
  int const there = std::min(count_of(allowed_cores(launcher)), core_limit());
  return std::max(0, there - allowed_core_count() * comm.local_size());
}

/// Thread pools wait for ever for threads that the system does not give.
/// @throws Error naming the limit if so many cannot run at once
void require_startable(std::int64_t count) {
  std::latch all_there(1);
  std::vector<std::jthread> tried;
  try {
    for (std::int64_t k = 1; k < count; ++k) tried.emplace_back([&] { all_there.wait(); });
    all_there.count_down();
  } catch (std::system_error const& problem) {
    all_there.count_down();
    throw Error(
        format("only %zu of %ld threads can be started (%s). Raise the limit of processes "
               "(ulimit -u, or pids.max of the control group), or lower run.threads.",
               tried.size() + 1, static_cast<long>(count), problem.code().message().c_str()));
  }
}

}  // namespace

int cores() {
  return std::min(allowed_core_count(), core_limit());
}

std::string core_mask() {
  std::string mask;
  for (bool const allowed : allowed_cores()) mask += allowed ? '1' : '0';
  mask.resize(mask.find_last_of('1') + 1);
  return mask.empty() ? std::string(static_cast<std::size_t>(allowed_core_count()), '1') : mask;
}

int core_limit() {
  auto const limit = cpu_limit(control_groups("cpu"));
  return limit ? std::max(1, static_cast<int>(std::ceil(*limit))) : std::numeric_limits<int>::max();
}

void set_threads(std::int64_t wanted, Communicator const& comm) {
  auto const sharing = processes_sharing_cores(comm);
  auto threads = wanted;
  if (threads == 0 && std::getenv("OMP_NUM_THREADS") == nullptr) {
    threads =
        std::min<std::int64_t>(allowed_core_count() / sharing, core_limit() / comm.local_size());
    threads = std::max<std::int64_t>(1, threads);
  }
  comm.together([&] { require_startable(threads > 0 ? threads : at::get_num_threads()); });
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
  int const there = cores();
  if (comm.rank() != 0) return;
  if (int const idle = cores_left_idle(comm); idle > 0) {
    log_warning(
        format("mpirun binds each process to %d %s and leaves %d idle: give it --bind-to "
               "none, or more cores a process (--map-by slot:PE=...).",
               there, there == 1 ? "core" : "cores", idle));
  } else if (at::get_num_threads() > there) {
    log_warning(
        format("%d threads wait for each other on %d %s: lower run.threads or OMP_NUM_THREADS, or "
               "ask for more cores.",
               at::get_num_threads(), there, there == 1 ? "core" : "cores"));
  }
}

}  // namespace voxcycle

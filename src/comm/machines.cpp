// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/machines.hpp"

#include "voxcycle/comm/threads.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <sstream>

#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// Times of files and logs then contradict each other; far above what a barrier leaves apart.
constexpr double kMaxSecondsApart = 1.0;

double clock_now() {
  auto const now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

/// Cores that any of the machine's processes may run on.
int cores_of(std::string const& host, std::vector<ProcessPlace> const& processes) {
  std::string all;
  int limit = 0;
  for (auto const& process : processes) {
    if (process.host != host) continue;
    all.resize(std::max(all.size(), process.core_mask.size()), '0');
    for (std::size_t core = 0; core < process.core_mask.size(); ++core) {
      if (process.core_mask[core] == '1') all[core] = '1';
    }
    limit = std::max(limit, process.core_limit);
  }
  return std::min(limit, static_cast<int>(std::count(all.begin(), all.end(), '1')));
}

std::string warning_of_cores(Machine const& machine, IdleCores idle) {
  auto const& host = machine.host;
  auto const threads = counted(machine.threads, "thread", "threads");
  if (machine.threads > machine.cores) {
    return threads + " on " + host + " wait for each other on " +
           counted(machine.cores, "core", "cores") +
           ": start fewer processes there, or lower run.threads or OMP_NUM_THREADS.";
  }
  // Fewer than a core for each process do not divide.
  bool const fit = machine.cores - machine.threads < machine.processes;
  if (fit || idle == IdleCores::are_fine) return {};
  return threads + " on " + host + (machine.threads == 1 ? " leaves " : " leave ") +
         std::to_string(machine.cores - machine.threads) + " of its " +
         std::to_string(machine.cores) +
         " cores idle: raise run.threads or OMP_NUM_THREADS, or start more processes.";
}

}  // namespace

std::vector<Machine> machines_of(std::vector<ProcessPlace> const& processes) {
  std::vector<Machine> machines;
  for (auto const& process : processes) {
    auto found = std::find_if(machines.begin(), machines.end(),
                              [&](Machine const& known) { return known.host == process.host; });
    if (found == machines.end()) {
      machines.push_back({.host = process.host,
                          .cores = cores_of(process.host, processes),
                          .clock_ahead = process.clock - processes.front().clock});
      found = machines.end() - 1;
    }
    ++found->processes;
    found->threads += process.threads;
  }
  return machines;
}

std::vector<Machine> machines_of(Communicator const& comm) {
  auto const mask = core_mask();
  int const limit = core_limit();
  comm.barrier();  // clocks are read at the same time
  auto const text =
      format("%.6f %d %d ", clock_now(), at::get_num_threads(), limit) + host_name() + ' ' + mask;
  std::vector<ProcessPlace> processes;
  for (auto const& place : comm.all_gather_text(text)) {
    ProcessPlace process;
    std::istringstream(place) >> process.clock >> process.threads >> process.core_limit >>
        process.host >> process.core_mask;
    processes.push_back(process);
  }
  return machines_of(processes);
}

std::string describe(Machine const& machine) {
  return machine.host + " (" + counted(machine.processes, "process", "processes") + ", " +
         counted(machine.threads, "thread", "threads") + ", " +
         counted(machine.cores, "core", "cores") + ")";
}

std::vector<std::string> warnings_of(std::vector<Machine> const& machines, IdleCores idle) {
  std::vector<std::string> warnings;
  for (auto const& machine : machines) {
    if (auto text = warning_of_cores(machine, idle); !text.empty())
      warnings.push_back(std::move(text));
    double const ahead = machine.clock_ahead;
    if (std::abs(ahead) > kMaxSecondsApart) {
      warnings.push_back(
          format("the clock of %s is %s %s that of %s: times of files and logs "
                 "contradict each other. Set them by one server (NTP).",
                 machine.host.c_str(), format_seconds(std::abs(ahead)).c_str(),
                 ahead > 0.0 ? "ahead of" : "behind", machines.front().host.c_str()));
    }
  }
  return warnings;
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
// Steps on more processes than there are, predicted.
#pragma once

#include "voxcycle/comm/traffic.hpp"
#include "voxcycle/study/scale_plan.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace voxcycle {

/// A message of n bytes takes latency + n / bandwidth.
struct NetworkSpeed {
  double latency = 0.0;    ///< seconds
  double bandwidth = 0.0;  ///< bytes a second, that a process sends and receives at the same time
};

/// Networks that have a name.
struct NamedNetwork {
  char const* name;
  char const* what;
  NetworkSpeed speed;
};
std::vector<NamedNetwork> const& named_networks();

/// A network's name, "LATENCY,BANDWIDTH" in microseconds and GB/s, e.g. "1.5,12", or what `bench
/// network --json` wrote. @throws Error for what is none, or numbers that are not positive.
NetworkSpeed parse_network(std::string const& text);

/// Of the cheaper of a ring, 2 (p-1) latency + 2 (p-1)/p n/bandwidth, and recursive doubling,
/// ceil(log2 p) (latency + n/bandwidth). Source: Thakur, Rabenseifner, Gropp, "Optimization of
/// collective communication operations in MPICH", Int. J. High Perf. Comput. Appl. 19 (2005).
double all_reduce_seconds(NetworkSpeed const& network, std::int64_t processes, double bytes);

/// Of a group of processes that exchange planes, gather coarse grids and sum: an exchange takes a
/// latency and its bytes, an all-gather ceil(log2 p) latencies and (p-1) times its bytes (recursive
/// doubling; source as above). Calls of one kind are taken to be of the same size.
double group_seconds(NetworkSpeed const& network, std::int64_t processes, Traffic const& traffic);

/// What a step sends where so many processes compute a sample together.
struct StepTraffic {
  std::vector<Calls> sums{};  ///< over all: gradients, and statistics with the loss
  Traffic in_group{};         ///< of a unit
  /// Computing a unit, relative to one process that has whole samples.
  double computing = 1.0;
};

/// What a prediction is made of.
struct StepModel {
  NetworkSpeed network;
  std::map<std::int64_t, StepTraffic> traffic{};  ///< by ScaleRun::together
  std::int64_t micro_batch_size = 1;              ///< samples a unit
  std::map<std::int64_t, double> seconds{};  ///< without sums, by units of the process; not empty
};

/// Computing a unit by measured shares of a grid, relative to all of it: a line in the planes that
/// a process has through the first and the last that was measured, or through 0.
/// @param seconds  by processes that compute a sample together; for one at least
/// @param planes   that one of so many processes has
double relative_computing(std::map<std::int64_t, double> const& seconds,
                          std::function<double(std::int64_t)> const& planes, std::int64_t together);

/// Units (micro-batches) of the process that has the most.
std::int64_t units_of(ScaleRun const& run, std::int64_t micro_batch_size);

/// Runs on so many processes whose computing a prediction is made of: `batch`, and batches of which
/// a process has half as many units, and so on down to one: what it has on twice as many processes.
std::vector<ScaleRun> computing_runs(std::int64_t processes, std::int64_t batch,
                                     std::int64_t micro_batch_size);

/// StepModel::seconds of the first of these runs and the others. @return nothing unless all were
/// measured
std::map<std::int64_t, double> computing_seconds(std::vector<ScaleRun> const& runs,
                                                 ScaleTimes const& times,
                                                 std::int64_t micro_batch_size);

struct PredictedRow {
  ScaleRun run;
  std::int64_t units = 0;   ///< of the process that has the most
  double seconds = 0.0;     ///< of a step
  double reducing = 0.0;    ///< share of sums over all in it
  double exchanging = 0.0;  ///< share of exchanges in groups
  double speedup = 0.0;     ///< relative to the first line, whose time is predicted, too
  double efficiency = 0.0;
};

/// A step takes as long as the process with the most units computes and exchanges, and then its
/// sums: nothing overlaps, nobody is late, and messages do not share links.
std::vector<PredictedRow> predict(std::vector<ScaleRun> const& runs, StepModel const& model);

/// `first` and its doubles up to kMostPredicted.
std::vector<std::int64_t> predicted_processes(std::int64_t first);
inline constexpr std::int64_t kMostPredicted = 4096;

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale_model.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <iterator>

namespace voxcycle {
namespace {

/// ceil(log2 p)
double rounds_of_doubling(std::int64_t processes) {
  return std::bit_width(static_cast<std::uint64_t>(processes - 1));
}

/// All-reduces of the same size, one after the other.
double sums_seconds(NetworkSpeed const& network, std::int64_t processes, Calls const& calls) {
  if (calls.count == 0) return 0.0;
  auto const count = static_cast<double>(calls.count);
  return count * all_reduce_seconds(network, processes, static_cast<double>(calls.bytes) / count);
}

NetworkSpeed measured_network(std::string const& path) {
  auto const found = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  VOXCYCLE_REQUIRE(found.is_object() && found.value("bench", "") == "network",
                   "--model: " << path << " is not what voxcycle bench network --json wrote. Write "
                               << "it anew, or give latency and bandwidth, e.g. --model 1.5,12.");
  return {found.at("latency_seconds").get<double>() /
              rounds_of_doubling(found.at("processes").get<std::int64_t>()),
          1e9 * found.at("best_gigabytes_a_second").get<double>()};
}

std::string names_of_networks() {
  std::vector<std::string> names;
  for (auto const& network : named_networks()) names.emplace_back(network.name);
  return join(names);
}

/// Between the two measured numbers of units around it on a line, beyond the largest in proportion.
double seconds_of_units(std::map<std::int64_t, double> const& seconds, std::int64_t units) {
  auto const next = seconds.lower_bound(units);
  if (next == seconds.end()) {
    auto const& [most, time] = *seconds.rbegin();
    return time * static_cast<double>(units) / static_cast<double>(most);
  }
  if (next->first == units || next == seconds.begin()) return next->second;
  auto const before = std::prev(next);
  double const share =
      static_cast<double>(units - before->first) / static_cast<double>(next->first - before->first);
  return before->second + share * (next->second - before->second);
}

}  // namespace

/// The rates of the links in one direction, and latencies between two nodes (with NVLink, of NCCL
/// between two GPUs) as vendors and benchmarks commonly state them.
std::vector<NamedNetwork> const& named_networks() {
  static std::vector<NamedNetwork> const networks{
      {"10gbe", "10 Gbit Ethernet, TCP", {25e-6, 1.2e9}},
      {"25gbe", "25 Gbit Ethernet, TCP", {20e-6, 3.0e9}},
      {"hdr", "HDR InfiniBand, 200 Gbit/s", {1.2e-6, 24e9}},
      {"ndr", "NDR InfiniBand, 400 Gbit/s", {1.2e-6, 48e9}},
      {"nvlink", "NVLink of H100 GPUs", {8e-6, 400e9}}};
  return networks;
}

NetworkSpeed parse_network(std::string const& text) {
  for (auto const& network : named_networks()) {
    if (text == network.name) return network.speed;
  }
  auto const parts = split_list(text);
  auto const latency = parse_number<double>(parts.empty() ? "" : parts.front());
  auto const bandwidth = parse_number<double>(parts.empty() ? "" : parts.back());
  NetworkSpeed speed;
  if (parts.size() == 2 && latency && bandwidth) {
    speed = {1e-6 * *latency, 1e9 * *bandwidth};
  } else {
    VOXCYCLE_REQUIRE(std::filesystem::is_regular_file(text),
                     "--model '" << text << "' is neither one of " << names_of_networks()
                                 << ", nor a latency in microseconds and a bandwidth in GB/s, e.g. "
                                    "1.5,12, nor a file of voxcycle bench network --json.");
    speed = measured_network(text);
  }
  auto const positive = [](double value) { return value > 0.0 && std::isfinite(value); };
  VOXCYCLE_REQUIRE(positive(speed.latency) && positive(speed.bandwidth),
                   "--model '" << text << "': latency and bandwidth must be above 0, and are "
                               << 1e6 * speed.latency << " us and " << 1e-9 * speed.bandwidth
                               << " GB/s. Give those of the network, e.g. 1.5,12.");
  return speed;
}

double all_reduce_seconds(NetworkSpeed const& network, std::int64_t processes, double bytes) {
  if (processes < 2) return 0.0;
  auto const p = static_cast<double>(processes);
  double const transfer = bytes / network.bandwidth;
  double const ring = 2.0 * (p - 1.0) * network.latency + 2.0 * (p - 1.0) / p * transfer;
  double const doubling = rounds_of_doubling(processes) * (network.latency + transfer);
  return std::min(ring, doubling);
}

double group_seconds(NetworkSpeed const& network, std::int64_t processes, Traffic const& traffic) {
  if (processes < 2) return 0.0;
  auto const others = static_cast<double>(processes - 1);
  auto const seconds = [&](Calls const& calls, double latencies, double copies) {
    return static_cast<double>(calls.count) * latencies * network.latency +
           copies * static_cast<double>(calls.bytes) / network.bandwidth;
  };
  return seconds(traffic.exchanges, 1.0, 1.0) +
         seconds(traffic.gathers, rounds_of_doubling(processes), others) +
         sums_seconds(network, processes, traffic.sums);
}

double relative_computing(std::map<std::int64_t, double> const& seconds,
                          std::function<double(std::int64_t)> const& planes,
                          std::int64_t together) {
  double const whole = planes(1), all = seconds.at(1);
  auto const [most, least] = *seconds.rbegin();
  double slope = all / whole;
  if (most > 1) slope = std::clamp((all - least) / (whole - planes(most)), 0.0, slope);
  return (all - slope * (whole - planes(together))) / all;
}

std::int64_t units_of(ScaleRun const& run, std::int64_t micro_batch_size) {
  return micro_batches_in_turn(run.batch, micro_batch_size, run.processes / run.together);
}

std::vector<ScaleRun> computing_runs(std::int64_t processes, std::int64_t batch,
                                     std::int64_t micro_batch_size) {
  std::vector<ScaleRun> runs{{processes, batch}};
  for (auto units = units_of(runs.front(), micro_batch_size); units > 1;) {
    units = (units + 1) / 2;
    runs.push_back({processes, units * processes * micro_batch_size});
  }
  return runs;
}

std::map<std::int64_t, double> computing_seconds(std::vector<ScaleRun> const& runs,
                                                 ScaleTimes const& times,
                                                 std::int64_t micro_batch_size) {
  auto const rows = scale_rows(runs, times);
  std::map<std::int64_t, double> seconds;
  if (rows.size() < runs.size()) return seconds;
  for (auto const& row : rows) {
    seconds[units_of(row.run, micro_batch_size)] = row.seconds.mean * (1.0 - row.mean.reducing);
  }
  return seconds;
}

std::vector<PredictedRow> predict(std::vector<ScaleRun> const& runs, StepModel const& model) {
  std::vector<PredictedRow> rows;
  for (auto const& run : runs) {
    auto const& traffic = model.traffic.at(run.together);
    double reducing = 0.0;
    for (auto const& calls : traffic.sums) {
      reducing += sums_seconds(model.network, run.processes, calls);
    }
    auto const units = units_of(run, model.micro_batch_size);
    double const exchanging =
        static_cast<double>(units) * group_seconds(model.network, run.together, traffic.in_group);
    double const seconds =
        seconds_of_units(model.seconds, units) * traffic.computing + exchanging + reducing;
    rows.push_back({run, units, seconds, reducing / seconds, exchanging / seconds});
    auto const& first = rows.front();
    auto& row = rows.back();
    row.speedup = static_cast<double>(run.batch) / seconds * first.seconds /
                  static_cast<double>(first.run.batch);
    row.efficiency =
        row.speedup * static_cast<double>(first.run.processes) / static_cast<double>(run.processes);
  }
  return rows;
}

std::vector<std::int64_t> predicted_processes(std::int64_t first) {
  std::vector<std::int64_t> processes;
  for (auto count = first; count <= kMostPredicted; count *= 2) processes.push_back(count);
  return processes;
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <set>

#include "bench/link_speed.hpp"
#include "bench/measure.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kSmallest = 8, kLargest = std::int64_t{1} << 26;  // bytes

/// Seconds of one call of `work`, of the slowest process. **Collective**.
template <class Work>
double slowest(BenchOptions const& o, std::int64_t calls, Work const& work) {
  auto const round = [&]() -> std::vector<double> {
    o.comm.barrier();
    auto const all = [&] {
      for (std::int64_t call = 0; call < calls; ++call) work();
    };
    return {seconds_of(all, o.device.index()) / static_cast<double>(calls)};
  };
  at::Tensor seconds = at::full({1}, medians(bench_repeats(o), round).front(), at::kDouble);
  o.comm.all_reduce(seconds, ReduceOperation::max);
  return seconds.item<double>();
}

/// Integers, as exact sums are. @param bytes  a multiple of 8
at::Tensor message(BenchOptions const& o, std::int64_t bytes) {
  return at::zeros({bytes / 8}, at::device(o.device).dtype(at::kLong));
}

double all_reduce_seconds(BenchOptions const& o, std::int64_t bytes) {
  at::Tensor values = message(o, bytes);
  // Small ones by the hundred: else it is the barrier that is measured.
  std::int64_t const calls = std::clamp<std::int64_t>((std::int64_t{1} << 22) / bytes, 1, 100);
  return slowest(o, calls, [&] { o.device_comm.all_reduce(values, ReduceOperation::sum); });
}

double copy_seconds(BenchOptions const& o, std::int64_t bytes) {
  at::Tensor const from = message(o, bytes), to = message(o, bytes);
  return slowest(o, 1, [&] { to.copy_(from); });
}

}  // namespace

BenchResult bench_network(BenchOptions const& o) {
  int const processes = o.comm.size();
  VOXCYCLE_REQUIRE(
      processes > 1,
      "bench network measures what connects processes, but this is the only one. Start "
      "it with mpirun -n 2 or more.");
  auto const names = o.comm.all_gather_text(host_name());
  auto const hosts = std::set<std::string>(names.begin(), names.end()).size();
  // What a process has to send, and to receive, of a message: nobody can do with less.
  double const share = 2.0 * (processes - 1) / processes;
  std::vector<double> seconds, rates;
  std::vector<std::int64_t> sizes;
  std::string table = format("%10s %12s %12s\n", "message", "all-reduce", "GB/s");
  for (std::int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 2) {
    sizes.push_back(bytes);
    seconds.push_back(all_reduce_seconds(o, bytes));
    rates.push_back(1e-9 * share * static_cast<double>(bytes) / seconds.back());
    table += format("%10s %12s %12.3g\n", format_bytes(static_cast<double>(bytes)).c_str(),
                    format_seconds(seconds.back()).c_str(), rates.back());
  }
  double const best = *std::max_element(rates.begin(), rates.end());
  double const copied = 1e-9 * static_cast<double>(kLargest) / copy_seconds(o, kLargest);
  double const link = hosts > 1 ? 1e-9 / 8 * fastest_link() : 0.0;
  table += format(
      "GB/s: what each of %d processes on %zu %s sends, and receives, at least. %s.\n"
      "A copy of memory makes %.3g GB/s",
      processes, hosts, hosts == 1 ? "host" : "hosts", o.device_comm.transport().c_str(), copied);
  if (link > 0.0) table += format("; the fastest link is made for %.3g GB/s", link);
  table += ".\n";
  auto members = Json::object({{"bench", "network"},
                               {"device", o.device_name},
                               {"transport", o.device_comm.transport()},
                               {"processes", processes},
                               {"hosts", hosts},
                               {"repeats", bench_repeats(o)},
                               {"bytes", sizes},
                               {"seconds_median", seconds},
                               {"gigabytes_a_second", rates},
                               {"latency_seconds", seconds.front()},
                               {"best_gigabytes_a_second", best},
                               {"copy_gigabytes_a_second", copied},
                               {"share_of_copy", best / copied}});
  if (link > 0.0) {
    members["link_gigabytes_a_second"] = link;
    members["share_of_link"] = best / link;
  }
  return {members, {}, table};
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/median.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <cstring>
#include <vector>

#include "cli/bench.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {

int bench_energy(Invocation const& call) {
  std::int64_t const n = bench_number(call, "grid", 128);
  auto const dtype = call.config.text("train.precision") == "f64" ? at::kDouble : at::kFloat;
  Grid3 const grid = Grid3::cube(n);
  at::Tensor const u = at::rand({1, 1, n + 1, n + 1, n + 1}, dtype);
  at::Tensor const nu = at::rand({1, 1, n, n, n}, dtype) + 0.5;
  std::int64_t const bytes = u.nbytes() + nu.nbytes() + u.nbytes();
  // A copy of half the bytes reads them once and writes them once: the same traffic.
  at::Tensor const from = at::ones({bytes / 2}, at::kByte);
  at::Tensor const to = at::ones({bytes / 2}, at::kByte);
  auto* target = static_cast<char*>(to.mutable_data_ptr());
  auto const* source = static_cast<char const*>(from.const_data_ptr());
  std::vector<double> kernel;
  std::vector<double> copy;
  for (int k = 0; k < kBenchRepeats + kBenchWarmUps; ++k) {
    double const a = seconds_of([&] { energy_and_gradient(u, nu, grid); });
    double const b = seconds_of([&] {
      parallel_for(bytes / 2, 1, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
      });
    });
    if (k < kBenchWarmUps) continue;
    kernel.push_back(a);
    copy.push_back(b);
  }
  return bench_report(call, {{"bench", json::text("energy")},
                             {"grid", std::to_string(n)},
                             {"precision", json::text(dtype == at::kDouble ? "f64" : "f32")},
                             {"threads", std::to_string(at::get_num_threads())},
                             {"repeats", std::to_string(kBenchRepeats)},
                             {"seconds_median", json::number(median(kernel))},
                             {"copy_seconds_median", json::number(median(copy))},
                             {"ratio_to_copy", json::number(median(kernel) / median(copy))}});
}

}  // namespace voxcycle

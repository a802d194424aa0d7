// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/evaluate/evaluation.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <cstring>

#include "bench/measure.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// Seconds of one call of work, of `calls` in a row. A GPU's are waited for together.
template <class Work>
double seconds_a_call(at::Device device, int calls, Work const& work) {
  auto const all = [&] {
    for (int i = 0; i < calls; ++i) work();
  };
  return seconds_of(all, device.index()) / calls;
}

void copy_bytes(at::Tensor const& from, at::Tensor const& to) {
  if (from.is_cuda()) {
    to.copy_(from);
    return;
  }
  auto const* source = static_cast<char const*>(from.const_data_ptr());
  auto* target = static_cast<char*>(to.mutable_data_ptr());
  parallel_for(from.numel(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
  });
}

}  // namespace

BenchResult bench_energy(BenchOptions const& o) {
  std::int64_t const n = o.grid.value_or(128);
  at::Device const device = o.device;
  auto const dtype = o.config.text("train.precision") == "f64" ? at::kDouble : at::kFloat;
  Grid3 const grid = Grid3::cube(n);
  at::Tensor const u = at::rand({1, 1, n + 1, n + 1, n + 1}, dtype).to(device);
  at::Tensor const nu = at::rand({1, 1, n, n, n}, dtype).add_(0.5).to(device);
  // u and nu are read, the gradient is written. A copy of half the bytes reads them once and writes
  // them once: the same traffic.
  std::int64_t const bytes = u.nbytes() + nu.nbytes() + u.nbytes();
  at::Tensor const from = at::ones({bytes / 2}, at::kByte).to(device);
  at::Tensor const to = at::ones({bytes / 2}, at::kByte).to(device);
  int const calls = device.is_cuda() ? 20 : 1;
  std::int64_t const repeats = bench_repeats(o);
  auto const seconds = medians(repeats, [&]() -> std::vector<double> {
    return {seconds_a_call(device, calls, [&] { energy_and_gradient(u, nu, grid); }),
            seconds_a_call(device, calls, [&] { copy_bytes(from, to); })};
  });
  double const kernel = seconds[0], copied = seconds[1];
  return {Json::object({{"bench", "energy"},
                        {"device", o.device_name},
                        {"grid", n},
                        {"precision", precision_name(dtype)},
                        {"threads", at::get_num_threads()},
                        {"repeats", repeats},
                        {"seconds_median", kernel},
                        {"copy_seconds_median", copied},
                        {"ratio_to_copy", kernel / copied},
                        {"gigabytes_a_second", static_cast<double>(bytes) / kernel / 1e9}})};
}

}  // namespace voxcycle

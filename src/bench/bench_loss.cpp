// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/options.hpp"
#include "voxcycle/evaluate/evaluation.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/train/loss.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/measure.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {

BenchResult bench_loss(BenchOptions const& o) {
  at::Device const device = o.device;
  auto const options = train_options(o.config);
  std::int64_t const n = o.grid.value_or(32);
  std::int64_t const batch = o.batch.value_or(8);
  auto const dtype = options.dtype == at::kDouble ? at::kDouble : at::kFloat;
  LossProblem const problem{Grid3::cube(n), options.boundary, options.source, device};
  auto const names = loss_names();
  std::vector<std::unique_ptr<Loss>> losses;
  for (auto const& name : names) losses.push_back(make_loss(name, problem));
  std::vector<LossInput> micro_batches;
  for (auto const& micro_batch : micro_batches_of_rank(batch, options.micro_batch_size, 1, 0)) {
    at::Tensor const u = at::rand({micro_batch.size(), 1, n + 1, n + 1, n + 1}, dtype).to(device);
    at::Tensor const nu = at::rand({micro_batch.size(), 1, n, n, n}, dtype).add_(0.5).to(device);
    micro_batches.push_back({u, nu, at::rand_like(nu), at::rand_like(u)});
  }
  std::int64_t const repeats = bench_repeats(o);
  auto const seconds = medians(repeats, [&] {
    std::vector<double> taken;
    for (auto const& loss : losses) {
      auto const evaluate_all = [&] {
        for (auto const& micro_batch : micro_batches) loss->evaluate(micro_batch);
      };
      taken.push_back(seconds_of(evaluate_all, device.index()));
    }
    return taken;
  });
  auto const standard = std::find(names.begin(), names.end(), "energy_normalised") - names.begin();
  double const unity = seconds[static_cast<std::size_t>(standard)];
  auto members = Json::object({{"bench", "loss"},
                               {"device", o.device_name},
                               {"grid", n},
                               {"batch", batch},
                               {"precision", precision_name(dtype)},
                               {"threads", at::get_num_threads()},
                               {"repeats", repeats}});
  for (std::size_t l = 0; l < losses.size(); ++l) {
    members[names[l] + "_seconds_median"] = seconds[l];
    members[names[l] + "_ratio"] = seconds[l] / unity;
  }
  return {members};
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/held_out.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/whereabouts.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/poisson/errors.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

at::ScalarType evaluation_type(Grid3 const& grid, at::ScalarType training) {
  constexpr std::int64_t max_voxels = std::int64_t{256} * 256 * 256;
  bool const is_small = grid.voxel_count() <= max_voxels;
  bool const is_coarse = training == at::kBFloat16 || training == at::kHalf;
  return is_coarse && is_small ? at::kFloat : training;
}

HeldOutErrors evaluate_held_out(ProcessGrid const& all, Network& network,
                                HeldOutSamples const& samples, HeldOutOptions const& options) {
  ProcessGrid const process_grid = all.on(samples.grid);
  Space const whole(samples.grid), space = process_grid.space(samples.grid);
  VOXCYCLE_REQUIRE(
      samples.planes == process_grid.planes(samples.grid),
      "held-out samples of " << samples.grid.label() << " are not on this process' planes.");
  // Each entry is written by one rank and zero elsewhere, so that the float sum is exact.
  at::Tensor errors = at::zeros({3, samples.count}, at::kDouble);
  auto const micro_batches = micro_batches_of_rank(samples.count, options.micro_batch_size,
                                                   process_grid.groups(), process_grid.group());
  double done = 0;
  bool stopped = false;
  note_part("evaluation");
  for (auto const& micro_batch : micro_batches) {
    if (options.stop_wanted) {
      stopped = options.stop_wanted();
      if (process_grid.spatial)
        stopped = process_grid.spatial->any(stopped);  // they compute together
      if (stopped) break;
    }
    HeldOutSet const set = samples.read(micro_batch.begin, micro_batch.end);
    at::Tensor const u = predict_part(process_grid, network, space, set.nu, set.f, options.dtype);
    if (options.after_share)
      options.after_share(++done / static_cast<double>(micro_batches.size()));
    if (options.with_first && micro_batch.begin == 0) {
      auto const first = [&](at::Tensor const& field) {
        return space.nodes_on(whole, field.narrow(0, 0, 1))[0][0];
      };
      options.with_first(first(u), first(set.u_ref));
    }
    FieldErrors const of_micro_batch =
        field_errors(u, set.u_ref.to(u.device()), set.nu.to(u.device()), space);
    if (!process_grid.leads()) continue;
    errors[0].narrow(0, micro_batch.begin, micro_batch.size()).copy_(of_micro_batch.rel_l2);
    errors[1].narrow(0, micro_batch.begin, micro_batch.size()).copy_(of_micro_batch.energy_gap);
    errors[2]
        .narrow(0, micro_batch.begin, micro_batch.size())
        .copy_(of_micro_batch.energy_norm_error);
  }
  if (options.stop_wanted && process_grid.all.any(stopped)) throw StopRequested();
  process_grid.all.all_reduce(errors, ReduceOperation::sum);
  return {errors[0], errors[1], errors[2]};
}

void require_finite(HeldOutErrors const& errors) {
  std::int64_t const sound = errors.rel_l2.isfinite().sum().item<std::int64_t>();
  VOXCYCLE_REQUIRE(
      sound == errors.rel_l2.numel(),
      "the network has no finite solution for "
          << errors.rel_l2.numel() - sound << " of " << errors.rel_l2.numel()
          << " held-out samples: its weights diverged. Lower the rate (cycle.rate) and "
             "train again with --fresh.");
}

}  // namespace voxcycle

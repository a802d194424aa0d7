// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/predict.hpp"

#include "voxcycle/network/network_input.hpp"
#include "voxcycle/network/spatial.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

at::Tensor predict(ProcessGrid const& all, Network& network, Grid3 const& grid, at::Tensor nu,
                   at::Tensor const& f, at::ScalarType dtype) {
  at::NoGradGuard const no_grad;
  ProcessGrid const process_grid = all.on(grid);
  at::Device const device = device_of(network);
  ForwardContext const context{.comm = process_grid.all,
                               .spatial = process_grid.spatial.get(),
                               .slabs = process_grid.slabs,
                               .device = device,
                               .training = false,
                               .dtype = dtype,
                               .total_micro_batches = 1,
                               .total_samples = nu.size(0)};
  auto const value_type = dtype == at::kDouble ? at::kDouble : at::kFloat;
  Space const all_of_it(grid), space = space_on(context, grid);
  at::Tensor const source = f.defined() ? all_of_it.voxels_within(space, f).to(device) : f;
  nu = all_of_it.voxels_within(space, nu).to(device, value_type);
  MicroBatches const x{network_input(nu, source)};
  nu.reset();
  at::Tensor const part = network.forward(context, grid, x).front();
  at::Tensor const u = space.nodes_on(all_of_it, part);
  double const datum = network.problems()->at(context, grid).datum;
  return datum == 0.0 ? u : u.to(at::kDouble) + datum;  // a large one leaves float32 few digits
}

std::string precision_name(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return "f64";
    case at::kFloat:
      return "f32";
    case at::kHalf:
      return "f16";
    default:
      return "bf16";
  }
}

}  // namespace voxcycle

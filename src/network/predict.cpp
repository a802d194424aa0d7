// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/predict.hpp"

#include "voxcycle/network/network_input.hpp"

#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

at::Tensor predict(ProcessGrid const& all, Network& network, Grid3 const& grid, at::Tensor nu,
                   at::Tensor const& f, at::ScalarType dtype) {
  Space const whole(grid), space = all.space(grid);
  nu = whole.voxels_within(space, nu);
  at::Tensor const source = f.defined() ? whole.voxels_within(space, f) : f;
  at::Tensor const u = predict_part(all.on(grid), network, space, std::move(nu), source, dtype);
  return space.nodes_on(whole, u);
}

at::Tensor predict_part(ProcessGrid const& process_grid, Network& network, Space const& space,
                        at::Tensor nu, at::Tensor const& f, at::ScalarType dtype) {
  at::NoGradGuard const no_grad;
  at::Device const device = device_of(network);
  Grid3 const& grid = space.slab().whole;
  ForwardContext const context{.comm = process_grid.all,
                               .spatial = process_grid.spatial.get(),
                               .slabs = process_grid.slabs,
                               .device = device,
                               .training = false,
                               .dtype = dtype,
                               .total_micro_batches = 1,
                               .total_samples = nu.size(0)};
  auto const value_type = dtype == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor const source = f.defined() ? f.to(device) : f;
  nu = nu.to(device, value_type);
  MicroBatches const x{network_input(nu, source)};
  nu.reset();
  at::Tensor const u = network.forward(context, grid, x).front();
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

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/held_out.hpp"

#include "voxcycle/grid/units.hpp"
#include "voxcycle/poisson/errors.hpp"
#include "voxcycle/train/stop_signal.hpp"

#include "train/network_input.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

at::ScalarType evaluation_type(Grid3 const& grid, at::ScalarType training) {
  constexpr std::int64_t most_voxels = std::int64_t{256} * 256 * 256;
  bool const is_small = grid.voxel_count() <= most_voxels;
  return training == at::kBFloat16 && is_small ? at::kFloat : training;
}

at::Tensor predict(Mesh const& all, Network& network, Grid3 const& grid, at::Tensor nu,
                   at::Tensor const& f, at::ScalarType dtype) {
  at::NoGradGuard const no_grad;
  Mesh const mesh = all.on(grid);
  at::Device const device = device_of(network);
  Pass const pass{.comm = mesh.all,
                  .space = mesh.space.get(),
                  .slabs = mesh.slabs,
                  .device = device,
                  .training = false,
                  .dtype = dtype,
                  .total_units = 1,
                  .total_samples = nu.size(0)};
  auto const value_type = dtype == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor const source = f.defined() ? f.to(device) : f;
  nu = nu.to(device, value_type);
  Units const x{network_input(nu, source)};
  nu.reset();
  at::Tensor const u = network.forward(pass, grid, x).front();
  double const datum = network.frames()->at(pass, grid).datum;
  return datum == 0.0 ? u : u.to(at::kDouble) + datum;  // a large one leaves float32 few digits
}

HeldOutErrors evaluate_held_out(Mesh const& all, Network& network, HeldOutSamples const& samples,
                                HeldOutOptions const& options) {
  Mesh const mesh = all.on(samples.grid);
  // Each entry is written by one rank and zero elsewhere, so that the float sum is exact.
  at::Tensor errors = at::zeros({3, samples.count}, at::kDouble);
  auto const units = units_of_rank(samples.count, options.unit_size, mesh.groups(), mesh.group());
  double done = 0;
  bool stopped = false;
  for (auto const& unit : units) {
    if (options.stop_wanted) {
      stopped = options.stop_wanted();
      if (mesh.space) stopped = mesh.space->any(stopped);  // they compute together
      if (stopped) break;
    }
    HeldOutSet const set = samples.read(unit.begin, unit.end);
    at::Tensor const u = predict(mesh, network, set.grid, set.nu, set.f, options.dtype);
    if (options.after_share) options.after_share(++done / static_cast<double>(units.size()));
    if (!mesh.leads()) continue;
    FieldErrors const of_unit =
        field_errors(u, set.u_ref.to(u.device()), set.nu.to(u.device()), set.grid);
    errors[0].narrow(0, unit.begin, unit.size()).copy_(of_unit.rel_l2);
    errors[1].narrow(0, unit.begin, unit.size()).copy_(of_unit.energy_gap);
    errors[2].narrow(0, unit.begin, unit.size()).copy_(of_unit.energy_norm_error);
  }
  if (options.stop_wanted && mesh.all.any(stopped)) throw StopRequested();
  mesh.all.all_reduce(errors, ReduceOperation::sum);
  return {errors[0], errors[1], errors[2]};
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "solver/equation.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/grid/unit_box.hpp"
#include "voxcycle/io/field_file.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <cmath>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// [nx, ny, nz] of float32 or float64 as [1, 1, nx, ny, nz], float64.
at::Tensor voxel_field(char const* name, at::Tensor const& field, Grid3 const& grid) {
  VOXCYCLE_REQUIRE(field.sizes() == at::IntArrayRef(grid.voxels.data(), 3),
                   name << " has shape " << field.sizes() << ", expected [" << grid.voxels[0]
                        << ", " << grid.voxels[1] << ", " << grid.voxels[2]
                        << "]. Fields are [nx, ny, nz].");
  VOXCYCLE_REQUIRE(field.scalar_type() == at::kFloat || field.scalar_type() == at::kDouble,
                   name << " is of type " << field.scalar_type() << ". Pass float32 or float64.");
  return field.to(at::kCPU, at::kDouble).contiguous().view(grid.voxel_shape());
}

}  // namespace

Equation make_equation(Boundary const& boundary, at::Tensor const& nu,
                       std::optional<Grid3> const& box, std::optional<at::Tensor> const& f) {
  VOXCYCLE_REQUIRE(nu.dim() == 3, "nu has shape " << nu.sizes() << ". Pass [nx, ny, nz].");
  Equation e;
  e.problem = {box.value_or(unit_box({nu.size(0), nu.size(1), nu.size(2)})), boundary};
  Grid3 const& grid = e.problem.grid;
  require_valid(grid);
  e.nu = voxel_field("nu", nu, grid);
  require_positive("nu", grid, values_of(e.nu));
  if (!f) return e;
  if (f->numel() == 1) {
    e.constant = f->item<double>();
    VOXCYCLE_REQUIRE(std::isfinite(e.constant),
                     "the source is " << e.constant << ". Give a number.");
    if (e.constant != 0.0) e.b = load_of_source(e.constant, grid);
  } else {
    e.f = voxel_field("f", *f, grid);
    require_finite("f", grid, values_of(e.f));
    e.b = load_of_source(e.f, grid);
  }
  return e;
}

double energy_of(Equation const& e, at::Tensor const& u) {
  return energy_and_gradient(u, e.nu, e.problem.grid, e.b).energy.item<double>();
}

}  // namespace voxcycle

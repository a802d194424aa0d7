// SPDX-License-Identifier: BSD-3-Clause
#include "solver/equation.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/grid/unit_box.hpp"
#include "voxcycle/io/field_file.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/conducting_part.hpp"

#include <cmath>
#include <memory>

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

void drop_bodies(Equation& e) {
  auto const part = conducting_part(e.problem.grid, e.problem.boundary, e.problem.scheme, e.nu);
  e.nu = part.nu;
  e.empty = {part.empty_voxels, part.dropped_voxels, part.dropped_bodies};
  std::int64_t const left = e.problem.grid.voxel_count() - part.empty_voxels - part.dropped_voxels;
  VOXCYCLE_REQUIRE(left > 0, "nu is 0 " << (part.dropped_voxels > 0
                                                ? "but in bodies that touch no Dirichlet face"
                                                : "everywhere")
                                        << " (nothing is left to solve for). Check the coefficient"
                                        << (part.dropped_voxels > 0 ? " and the boundary." : "."));
}

void require_no_source_in_dropped(Equation const& e, at::Tensor const& given,
                                  at::Tensor const& source) {
  if (e.empty.dropped_voxels == 0) return;
  at::Tensor const acts = given.gt(0.0).logical_and(e.nu == 0.0).logical_and(source != 0.0);
  VOXCYCLE_REQUIRE(!acts.any().item<bool>(),
                   "a source acts in a body of nu > 0 that touches no Dirichlet face, with zeros "
                   "all around (there is no solution). Let f be 0 there, or take the body out of "
                   "nu.");
}

}  // namespace

Equation make_equation(Boundary const& boundary, Scheme scheme, at::Tensor const& nu,
                       std::optional<Grid3> const& box, std::optional<at::Tensor> const& f,
                       Communicator const* comm) {
  VOXCYCLE_REQUIRE(nu.dim() == 3, "nu has shape " << nu.sizes() << ". Pass [nx, ny, nz].");
  Equation e;
  e.problem = {box.value_or(unit_box({nu.size(0), nu.size(1), nu.size(2)})), boundary, scheme};
  require_valid(e.problem.grid);
  if (comm != nullptr) {
    e.problem.space = std::make_shared<Space const>(part_of_processes(*comm, e.problem.grid));
  }
  Grid3 const grid = e.problem.space ? e.problem.space->slab().part() : e.problem.grid;
  e.nu = voxel_field("nu", nu, grid);
  require_not_negative("nu", grid, values_of(e.nu));
  at::Tensor const given = e.nu;
  if (comm == nullptr) drop_bodies(e);
  if (!f) return e;
  if (f->numel() == 1) {
    e.constant = f->item<double>();
    VOXCYCLE_REQUIRE(std::isfinite(e.constant),
                     "the source is " << e.constant << ". Give a number.");
    if (e.constant == 0.0) return e;
    if (scheme == Scheme::q1 && e.empty.voxels + e.empty.dropped_voxels == 0) {
      e.b = load_of_source(e.constant, grid);
      return e;
    }
  } else {
    e.f = voxel_field("f", *f, grid);
    require_finite("f", grid, values_of(e.f));
  }
  at::Tensor const source = e.f.defined() ? e.f : at::full_like(e.nu, e.constant);
  require_no_source_in_dropped(e, given, source);
  at::Tensor const acting = at::where(e.nu > 0.0, source, 0.0);
  e.b = scheme == Scheme::q1 ? load_of_source(acting, grid)
                             : finite_volume_load(grid, boundary, acting);
  return e;
}

at::Tensor live_unknowns(Equation const& e) {
  at::Tensor const live = e.nu > 0.0;
  if (e.problem.scheme == Scheme::finite_volume) return live;
  return stiffness_diagonal(e.nu, e.problem.grid) > 0.0;
}

double energy_of(Equation const& e, at::Tensor const& u) {
  return energy_and_gradient(u, e.nu, e.problem.here(), e.b).energy.item<double>();
}

}  // namespace voxcycle

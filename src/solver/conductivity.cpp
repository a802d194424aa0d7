// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/conductivity.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/conducting_part.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <algorithm>
#include <cmath>

#include "solver/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// u = 1 on the lower face of the axis, 0 on the upper one.
Boundary unit_difference(std::size_t axis) {
  Boundary boundary;
  boundary.faces.fill(Face{});
  boundary.faces[2 * axis] = {FaceKind::dirichlet, 1.0};
  boundary.faces[2 * axis + 1] = {FaceKind::dirichlet, 0.0};
  return boundary;
}

void require_sound(Grid3 const& grid, at::Tensor const& nu, int axis,
                   ConductivityOptions const& options) {
  require_valid(grid);
  VOXCYCLE_REQUIRE(axis >= 0 && axis < 3,
                   "axis " << axis << " is none of 0, 1 and 2 (x, y and z). Give one of them.");
  VOXCYCLE_REQUIRE(options.tolerance > 0.0 && options.tolerance < 1.0,
                   "a conductivity's tolerance is a share of it, not " << options.tolerance
                                                                       << ". Give e.g. 1e-6.");
  VOXCYCLE_REQUIRE(nu.numel() == grid.voxel_count(),
                   "nu has shape " << nu.sizes() << ", expected " << grid.name() << " voxels.");
  auto const [least, most] = nu.aminmax();
  VOXCYCLE_REQUIRE(least.item<double>() >= 0.0 && std::isfinite(most.item<double>()),
                   "nu has values that are negative or not finite (it is a conductivity). Check "
                   "the coefficient.");
}

/// A power of two near the largest value.
double unit_near_largest(at::Tensor const& nu) {
  return std::exp2(std::floor(std::log2(nu.max().item<double>())));
}

SolveOptions solve_options(ConductivityOptions const& options) {
  // Energies have the squares of errors.
  double const error = std::sqrt(options.tolerance);
  return {.tolerance = std::min(1e-2, error),
          .max_iterations = options.max_iterations,
          .energy_error = error};
}

/// By Dirichlet's principle: the flow is the least energy 2 J(u) of all u with the boundary's
/// values, of which Q1's are some. So 2 J(u) is not below it for any of them.
void bound_from_above(Problem const& problem, at::Tensor const& nu,
                      ConductivityOptions const& options, std::optional<KnownSolution> const& known,
                      AxisConductivity& result) {
  SolveResult solved;
  if (known) {
    solved.u = known->u.to(nu.device()).view(problem.grid.node_shape());
    solved.error_bound = known->error_bound;
    solved.iterations = known->iterations;
  } else {
    solved = solve_multigrid_pcg(problem, nu, solve_options(options));
  }
  result.upper = 2.0 * energy_and_gradient(solved.u, nu, problem.grid).energy.item<double>();
  result.upper_error = std::min(1.0, solved.error_bound * solved.error_bound);
  result.iterations_upper = solved.iterations;
  result.converged = result.converged && solved.error_bound <= std::sqrt(options.tolerance);
}

/// The energy of a flow through the faces of voxels, sum over voxels and axes of
/// h/(A nu) (f^2 + f g + g^2)/3 with f and g what flows through the two faces: the flow is linear
/// between them (lowest-order Raviart-Thomas). @param flows  [1, 3, points], to the next point
double exact_energy(Problem const& problem, FiniteVolumePoints const& points, at::Tensor const& nu,
                    at::Tensor const& flows) {
  Grid3 const& grid = problem.grid;
  double const volume = grid.spacing(0) * grid.spacing(1) * grid.spacing(2);
  at::Tensor sum = at::zeros_like(nu);
  for (int axis = 0; axis < 3; ++axis) {
    auto const faces = [&](std::int64_t from) {
      at::Tensor inner = flows[0][axis];
      for (int a = 0; a < 3; ++a) {
        inner = inner.narrow(a, points.first[a] + (a == axis ? from : 0), points.count[a]);
      }
      return inner;
    };
    at::Tensor const high = faces(0);
    at::Tensor low = at::zeros_like(high);
    if (points.first[axis] > 0) {
      low = faces(-1);
    } else if (points.count[axis] > 1) {
      low.narrow(axis, 1, points.count[axis] - 1)
          .copy_(high.narrow(axis, 0, points.count[axis] - 1));
    }
    double const of_flow = grid.spacing(axis) * grid.spacing(axis) / volume / 3.0;
    sum.add_((low * low + low * high + high * high).view_as(sum), of_flow);
  }
  return at::where(nu > 0.0, sum / nu, 0.0).sum().item<double>();
}

/// By Thomson's principle: I^2 / (energy of a flow q of I), energy = integral of q^2/nu, is not
/// above the flow for a difference of 1, for any q without sources that crosses no zero-flux face.
/// Those of lowest-order Raviart-Thomas elements have a value at each face of a voxel, and
/// q = -nu grad u minimises their energy. With the trapezoidal rule for its integral, h/(A nu) (f^2
/// + g^2)/2 in place of (f^2 + f g + g^2)/3 an axis, that is the finite volume scheme with harmonic
/// means (Russell and Wheeler 1983; Weiser and Wheeler 1988): f^2 + g^2 at a face between voxels a
/// and b has the weight h/(2 A a) + h/(2 A b) = -1/K_ij. The rule is not below the integral,
/// (f - g)^2/6 more, so that
///
///     I^2/(integral) >= I^2/(rule) = finite volumes,
///
/// and both are lower bounds, the first the sharper one, at the cost of one pass. Flows must have
/// no sources at all: what the solver left of them is led to a Dirichlet face (SpanningTree).
void bound_from_below(Problem const& problem, at::Tensor const& nu, int axis,
                      ConductivityOptions const& options, AxisConductivity& result) {
  auto const solved = solve_multigrid_pcg(problem, nu, solve_options(options));
  System const system(problem, nu.contiguous(), {});
  at::Tensor const u = solved.u.cpu(), conductances = system.network();
  at::Tensor flows = at::zeros_like(conductances);
  for (int a = 0; a < 3; ++a) {
    std::int64_t const n = u.size(2 + a) - 1;
    flows.select(1, a)
        .narrow(1 + a, 0, n)
        .copy_((u.narrow(2 + a, 0, n) - u.narrow(2 + a, 1, n)).squeeze(1) *
               conductances.select(1, a).narrow(1 + a, 0, n));
  }
  system.tree().add_flows(system.residual(solved.u), flows);
  double const through = flows.select(1, axis).select(1 + axis, 0).sum().item<double>();
  double const lumped =
      at::where(conductances > 0.0, flows * flows / conductances, 0.0).sum().item<double>();
  FiniteVolumePoints const points(problem.grid, problem.boundary);
  result.lower = through * through / exact_energy(problem, points, nu.cpu(), flows);
  // By both principles for the network of conductors.
  double const above = 2.0 * system.energy(solved.u), below = through * through / lumped;
  result.lower_error = std::max(0.0, above / below - 1.0);
  result.iterations_lower = solved.iterations;
  result.converged = result.converged && result.lower_error <= 2.0 * options.tolerance;
}

}  // namespace

std::optional<int> unit_axis(Boundary const& boundary) {
  for (int axis = 0; axis < 3; ++axis) {
    if (boundary == unit_difference(static_cast<std::size_t>(axis))) return axis;
  }
  return {};
}

AxisConductivity conductivity_along(Grid3 const& grid, at::Tensor const& nu, int axis,
                                    ConductivityOptions const& options) {
  require_sound(grid, nu, axis, options);
  Timer const timer;
  AxisConductivity result;
  auto const given = nu.to(at::kCPU, at::kDouble).contiguous().view(grid.voxel_shape());
  auto const part = spanning_part(grid, axis, given);
  result.dropped_voxels = part.dropped_voxels;
  result.percolates = part.nu.max().item<double>() > 0.0;
  if (result.percolates) {
    at::NoGradGuard const no_grad;
    Problem problem{grid, unit_difference(static_cast<std::size_t>(axis))};
    at::Tensor voxels = part.nu.to(options.device);
    double const unit = unit_near_largest(voxels);
    voxels = voxels / unit;
    double const per_flow = unit * grid.lengths[axis] * grid.lengths[axis] /
                            (grid.lengths[0] * grid.lengths[1] * grid.lengths[2]);
    bool const knows = options.known && options.known->axis == axis && part.empty_voxels == 0 &&
                       options.known->error_bound <= std::sqrt(options.tolerance);
    bound_from_above(problem, voxels, options, knows ? options.known : std::nullopt, result);
    problem.scheme = Scheme::finite_volume;
    bound_from_below(problem, voxels, axis, options, result);
    result.upper *= per_flow;
    result.lower *= per_flow;
    result.mean = 0.5 * (result.upper + result.lower);
  }
  result.seconds = timer.seconds();
  return result;
}

}  // namespace voxcycle

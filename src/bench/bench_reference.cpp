// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/full_multigrid.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <cstdio>
#include <limits>
#include <vector>

#include "bench/measure.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

constexpr double kTolerance = 1e-8;
constexpr std::uint64_t kSeed = 1;
constexpr int kApplies = 15;

struct BenchField {
  std::string name;
  FamilyOptions family;
  double two_phases = 0.0;  // nu becomes 1 or 1/this, by the sign of its logarithm; 0: as it is
};

BenchField random_field(std::string const& name, GrfOptions const& grf, double two_phases = 0.0) {
  BenchField field{name, {}, two_phases};
  field.family.name = "grf";
  field.family.grf = grf;
  return field;
}

BenchField spheres(double contrast) {
  BenchField field{format("spheres %.0e", contrast), {}};
  field.family.name = "inclusions";
  field.family.inclusions.count = {30, 30};
  field.family.inclusions.radius = {0.05, 0.15};
  field.family.inclusions.contrast = contrast;
  return field;
}

std::vector<BenchField> bench_fields() {
  std::vector<BenchField> fields{{"kl", {}}};
  GrfOptions rough;
  for (double variance : {1.0, 4.0}) {
    rough.variance = variance;
    fields.push_back(random_field(format("grf variance %g", variance), rough));
  }
  GrfOptions smooth;
  smooth.covariance = "gaussian";
  smooth.length = 0.05;
  for (double contrast : {1e2, 1e4, 1e6}) {
    fields.push_back(random_field(format("two-phase %.0e", contrast), smooth, contrast));
  }
  for (double contrast : {1e2, 1e4, 1e6, 1e-6}) fields.push_back(spheres(contrast));
  return fields;
}

at::Tensor voxels_of(BenchField const& field, Grid3 const& grid, at::Device device) {
  auto const family = make_family(field.family);
  at::Tensor nu = at::empty(grid.voxel_shape(), at::kFloat);
  family->evaluate(family->omega(kSeed, 0), grid, {},
                   {nu.mutable_data_ptr<float>(), static_cast<std::size_t>(nu.numel())});
  nu = nu.to(device, at::kDouble);
  return field.two_phases > 0.0 ? at::where(nu > 1.0, at::ones_like(nu), 1.0 / field.two_phases)
                                : nu;
}

double apply_seconds(at::Tensor const& nu, Grid3 const& grid) {
  at::Tensor const u = at::rand(grid.node_shape(), nu.options());
  auto const apply = [&] { apply_stiffness(u, nu, grid); };
  auto const round = [&] { return std::vector<double>{seconds_of(apply, nu.device().index())}; };
  return medians(kApplies, round, /*warm_ups=*/0).front();
}

/// Of F-cycles after the first.
double full_cycle_seconds(Problem const& problem, at::Tensor const& nu,
                          MultigridOptions const& options) {
  Multigrid const multigrid(problem.grid, problem.boundary, nu, options);
  at::Tensor const r = at::rand(problem.grid.node_shape(), nu.options());
  auto const cycle = [&] { multigrid.full_cycle(r); };
  auto const round = [&] { return std::vector<double>{seconds_of(cycle, nu.device().index())}; };
  return medians(kApplies, round, /*warm_ups=*/2).front();
}

/// Prints a row of the table. @return the same as JSON
Json measure(BenchField const& field, Problem const& problem, CoarseOperator coarse,
             at::Device device, bool show) {
  at::Tensor const nu = voxels_of(field, problem.grid, device);
  MultigridOptions options = multigrid_options_for(problem.grid, nu);
  bool const chosen = options.coarse == coarse;
  options.coarse = coarse;
  double const apply = apply_seconds(nu, problem.grid);
  DeviceTimer timer(device.index());
  Multigrid const multigrid(problem.grid, problem.boundary, nu, options);
  double const setup = timer.seconds();
  timer.restart();
  auto const full = full_multigrid(problem, nu, multigrid);
  double const context = timer.seconds();
  timer.restart();
  auto const result =
      solve_pcg(problem, nu, [&](at::Tensor const& r) { return multigrid.cycle(r); },
                {kTolerance, 200, std::numeric_limits<double>::infinity()});
  double const solve = timer.seconds();
  char const* const name = coarse == CoarseOperator::average ? "average" : "black_box";
  if (show) {
    std::printf("%-16s %-10s%c %4d%c %9.3f s %9.3f s %9.0f\n", field.name.c_str(), name,
                chosen ? '*' : ' ', result.iterations, result.converged ? ' ' : '!', setup, solve,
                (setup + solve) / apply);
    std::fflush(stdout);
  }
  Json row = Json::object({{"field", field.name},
                           {"coarse", name},
                           {"chosen", chosen},
                           {"iterations", result.iterations},
                           {"relative_residual", result.relative_residual},
                           {"converged", result.converged},
                           {"setup_seconds", setup},
                           {"solve_seconds", solve},
                           {"seconds", setup + solve},
                           {"apply_seconds", apply},
                           {"ratio_to_apply", (setup + solve) / apply},
                           {"full_multigrid_seconds", context},
                           {"full_multigrid_residual", full.relative_residual}});
  if (device.is_cuda()) {
    row["full_cycle_seconds"] = full_cycle_seconds(problem, nu, options);
    options.graph = true;
    row["full_cycle_graph_seconds"] = full_cycle_seconds(problem, nu, options);
  }
  return row;
}

}  // namespace

BenchResult bench_reference(BenchOptions const& o) {
  std::int64_t const n = o.grid.value_or(128);
  Problem const problem{Grid3::cube(n), Boundary{}};
  auto lines = Json::array();
  bool const show = o.comm.rank() == 0;
  if (show) {
    std::printf("%-16s %-11s %5s %11s %11s %9s\n", "field", "coarse", "steps", "set-up", "solve",
                "K-applies");
  }
  for (BenchField const& field : bench_fields()) {
    if (!field.name.starts_with(o.field)) continue;
    for (auto coarse : {CoarseOperator::average, CoarseOperator::black_box}) {
      lines.push_back(measure(field, problem, coarse, o.device, show));
    }
  }
  VOXCYCLE_REQUIRE(!lines.empty(), "--field '" << o.field
                                               << "' begins no field's name. Try kl, grf, "
                                                  "two-phase or spheres.");
  return {Json::object({{"bench", "reference"},
                        {"grid", n},
                        {"device", o.device_name},
                        {"threads", at::get_num_threads()},
                        {"tolerance", kTolerance},
                        {"solves", lines}})};
}

}  // namespace voxcycle

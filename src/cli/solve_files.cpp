// SPDX-License-Identifier: BSD-3-Clause
#include "cli/solve_files.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/solution_file.hpp"
#include "voxcycle/poisson/voxel_flux.hpp"

#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace voxcycle {

void write_files(Invocation const& call, SolveReport& report, at::Tensor const& nu) {
  auto const& s = report.solution;
  std::vector<std::string> written;
  if (call.has("out")) {
    auto const path = call.flags.at("out");
    at::Tensor flux;
    if (call.has("flux")) flux = voxel_flux(s.u, nu, s.grid).contiguous();
    write_solution(
        path, {.grid = s.grid,
               .u = values_of(s.u),
               .nu = call.has("with-nu") ? values_of(nu) : std::span<double const>(),
               .flux = flux.defined() ? values_of(flux) : std::span<double const>(),
               .spread = s.start.spread ? values_of(s.start.deviation) : std::span<double const>(),
               .converged = s.converged,
               .relative_residual = s.relative_residual,
               .origin = report.origin,
               .figures = {{"iterations", s.iterations},
                           {"tolerance", report.tolerance},
                           {"error_estimate", s.error_estimate}}});
    written.push_back(path);
  }
  if (call.has("png")) {
    auto const& directory = call.flags.at("png");
    report.slices = write_slices(directory, "voxcycle solve: " + report.nu, solve_lines(report),
                                 s.grid, s.u, nu);
    written.push_back(directory + "/{u,nu}_{x,y,z}.png and slices.html (" +
                      to_string(*report.slices) + ")");
  }
  if (call.has("json")) {
    write_file_atomically(call.flags.at("json"), solve_json(report));
    written.push_back(call.flags.at("json"));
  }
  if (!written.empty()) print("%-14s %s\n", "written", join(written).c_str());
}

}  // namespace voxcycle

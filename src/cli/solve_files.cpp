// SPDX-License-Identifier: BSD-3-Clause
#include "cli/solve_files.hpp"

#include "voxcycle/comm/shared_fields.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/solution_file.hpp"
#include "voxcycle/poisson/voxel_flux.hpp"

#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {

namespace {

/// What SharedFields has.
enum Field : std::size_t { kU, kNu, kFlux, kSpread };

/// Reads a field of SharedFields for a file.
FieldValues values_for_file(SharedFields const& fields, Field field, std::int64_t size) {
  return {size, [&fields, field](Box const& box, double* to) {
            at::Tensor const values = fields.read(field, box);
            at::from_blob(to, values.sizes(), at::kDouble).copy_(values);
          }};
}

MiddlePlane middle_plane(SharedFields const& fields, Field field,
                         std::array<std::int64_t, 3> const& extents) {
  return [&fields, field, extents](int axis) {
    Box box{.count = extents};
    box.begin[axis] = extents[axis] / 2;
    box.count[axis] = 1;
    return fields.read(field, box).squeeze(axis);
  };
}

void write_out(std::string const& path, Invocation const& call, SolveReport const& report,
               SharedFields const& fields) {
  auto const& s = report.solution;
  std::int64_t const voxels = s.grid.voxel_count();
  bool const in_voxels = s.scheme == Scheme::finite_volume;
  std::int64_t const values = in_voxels ? voxels : s.grid.node_count();
  SolutionFile file;
  file.grid = s.grid;
  file.u = values_for_file(fields, kU, values);
  if (call.has("with-nu")) file.nu = values_for_file(fields, kNu, voxels);
  if (call.has("flux")) file.flux = values_for_file(fields, kFlux, 3 * voxels);
  if (s.start.spread) file.spread = values_for_file(fields, kSpread, values);
  file.converged = s.converged;
  file.relative_residual = s.relative_residual;
  file.origin = report.origin;
  file.figures = {{"iterations", s.iterations},
                  {"tolerance", report.tolerance},
                  {"error_estimate", s.error_estimate}};
  write_solution(path, file);
}

void write_files(Invocation const& call, SolveReport& report, SharedFields const& fields) {
  std::vector<std::string> written;
  if (call.has("out")) {
    write_out(call.flags.at("out"), call, report, fields);
    written.push_back(call.flags.at("out"));
  }
  if (call.has("png")) {
    auto const& directory = call.flags.at("png");
    Grid3 const& grid = report.solution.grid;
    bool const in_voxels = report.solution.scheme == Scheme::finite_volume;
    std::array const nodes{grid.nodes(0), grid.nodes(1), grid.nodes(2)};
    report.slices = write_slices(directory, "voxcycle solve: " + report.nu, solve_lines(report),
                                 grid, middle_plane(fields, kU, in_voxels ? grid.voxels : nodes),
                                 middle_plane(fields, kNu, grid.voxels));
    written.push_back(directory + "/{u,nu}_{x,y,z}.png and slices.html (" +
                      to_string(*report.slices) + ")");
  }
  if (call.has("json")) {
    write_file_atomically(call.flags.at("json"), solve_json(report));
    written.push_back(call.flags.at("json"));
  }
  if (!written.empty()) print("%-14s %s\n", "written", join(written).c_str());
}

}  // namespace

void write_results(Invocation const& call, SolveReport& report, Space const& space,
                   at::Tensor const& nu) {
  auto const& s = report.solution;
  at::Tensor flux;
  if (call.has("flux")) flux = voxel_flux(s.u, nu, space.slab().part());
  SharedFields const fields(space, {s.u, nu, flux, s.start.deviation});
  fields.serve([&] {
    print("%s", solve_text(report).c_str());
    write_files(call, report, fields);
    std::fflush(stdout);
  });
}

}  // namespace voxcycle

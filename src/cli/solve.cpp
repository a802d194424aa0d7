// SPDX-License-Identifier: BSD-3-Clause
// voxcycle solve: a user's coefficient field in, solution, its error, flows and pictures out.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/choice.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/tensor_values.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/field/formula.hpp"
#include "voxcycle/io/image.hpp"
#include "voxcycle/io/solution_file.hpp"
#include "voxcycle/solver/figures.hpp"
#include "voxcycle/solver/solver.hpp"
#include "voxcycle/train/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>

#include "cli/field_tensor.hpp"
#include "cli/model_files.hpp"
#include "cli/output_files.hpp"
#include "cli/solve_files.hpp"
#include "cli/solve_report.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

// Share of a conductivity that its solves may leave, as far as rounding lets them prove it.
constexpr double kConductivityTolerance = 1e-8;

double number_of(Invocation const& call, char const* flag, double low, double high,
                 double otherwise) {
  if (!call.has(flag)) return otherwise;
  return parse_real(std::string("--") + flag, call.flags.at(flag), low, high);
}

/// The flag, else the config's key where it was given, else "".
std::string text_of_either(Invocation const& call, char const* flag, char const* key) {
  if (call.has(flag)) return call.flags.at(flag);
  return call.config.given(key) ? call.config.text(key) : "";
}

/// The source, a number, a file or a formula; "" for none.
std::string source_text(Invocation const& call) {
  auto const text = text_of_either(call, "f", "problem.source");
  VOXCYCLE_REQUIRE_USAGE(
      text != "sampled",
      "a sampled source is one of training. Give that of your field: --f NUMBER, "
      "--f FILE or --f FORMULA.");
  return text;
}

/// A file of the name goes before.
bool is_formula_of_source(std::string const& text) {
  return !std::filesystem::exists(text) && is_formula(text);
}

/// The axes given are those of the files that do not tell themselves. Where all do, reading says
/// so.
VoxelFieldOptions field_options(Invocation const& call, std::string const& location) {
  VoxelFieldOptions options{.axes = call.text("axes", "xyz")};
  if (call.has("external")) options.external = External::allowed;
  options.planes = [&](Grid3 const& grid) {
    return part_of_processes(call.comm, grid).slab().planes();
  };
  auto const source = source_text(call);
  bool const is_file =
      !source.empty() && !parse_number<double>(source) && !is_formula_of_source(source);
  bool const of_another = !has_own_axes(call.flags.at("nu")) || (is_file && !has_own_axes(source));
  if (has_own_axes(location) && of_another) options.axes = "xyz";
  if (call.has("spacing")) {
    options.spacing =
        as_usage([&] { return parse_spacing("--spacing", call.flags.at("spacing")); });
  }
  return options;
}

/// The coefficient, by --phases; numbers that look like labels get a line.
VoxelField coefficient(Invocation const& call, std::string const& location) {
  ImageOptions options{.field = field_options(call, location)};
  if (call.has("phases")) {
    options.phases = as_usage([&] { return parse_phases("--phases", call.text("phases")); });
  }
  Image image = read_image(location, options);
  if (!image.doubt.empty()) log_warning(location + ": " + image.doubt);
  return std::move(image.field);
}

std::string spacing_text(Grid3 const& grid) {
  return format("%g,%g,%g", grid.spacing(0), grid.spacing(1), grid.spacing(2));
}

/// Of two files that tell, or one that does and a unit box; --spacing overrides both.
void require_same_spacing(std::string const& location, VoxelField const& f, Grid3 const& grid) {
  constexpr double agreement = 1e-6;
  for (int axis = 0; axis < 3; ++axis) {
    double const own = f.grid.spacing(axis), other = grid.spacing(axis);
    VOXCYCLE_REQUIRE(!f.told_spacing || std::abs(own - other) <= agreement * other,
                     location << ": the source's voxels have the edges " << spacing_text(f.grid)
                              << ", the coefficient's " << spacing_text(grid)
                              << ". Give --spacing for both.");
  }
}

/// --f NUMBER|FILE|FORMULA (or problem.source); nothing for 0.
std::optional<at::Tensor> source_field(Invocation const& call, Space const& space) {
  Grid3 const& grid = space.slab().whole;
  auto const text = source_text(call);
  if (text.empty()) return {};
  if (auto const value = parse_number<double>(text)) {
    if (*value == 0.0) return {};
    return at::full({}, *value, at::kDouble);
  }
  if (is_formula_of_source(text)) {
    auto const values = formula_values(text, grid, space.slab().planes());
    return at::tensor(values, at::kDouble).view(space.slab().part().voxel_shape())[0][0];
  }
  auto const options = field_options(call, text);
  // Without a name it would be nu.
  auto field = read_voxel_field(text.ends_with(".vtkhdf") ? text + ":f" : text, options);
  VOXCYCLE_REQUIRE(field.grid.voxels == grid.voxels,
                   text << ": the source is on " << field.grid.name() << " voxels, the coefficient "
                        << "on " << grid.name() << ". Give both on the same grid.");
  require_same_spacing(text, field, grid);
  require_finite(text, grid, field.values, field.planes.begin * grid.voxels[1] * grid.voxels[2]);
  return tensor_of(std::move(field));
}

/// @throws Error on all processes where those that have planes of a grid in common read others.
void require_one_file(Communicator const& comm, Space const& space, std::string const& location,
                      at::Tensor const& values) {
  if (space.is_whole()) return;
  at::Tensor const read = values.unsqueeze(0).unsqueeze(0);
  at::Tensor const neighbours = read.clone();
  space.refresh_voxels(neighbours);
  VOXCYCLE_REQUIRE(!comm.any(!read.equal(neighbours)),
                   location << ": processes read different files of this name. Put one where all "
                               "machines see it.");
}

Scheme scheme_of(Invocation const& call) {
  return choose<Scheme>("--scheme", call.text("scheme", "q1"), scheme_words());
}

SolveMethod method_of(Invocation const& call) {
  return choose("--solver", call.text("solver", "multigrid"), solve_method_words());
}

SolverOptions solver_options(Invocation const& call) {
  SolverOptions options;
  if (call.has("precision")) {
    options.precision = parse_precision("--precision", call.flags.at("precision"));
  }
  auto const file = model_file(call);
  auto device = device_options(call.config);
  // What the device must be fit for, whatever training was or is to be.
  bool const has_network = file != "none";
  device.dtype = has_network ? options.precision.value_or(at::kHalf) : at::kFloat;
  options.device = DeviceChoice(device, call.comm).device();
  options.graph = call.config.text("run.graph") == "yes";
  options.tolerance = number_of(call, "tol", 0.0, 1.0, options.tolerance);
  double const maximum = number_of(call, "iterations", 1, 1e6, options.max_iterations);
  VOXCYCLE_REQUIRE_USAGE(maximum == std::floor(maximum),
                         "--iterations " << maximum << " is no whole number.");
  options.max_iterations = static_cast<int>(maximum);
  options.comm = &call.comm;
  options.scheme = scheme_of(call);
  options.method = method_of(call);
  if (call.has("fill")) {
    constexpr double any = std::numeric_limits<double>::max();
    options.fill = parse_real("--fill", call.flags.at("fill"), -any, any);
  }
  auto const boundary = text_of_either(call, "bc", "problem.boundary");
  if (!boundary.empty()) {
    try {
      options.boundary = parse_boundary(boundary);
    } catch (Error const& problem) {
      throw UsageError((call.has("bc") ? "--bc: " : "problem.boundary: ") +
                       std::string(problem.what()));
    }
  }
  load_models(call, options);
  return options;
}

void require_usage(Invocation const& call) {
  VOXCYCLE_REQUIRE(call.comm.size() == 1 || !call.has("conductivity"),
                   "--conductivity is for one process, not for "
                       << call.comm.size()
                       << " that share out the grid. Leave it out, or start solve without a "
                          "launcher.");
  VOXCYCLE_REQUIRE(call.has("nu"),
                   "solve needs a coefficient field. Give --nu FILE, e.g. --nu field.h5:/nu.");
  bool const has_model = model_file(call) != "none";
  VOXCYCLE_REQUIRE(has_model || !call.has("compare"),
                   "--compare has nothing to compare without a network. Add --model.");
  VOXCYCLE_REQUIRE(has_model || !call.has("precision"),
                   "--precision is the network's, and there is none. Add --model.");
  VOXCYCLE_REQUIRE(!has_model || scheme_of(call) == Scheme::q1,
                   "--model is of no use for --scheme finite_volume: networks solve the equations "
                   "of trilinear elements (q1). Leave one out.");
  for (std::string const flag : {"model", "certify", "conductivity"}) {
    VOXCYCLE_REQUIRE(method_of(call) == SolveMethod::multigrid || !call.has(flag.c_str()) ||
                         call.flags.at(flag) == "none",
                     "--" << flag << " is of no use for --solver fft, which solves from the lift "
                          << "alone. Leave one out.");
  }
  for (char const* flag : {"with-nu", "flux"}) {
    VOXCYCLE_REQUIRE(call.has("out") || !call.has(flag),
                     "--" << flag << " adds to the file of --out. Add --out.");
  }
  VOXCYCLE_REQUIRE(scheme_of(call) == Scheme::q1 || !call.has("flux"),
                   "--flux is that of trilinear elements. Leave out --scheme finite_volume.");
  VOXCYCLE_REQUIRE(!call.has("certify") || !call.has("compare"),
                   "--certify stops before the solve that --compare compares. Leave one out.");
  std::vector<InputFile> inputs;
  for (std::string const input : {"nu", "f"}) {
    if (call.has(input)) inputs.emplace_back("--" + input, call.flags.at(input));
  }
  for (auto const& checkpoint : checkpoints_of(call)) inputs.emplace_back("--model", checkpoint);
  require_outputs_of(call, {"out", "json"}, inputs);
  if (call.has("out")) {
    require_solution_format("--out", call.flags.at("out"), call.has("with-nu") || call.has("flux"));
  }
  if (call.has("png")) require_writable(call.flags.at("png") + "/u_x.png");
}

/// Solves again without the model.
Solution solve_from_lift(SolverOptions options, Solver const& solver, at::Tensor const& nu,
                         Grid3 const& grid, std::optional<at::Tensor> const& f) {
  options.model = nullptr;
  options.more_members.clear();
  options.boundary = solver.boundary();
  return Solver(options).solve(nu, grid, f);
}

/// The solution, if it is one that conductivities are made of.
std::optional<KnownSolution> known_solution(Solution const& solution, Boundary const& boundary,
                                            bool has_source) {
  auto const axis = unit_axis(boundary);
  if (!axis || has_source || solution.scheme != Scheme::q1 || solution.bounds) return {};
  return KnownSolution{*axis, solution.u, solution.error_bound, solution.iterations};
}

/// Whether a conductivity lacks iterations; what rounding leaves is told beside it.
bool ended_early(ImageFigures const& figures, SolverOptions const& options) {
  return std::any_of(figures.axes.begin(), figures.axes.end(), [&](AxisFigures const& one) {
    auto const& k = one.conductivity;
    return !k.converged &&
           std::max(k.iterations_lower, k.iterations_upper) >= options.max_iterations;
  });
}

/// At the peak, as measured from 96^3 to 224^3; fields of a GPU's are there.
double bytes_per_voxel(Invocation const& call, SolverOptions const& options) {
  if (call.has("conductivity")) return 290.0;
  if (options.scheme == Scheme::finite_volume) return 170.0;
  if (options.method == SolveMethod::fft) return 70.0;
  return options.model ? 130.0 : 90.0;
}

int solve(Invocation const& call) {
  as_usage([&] { require_usage(call); });
  auto options = solver_options(call);
  bool const tells = call.comm.rank() == 0;
  StatusLine line(tells ? StatusLine::Visible::yes : StatusLine::Visible::no,
                  StatusLine::First::after_a_pause);
  Timer const timer;
  options.before_iteration = [&](int iteration) {
    line.show([&] {
      return format("iteration %d  %s", iteration, format_seconds(timer.seconds()).c_str());
    });
  };
  Solver const solver(options);
  auto const location = call.flags.at("nu");
  VoxelField field = coefficient(call, location);
  Grid3 const grid = field.grid;
  auto const origin = field.origin;
  require_agreement(call.comm, {{"voxels of " + location, grid.name()}});
  Space const space = of_field(location, [&] { return part_of_processes(call.comm, grid); });
  at::Tensor nu = tensor_of(std::move(field));
  require_one_file(call.comm, space, location, nu);
  auto const f = source_field(call, space);
  if (f && f->dim() > 0) require_one_file(call.comm, space, source_text(call), *f);
  if (options.device.is_cpu()) {
    require_field_memory(
        call.config, call.comm, location + ": to solve " + grid.label() + " voxels",
        bytes_per_voxel(call, options) * static_cast<double>(space.slab().part().voxel_count()));
  }
  line.show([&] { return "solving on " + grid.name() + " voxels"; });

  SolveReport report{.nu = location,
                     .method = options.method,
                     .model = model_file(call),
                     .network = solver.model(),
                     .boundary = to_string(solver.boundary()),
                     .fill = options.fill,
                     .max_iterations = options.max_iterations,
                     .tolerance = options.tolerance,
                     .origin = origin,
                     .solution = of_field(location, [&] {
                       return call.has("certify") ? solver.certify(nu, grid, f)
                                                  : solver.solve(nu, grid, f);
                     })};
  if (call.has("compare")) report.from_lift = solve_from_lift(options, solver, nu, grid, f);
  if (call.has("conductivity")) {
    report.conductivity = image_conductivity(
        grid, nu, {0, 1, 2},
        {.tolerance = kConductivityTolerance,
         .max_iterations = options.max_iterations,
         .device = options.device,
         .known = known_solution(report.solution, solver.boundary(), f.has_value())});
  }
  line.erase();
  write_results(call, report, space, nu);
  auto const& s = report.solution;
  VOXCYCLE_REQUIRE(
      s.bounds || s.converged,
      location << ": reached a relative residual of " << s.relative_residual << " in "
               << s.iterations << " iterations, not " << options.tolerance
               << "; what was written is marked as not converged. Raise --tol"
               << (s.iterations >= options.max_iterations ? " or --iterations." : "."));
  VOXCYCLE_REQUIRE(!report.conductivity || !ended_early(*report.conductivity, options),
                   location << ": the effective conductivity did not converge to "
                            << kConductivityTolerance << " of it. Raise --iterations.");
  return 0;
}

}  // namespace

Command solve_command() {
  return {"solve",
          "the solution for a field in a file, with its error and flows",
          {{"nu", "FILE",
            "FILE.h5:/path[k], FILE.vtkhdf[:name], FILE.npy, FILE.npz[:name], FILE.tif or "
            "FILE:a,b,c:type (shape as stored)"},
           {"external", "", "HDF5 may take values from other files (links, virtual datasets)"},
           {"axes", "xyz", "what the axes of stored arrays are, first index first, e.g. zyx"},
           {"phases", "LABEL:VALUE,...",
            "what the labels of an image conduct; self: its numbers are the values"},
           {"spacing", "HX,HY,HZ", "edges of a voxel (default: the file's, else longest edge 1)"},
           {"model", "FILE",
            "checkpoint of a network to start from (default: none), or a run directory; of an "
            "ensemble's the start is the members' mean, and --out holds their spread"},
           {"precision", "KIND", "the network's, bf16, f16 or f32 (default: as it was trained)"},
           {"tol", "T",
            "relative residual to reach (default: 1e-8), and an error proven to be below 1e-4, or "
            "below a larger T, where rounding lets it"},
           {"iterations", "N", "most iterations (default: 500)"},
           {"f", "NUMBER|FILE|FORMULA",
            "source (or problem.source; default: 0); of FILE.vtkhdf the cell array f; a formula "
            "in x, y, z, which --spacing scales, such as 8*sin(pi*x)"},
           {"scheme", "KIND",
            "q1: trilinear elements, u on nodes (default); finite_volume: seven points, u in "
            "voxels"},
           {"solver", "KIND",
            "what conjugate gradients are preconditioned by: multigrid (default); fft, a second, "
            "independent way, for q1 and nu > 0 on CPUs"},
           {"fill", "VALUE", "u where nu is 0 all around (default: nan)"},
           {"bc", "A,B,...", "faces x-, x+, y-, y+, z-, z+: a value or flux (or problem.boundary)"},
           {"certify", "",
            "stop after bounding the error of the network's solution (without one, the lift's)"},
           {"compare", "", "solve also from the lift: what did the network save?"},
           {"conductivity", "", "effective conductivity along x, y and z, too"},
           {"out", "FILE",
            "the solution: .vtkhdf or .vti for ParaView and VTK, .h5, or .npy (u alone)"},
           {"with-nu", "", "--out holds nu, too (.vtkhdf then needs VTK 9.3 or ParaView 5.12)"},
           {"flux", "", "--out holds nu grad u in the voxels, a vector; as --with-nu"},
           {"png", "DIRECTORY", "middle planes of u and log10 nu; slices.html adds the figures"},
           {"json", "FILE", "figures"}},
          solve};
}

}  // namespace voxcycle

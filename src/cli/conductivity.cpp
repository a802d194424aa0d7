// SPDX-License-Identifier: BSD-3-Clause
// voxcycle conductivity: what segmented images conduct, one after the other.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/io/image.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "cli/conductivity_report.hpp"
#include "cli/field_tensor.hpp"
#include "cli/model_files.hpp"
#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

/// What the options say.
struct ConductivityCall {
  ImageOptions image;
  std::vector<int> axes;
  ConductivityOptions solver;
  std::optional<PeriodicTensorOptions> periodic;  ///< the tensor, in place of the axes
  std::optional<Solver> network;                  ///< by --model
  std::string pictures;                           ///< the directory, "" for none
};

std::vector<int> parse_axes(std::string const& text) {
  std::vector<int> axes;
  for (auto const& name : split_list(text)) {
    auto const axis = std::string("xyz").find(name);
    bool const known = name.size() == 1 && axis != std::string::npos &&
                       std::count(axes.begin(), axes.end(), static_cast<int>(axis)) == 0;
    VOXCYCLE_REQUIRE(known, "--axis = '" << text << "' is no list of x, y and z. Give one or more, "
                                         << "each once, e.g. --axis x,z.");
    axes.push_back(static_cast<int>(axis));
  }
  return axes;
}

/// <directory>/<number>_<name>.png
std::string picture_path(std::string const& directory, std::size_t number,
                         std::string const& location) {
  auto name = std::filesystem::path(location).filename().string();
  for (char& c : name) {
    bool const plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return directory + '/' + std::to_string(number) + '_' + name + ".png";
}

ConductivityCall conductivity_call(Invocation const& call) {
  VOXCYCLE_REQUIRE(!call.operands.empty(),
                   "conductivity needs an image. Name one or more, e.g. voxcycle conductivity "
                   "scan.tif --phases 0:0,1:1.");
  VOXCYCLE_REQUIRE(call.comm.size() == 1,
                   "conductivity runs on one process with threads (run.threads), not on "
                       << call.comm.size() << ". Start it without a launcher.");
  ConductivityCall options;
  auto& image = options.image;
  image.field.axes = call.text("axes", "xyz");
  if (call.has("external")) image.field.external = External::allowed;
  if (call.has("spacing")) {
    image.field.spacing = parse_spacing("--spacing", call.text("spacing"));
  }
  if (call.has("crop")) image.crop = parse_crop("--crop", call.text("crop"));
  if (call.has("threshold")) {
    image.threshold = parse_real("--threshold", call.text("threshold"), -1e308, 1e308);
  }
  if (call.has("phases")) image.phases = parse_phases("--phases", call.text("phases"));
  options.axes = parse_axes(call.text("axis", "x,y,z"));
  auto& tolerance = options.solver.tolerance;
  if (call.has("tolerance"))
    tolerance = parse_real("--tolerance", call.text("tolerance"), 1e-12, 0.5);
  if (call.has("periodic")) {
    VOXCYCLE_REQUIRE(!call.has("axis"),
                     "--periodic gives the tensor of all directions. Leave out --axis.");
    VOXCYCLE_REQUIRE(device_options(call.config).kind != DeviceOptions::Kind::cuda,
                     "--periodic runs on CPUs. Set run.device = cpu.");
    VOXCYCLE_REQUIRE(model_file(call) == "none",
                     "--periodic has faces that no model was trained for. Leave out --model.");
    options.periodic = PeriodicTensorOptions{.tolerance = tolerance};
  }
  std::vector<InputFile> inputs;
  for (auto const& location : call.operands) {
    VOXCYCLE_REQUIRE(!has_own_axes(location) || image.field.axes == "xyz",
                     location << ": the format says which axis is which. Leave out --axes.");
    inputs.emplace_back("an image", location);
  }
  for (auto const& checkpoint : checkpoints_of(call)) inputs.emplace_back("--model", checkpoint);
  require_outputs_of(call, {"json", "csv"}, inputs);
  options.pictures = call.text("png");
  if (call.has("png")) require_writable(picture_path(options.pictures, 1, ""));
  return options;
}

void require_positive(std::string const& location, Image const& image) {
  auto const& values = image.field.values;
  auto const zeros = std::count(values.begin(), values.end(), 0.0);
  VOXCYCLE_REQUIRE(zeros == 0, location << ": --periodic needs positive values, and " << zeros
                                        << " of " << values.size()
                                        << " voxels have 0. Give the pores a small value with "
                                           "--phases, a thousandth of the largest, say.");
}

/// Voxels that keep a user waiting for seconds.
constexpr std::int64_t kLarge = std::int64_t{128} * 128 * 128;

ImageReport report_of(std::string const& location, ConductivityCall const& options) {
  Image image = read_image(location, options.image);
  if (!image.doubt.empty()) throw UsageError(location + ": " + image.doubt);
  require_two_values(location, image);
  Grid3 const grid = image.field.grid;
  ImageReport report{.image = location, .phases = std::move(image.phases)};
  if (!options.pictures.empty()) report.png = middle_plane_png(image.field);
  if (options.periodic) require_positive(location, image);
  at::Tensor const nu = tensor_of(std::move(image.field));
  if (grid.voxel_count() >= kLarge) log_info(location + ": solving on " + grid.name() + " voxels");
  report.figures = of_field(location, [&] {
    return options.periodic ? periodic_conductivity(grid, nu, *options.periodic)
                            : image_conductivity(grid, nu, options.axes, options.solver,
                                                 options.network ? &*options.network : nullptr);
  });
  return report;
}

/// What --model names, for faces across x.
Solver network_solver(Invocation const& call, at::Device device) {
  SolverOptions options{.fill = 0.0, .device = device};
  load_models(call, options);
  Solver solver(std::move(options));
  require_unit_difference(solver);
  return solver;
}

/// The figures of each image as soon as they are known. One alone fails with its error; of several
/// the others go on.
std::vector<ImageReport> report_all(Invocation const& call, ConductivityCall const& options) {
  std::vector<ImageReport> reports;
  for (auto const& location : call.operands) {
    try {
      reports.push_back(report_of(location, options));
      print("%s", conductivity_text(reports.back()).c_str());
      std::fflush(stdout);
    } catch (Error const& problem) {
      if (call.operands.size() == 1) throw;
      log_error(problem.what());
      ImageReport& failed = reports.emplace_back();
      failed.image = location;
      failed.error = problem.what();
    }
  }
  return reports;
}

void require_converged(ImageReport const& report, double tolerance) {
  if (!report.error.empty() || report.figures.converged()) return;
  auto const& periodic = report.figures.periodic;
  std::string const why =
      periodic ? format(" (it takes the more iterations, the larger the contrast; here %.1g)",
                        periodic->contrast)
               : "";
  throw Error(report.image + ": did not converge to --tolerance " + shortest_text(tolerance) + why +
              (periodic ? ". Raise it, or the least value." : ". Raise it."));
}

int conductivity(Invocation const& call) {
  auto options = as_usage([&] { return conductivity_call(call); });
  if (!options.periodic) {
    options.solver.device = DeviceChoice(device_options(call.config), call.comm).device();
  }
  if (model_file(call) != "none") options.network = network_solver(call, options.solver.device);
  auto reports = report_all(call, options);
  auto const failed = std::count_if(reports.begin(), reports.end(),
                                    [](ImageReport const& one) { return !one.error.empty(); });
  VOXCYCLE_REQUIRE(failed < std::ssize(reports),
                   "none of the " << failed << " images could be solved. Nothing is written.");
  std::vector<std::string> written;
  for (std::size_t k = 0; k < reports.size(); ++k) {
    if (reports[k].png.empty()) continue;
    reports[k].picture = picture_path(options.pictures, k + 1, reports[k].image);
    write_file_atomically(reports[k].picture, reports[k].png);
    written.push_back(reports[k].picture);
  }
  auto const write = [&](char const* flag, std::string const& content) {
    if (!call.has(flag)) return;
    write_file_atomically(call.text(flag), content);
    written.push_back(call.text(flag));
  };
  write("json", conductivity_json(reports, options.solver.tolerance));
  write("csv", conductivity_csv(reports));
  if (!written.empty()) print("%-14s %s\n", "written", join(written).c_str());
  std::fflush(stdout);
  VOXCYCLE_REQUIRE(failed == 0, counted(failed, "image", "images")
                                    << " of " << reports.size()
                                    << " could not be solved; what is wrong with them is said "
                                       "above. The others are done.");
  for (auto const& report : reports) require_converged(report, options.solver.tolerance);
  return 0;
}

}  // namespace

Command conductivity_command() {
  return {
      "conductivity",
      "effective conductivity and tortuosity of segmented images",
      {{"phases", "LABEL:VALUE,...",
        "what the labels conduct, e.g. 0:0,1:1,2:0.3; self: the numbers are the values"},
       {"threshold", "T", "make numbers below T the label 0, others 1"},
       {"crop", "X0:X1,Y0:Y1,Z0:Z1", "a part, e.g. 0:64,:,32:96; axes as after --axes"},
       {"axes", "xyz",
        "what the axes of stored arrays are, first index first; of TIFF the first is the page, the "
        "second the row"},
       {"external", "", "HDF5 files may take values from other files (links, virtual datasets)"},
       {"spacing", "HX,HY,HZ", "edges of a voxel (default: the file's, else cubes)"},
       {"axis", "x,y,z", "directions to solve for (default: all three)"},
       {"periodic", "",
        "for an image that repeats: the whole tensor, of trilinear elements, an upper bound"},
       {"model", "FILE",
        "checkpoint of a network trained for 1 and 0 across x, or a run directory: what it says, "
        "too"},
       {"tolerance", "T", "share of each conductivity that solving may leave (default: 1e-6)"},
       {"png", "DIRECTORY", "the middle plane across x of each image, coloured by its values"},
       {"json", "FILE", "figures"},
       {"csv", "FILE", "figures, a line for each image and axis"}},
      conductivity,
      {},
      "IMAGE..."};
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/conductivity_report.hpp"

#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "cli/periodic_report.hpp"

namespace voxcycle {
namespace {

using Columns = std::vector<std::pair<std::string, double>>;

/// What is written of an axis, in the order of the columns.
Columns figures_of(AxisFigures const& one) {
  auto const& k = one.conductivity;
  return {{"conductivity", k.mean},
          {"conductivity_lower", k.lower},
          {"conductivity_upper", k.upper},
          {"solver_error_lower", k.lower_error},
          {"solver_error_upper", k.upper_error},
          {"effective_diffusivity", one.effective_diffusivity},
          {"tortuosity_factor", one.tortuosity_factor},
          {"tortuosity", one.tortuosity},
          {"formation_factor", one.formation_factor},
          {"percolating_fraction", one.percolating_fraction}};
}

/// Not a number without a network.
Columns network_columns(AxisFigures const& one) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  auto const n = one.network.value_or(
      NetworkConductivity{.upper = none, .lower = none, .network_seconds = none, .seconds = none});
  return {{"network_lower", n.lower},
          {"network_upper", n.upper},
          {"network_seconds", n.network_seconds},
          {"network_with_bounds_seconds", n.seconds}};
}

Columns columns_of(AxisFigures const& one, bool with_network) {
  auto columns = figures_of(one);
  columns.emplace_back("iterations_lower", one.conductivity.iterations_lower);
  columns.emplace_back("iterations_upper", one.conductivity.iterations_upper);
  columns.emplace_back("seconds", one.conductivity.seconds);
  if (with_network) {
    for (auto const& column : network_columns(one)) columns.push_back(column);
  }
  return columns;
}

std::string axis_name(AxisFigures const& one) {
  return std::string(1, "xyz"[one.axis]);
}

double share_of(PhaseShare const& phase, Grid3 const& grid) {
  return static_cast<double>(phase.voxels) / static_cast<double>(grid.voxel_count());
}

/// A field of CSV in quotes where it needs them.
std::string csv_text(std::string const& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char const c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

Json axis_json(AxisFigures const& one) {
  auto members = Json::object({{"axis", axis_name(one)}});
  for (auto const& [name, value] : figures_of(one)) members[name] = value;
  members["percolates"] = one.conductivity.percolates;
  members["converged"] = one.conductivity.converged;
  members["iterations_lower"] = one.conductivity.iterations_lower;
  members["iterations_upper"] = one.conductivity.iterations_upper;
  members["seconds"] = one.conductivity.seconds;
  if (one.network) {
    members["network"] = Json::object({{"used", one.network->from_network}});
    for (auto const& [name, value] : network_columns(one)) {
      members["network"][name.substr(sizeof("network"))] = value;
    }
  }
  return members;
}

Json image_json(ImageReport const& report) {
  auto members = Json::object({{"image", report.image}});
  if (!report.error.empty()) {
    members["error"] = report.error;
    return members;
  }
  auto const& grid = report.figures.grid;
  members["grid"] = grid.voxels;
  members["spacing"] = {grid.spacing(0), grid.spacing(1), grid.spacing(2)};
  members["phases"] = Json::array();
  for (auto const& phase : report.phases) {
    members["phases"].push_back({{"label", phase.label},
                                 {"value", phase.value},
                                 {"volume_fraction", share_of(phase, grid)}});
  }
  members["conducting_fraction"] = report.figures.conducting_fraction;
  if (report.figures.periodic) {
    members["periodic"] = periodic_json(*report.figures.periodic);
  } else {
    members["axes"] = Json::array();
    for (auto const& one : report.figures.axes) members["axes"].push_back(axis_json(one));
  }
  members["seconds"] = report.figures.seconds();
  if (!report.picture.empty()) members["picture"] = report.picture;
  return members;
}

}  // namespace

std::string bracket_words(AxisConductivity const& k) {
  if (!k.percolates) return "0 (no way through the conducting phases)";
  double const left = std::max(k.lower_error, k.upper_error);
  std::string const solver = std::string(k.converged ? "" : "NOT CONVERGED, ") +
                             (std::isfinite(left) ? format("solver within %.1g of each", left)
                                                  : "solver error without a bound");
  return format("%.6g, between %.9g and %.9g (voxels +-%s, %s)", k.mean, k.lower, k.upper,
                format_percent(std::max(0.0, k.upper - k.lower) / (k.upper + k.lower)).c_str(),
                solver.c_str());
}

std::string network_words(NetworkConductivity const& n) {
  return format(
      "network alone: trilinear value between %.6g and %.6g%s, in %s, with these bounds %s",
      n.lower, n.upper, n.from_network ? "" : " (no better than a straight line)",
      format_seconds(n.network_seconds).c_str(), format_seconds(n.seconds).c_str());
}

std::string conductivity_text(ImageReport const& report) {
  auto const line = [](std::string const& name, std::string const& value) {
    return format("%-14s %s\n", name.c_str(), value.c_str());
  };
  auto const& grid = report.figures.grid;
  std::string text = line("image", report.image + ", " + grid.name() + " voxels");
  std::vector<std::string> shares;
  for (auto const& phase : report.phases) {
    shares.push_back(shortest_text(phase.label) +
                     (phase.label == phase.value ? "" : " -> " + shortest_text(phase.value)) +
                     ": " + format_percent(share_of(phase, grid)));
  }
  if (shares.empty()) shares.emplace_back("many");
  text += line("phases",
               join(shares) + format("; conducting %s",
                                     format_percent(report.figures.conducting_fraction).c_str()));
  if (report.figures.periodic) text += periodic_text(*report.figures.periodic);
  for (auto const& one : report.figures.axes) {
    auto const& k = one.conductivity;
    text += line("along " + axis_name(one), "conductivity " + bracket_words(k));
    text += line("", format("tortuosity factor %.6g, tortuosity %.6g, formation factor %.6g, "
                            "effective diffusivity %.6g",
                            one.tortuosity_factor, one.tortuosity, one.formation_factor,
                            one.effective_diffusivity));
    text += line("", format("percolating %s of what conducts; %d + %d iterations, %s",
                            format_percent(one.percolating_fraction).c_str(), k.iterations_lower,
                            k.iterations_upper, format_seconds(k.seconds).c_str()));
    if (one.network) text += line("", network_words(*one.network));
  }
  return text;
}

std::string conductivity_json(std::vector<ImageReport> const& reports, double tolerance) {
  auto images = Json::array();
  for (auto const& report : reports) images.push_back(image_json(report));
  return document(Json::object({{"tolerance", tolerance}, {"images", images}}));
}

std::string conductivity_csv(std::vector<ImageReport> const& reports) {
  bool const periodic = std::any_of(reports.begin(), reports.end(), [](ImageReport const& one) {
    return one.figures.periodic.has_value();
  });
  bool const networks = std::any_of(reports.begin(), reports.end(), [](ImageReport const& image) {
    auto const& axes = image.figures.axes;
    return std::any_of(axes.begin(), axes.end(),
                       [](AxisFigures const& one) { return one.network.has_value(); });
  });
  auto const columns = periodic ? periodic_columns({}, 0) : columns_of({}, networks);
  std::string text = "image,axis,nx,ny,nz,volume_fractions,conducting_fraction";
  for (auto const& [name, value] : columns) text += ',' + name;
  text += ",error\n";
  for (auto const& report : reports) {
    if (!report.error.empty()) {
      text += csv_text(report.image) + std::string(7 + columns.size(), ',') +
              csv_text(report.error) + '\n';
      continue;
    }
    auto const& figures = report.figures;
    std::vector<std::string> shares;
    for (auto const& phase : report.phases) {
      shares.push_back(shortest_text(phase.label) + ':' +
                       shortest_text(share_of(phase, figures.grid)));
    }
    auto const add_line = [&](int axis, Columns const& values) {
      text += csv_text(report.image) + ',' + "xyz"[axis];
      for (auto const n : figures.grid.voxels) text += ',' + std::to_string(n);
      text += ',' + join(shares, " ") + ',' + shortest_text(figures.conducting_fraction);
      for (auto const& [name, value] : values) text += ',' + shortest_text(value);
      text += ",\n";
    };
    for (auto const& one : figures.axes) add_line(one.axis, columns_of(one, networks));
    for (int axis = 0; figures.periodic && axis < 3; ++axis) {
      add_line(axis, periodic_columns(*figures.periodic, static_cast<std::size_t>(axis)));
    }
  }
  return text;
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "cli/solve_report.hpp"

#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/solver/figures.hpp"

#include <array>
#include <cmath>

#include "cli/conductivity_report.hpp"

namespace voxcycle {
namespace {

constexpr char const* kFaces[6] = {"x-", "x+", "y-", "y+", "z-", "z+"};

/// A name and a value each.
struct Lines : std::vector<std::pair<std::string, std::string>> {
  void operator+=(Lines const& more) { insert(end(), more.begin(), more.end()); }
};

Lines line(char const* name, std::string const& value) {
  return {{{name, value}}};
}

/// What the network was worth: a second solve tells, or nothing is claimed.
std::string saving(SolveReport const& report) {
  auto const& s = report.solution;
  std::string text = s.start.failed ? "the network had no solution and was left out"
                     : s.start.rejected
                         ? "the network's solution was worse than the lift and was left out"
                         : format("error %.2g before conjugate gradients", s.start.error_estimate);
  if (!report.from_lift) return text + " (--compare also solves from the lift)";
  auto const& other = *report.from_lift;
  double const seconds = other.seconds.multigrid - s.seconds.multigrid - s.seconds.network;
  text += format("; from the lift: %d iterations in %s. ", other.iterations,
                 format_seconds(other.seconds.multigrid).c_str());
  int const fewer = other.iterations - s.iterations;
  text += fewer > 0 ? format("The network saved %d of %d iterations", fewer, other.iterations)
                    : format("The network saved no iterations (%+d)", -fewer);
  text += seconds > 0.0
              ? format(" and %s", format_seconds(seconds).c_str())
              : format(" and no time (it cost %s more)", format_seconds(-seconds).c_str());
  return text;
}

/// What takes no part in the solve, and what u is there.
std::string empty_text(EmptyPart const& empty, double fill) {
  std::string text = format("%ld voxels of 0", static_cast<long>(empty.voxels));
  if (empty.dropped_bodies > 0) {
    text += format(", %ld more in %s that %s no Dirichlet face",
                   static_cast<long>(empty.dropped_voxels),
                   counted(empty.dropped_bodies, "body", "bodies").c_str(),
                   empty.dropped_bodies == 1 ? "touches" : "touch");
  }
  return text + " (left out; u there is " + (std::isnan(fill) ? "nan" : shortest_text(fill)) + ")";
}

char const* equation_name(Scheme scheme) {
  return scheme == Scheme::q1 ? "trilinear elements" : "finite volumes";
}

Lines conductivity_lines(ImageFigures const& figures) {
  Lines text;
  for (auto const& one : figures.axes) {
    text += line("conductivity",
                 std::string(1, "xyz"[one.axis]) + " " + bracket_words(one.conductivity));
  }
  return text;
}

void add_conductivity(Json& members, ImageFigures const& figures) {
  auto const add = [&](std::string const& name, double AxisConductivity::*figure) {
    auto& values = members["effective_conductivity" + name] = Json::array();
    for (auto const& one : figures.axes) values.push_back(one.conductivity.*figure);
  };
  add("", &AxisConductivity::upper);
  add("_error_bound", &AxisConductivity::upper_error);
  add("_lower", &AxisConductivity::lower);
  add("_lower_error_bound", &AxisConductivity::lower_error);
  add("_mean", &AxisConductivity::mean);
  members["seconds_conductivity"] = figures.seconds();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> solve_lines(SolveReport const& report) {
  auto const& s = report.solution;
  Lines text = line("field", report.nu + ", " + s.grid.name() + " voxels");
  text += line("boundary", report.boundary);
  if (s.scheme == Scheme::finite_volume) text += line("scheme", "finite volumes, u in voxels");
  if (s.empty.voxels + s.empty.dropped_voxels > 0) {
    text += line("empty", empty_text(s.empty, report.fill));
  }
  if (s.start.network_grid) {
    std::string const where = s.start.network_grid->voxels == s.grid.voxels
                                  ? ""
                                  : ", on " + s.start.network_grid->label() + ", interpolated";
    text += line("network", format_seconds(s.seconds.network) + " (" + report.network + ", " +
                                precision_name(s.start.precision) + where + ")");
  }
  if (s.start.spread) {
    text += line("spread", format_percent(*s.start.spread) +
                               " of the mean's size (standard deviation over the members)");
  }
  text += line("setup", format_seconds(s.seconds.setup) + " (" + to_string(report.method) + ")");
  text += line("estimate", format_seconds(s.seconds.estimate));
  if (s.bounds) {
    char const* const of = s.start.from_network ? "of the network's solution"
                           : s.start.failed     ? "of the lift: the network had no solution"
                           : s.start.rejected
                               ? "of the lift: the network's solution was worse and was left out"
                               : "of the lift";
    text += line("error", format("%.3g <= |u - u*| / |u*| <= %.3g in the energy norm, ",
                                 s.bounds->lower, s.bounds->upper) +
                              of);
    text += line("residual", format("%.3g", s.relative_residual));
  } else {
    char const* const end = !s.converged                             ? ", NOT CONVERGED"
                            : s.relative_residual > report.tolerance ? ", the limit of rounding"
                                                                     : "";
    text += line("solve", format("%s, %d iterations, relative residual %.3g%s",
                                 format_seconds(s.seconds.multigrid).c_str(), s.iterations,
                                 s.relative_residual, end));
    bool const ended = s.iterations >= report.max_iterations;
    char const* const by = ended ? "by --iterations" : "by rounding";
    std::string maximum = std::isfinite(s.error_bound) ? format("at most %.2g", s.error_bound)
                                                       : std::string("without a bound");
    if (s.error_bound > SolveOptions{}.energy_error) maximum += format(" (limited %s)", by);
    text += line("error", format("about %.2g, %s, in the relative energy norm (of the discrete "
                                 "equation, %s)",
                                 s.error_estimate, maximum.c_str(), equation_name(s.scheme)));
    if (s.start.network_grid) text += line("network saved", saving(report));
  }
  std::vector<std::string> flows;
  for (std::size_t face = 0; face < 6; ++face) {
    flows.push_back(format("%s %.6g", kFaces[face], s.flows.into[face]));
  }
  text += line("flow into", join(flows) + format("; source %.6g, imbalance %.2g", s.flows.source,
                                                 s.flows.imbalance()));
  if (report.conductivity) text += conductivity_lines(*report.conductivity);
  return text;
}

std::string solve_text(SolveReport const& report) {
  std::string text;
  for (auto const& [name, value] : solve_lines(report)) {
    text += format("%-14s %s\n", name.c_str(), value.c_str());
  }
  return text;
}

std::string solve_json(SolveReport const& report) {
  auto members = Json::object({{"nu", report.nu},
                               {"boundary", report.boundary},
                               {"model", report.model},
                               {"tolerance", report.tolerance}});
  members.update(figures_of(report.solution, report.method));
  if (report.from_lift) {
    members["iterations_from_lift"] = report.from_lift->iterations;
    members["seconds_from_lift"] = report.from_lift->seconds.multigrid;
  }
  if (report.conductivity) {
    add_conductivity(members, *report.conductivity);
    members["seconds"] = report.solution.seconds.total() + report.conductivity->seconds();
  }
  if (report.slices) {
    auto const ends = [](ColorRange range) { return std::array{range.low, range.high}; };
    members["pictures"] =
        Json::object({{"u", ends(report.slices->u)}, {"log10_nu", ends(report.slices->log10_nu)}});
  }
  return document(members);
}

}  // namespace voxcycle

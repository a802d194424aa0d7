// SPDX-License-Identifier: BSD-3-Clause
#include "cli/periodic_report.hpp"

#include "voxcycle/core/text.hpp"

#include <cmath>

namespace voxcycle {
namespace {

/// 0 for what is rounding beside `size`.
double shown(double value, double size) {
  return std::abs(value) <= 1e-12 * size ? 0.0 : value;
}

}  // namespace

std::string periodic_text(PeriodicTensor const& tensor) {
  std::string text;
  auto const line = [&](char const* name, std::string const& value) {
    text += format("%-14s %s\n", name, value.c_str());
  };
  std::string const solver = std::isfinite(tensor.error)
                                 ? format("solver within %.1g", tensor.error)
                                 : std::string("solver error without a bound");
  line("periodic", "conductivity tensor of trilinear elements: an upper bound of the voxels' (" +
                       std::string(tensor.converged ? "" : "NOT CONVERGED, ") + solver + ")");
  for (auto const& row : tensor.matrix) {
    double const size = tensor.principal_values[2];
    line("", format("%13.6g %13.6g %13.6g", shown(row[0], size), shown(row[1], size),
                    shown(row[2], size)));
  }
  for (std::size_t k = 0; k < 3; ++k) {
    auto along = tensor.principal_directions[k];
    for (double& component : along) component = std::round(1e4 * component) / 1e4 + 0.0;
    line(k == 0 ? "principal" : "",
         format("%.6g along (%.4f, %.4f, %.4f)", tensor.principal_values[k], along[0], along[1],
                along[2]));
  }
  auto const& iterations = tensor.iterations;
  line("", format("%d + %d + %d iterations, %s", iterations[0], iterations[1], iterations[2],
                  format_seconds(tensor.seconds).c_str()));
  return text;
}

Json periodic_json(PeriodicTensor const& tensor) {
  return Json::object({{"conductivity", tensor.matrix},
                       {"bound", "upper"},
                       {"principal_values", tensor.principal_values},
                       {"principal_directions", tensor.principal_directions},
                       {"solver_error", tensor.error},
                       {"converged", tensor.converged},
                       {"iterations", tensor.iterations},
                       {"relative_residuals", tensor.relative_residuals},
                       {"seconds", tensor.seconds}});
}

std::vector<std::pair<std::string, double>> periodic_columns(PeriodicTensor const& tensor,
                                                             std::size_t axis) {
  auto const& row = tensor.matrix[axis];
  auto const& along = tensor.principal_directions[axis];
  return {{"conductivity_x", row[0]},
          {"conductivity_y", row[1]},
          {"conductivity_z", row[2]},
          {"principal_value", tensor.principal_values[axis]},
          {"principal_x", along[0]},
          {"principal_y", along[1]},
          {"principal_z", along[2]},
          {"solver_error", tensor.error},
          {"iterations", tensor.iterations[axis]},
          {"seconds", tensor.seconds}};
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/figures.hpp"

#include "voxcycle/network/predict.hpp"

namespace voxcycle {

std::map<std::string, Scheme> const& scheme_words() {
  static std::map<std::string, Scheme> const words{{"q1", Scheme::q1},
                                                   {"finite_volume", Scheme::finite_volume}};
  return words;
}

Json figures_of(Solution const& s, SolveMethod method) {
  auto members = Json::object({
      {"grid", s.grid.voxels},
      {"scheme", s.scheme == Scheme::q1 ? "q1" : "finite_volume"},
      {"empty_voxels", s.empty.voxels},
      {"dropped_voxels", s.empty.dropped_voxels},
      {"dropped_bodies", s.empty.dropped_bodies},
      {"solver", to_string(method)},
      {"converged", s.converged},
      {"iterations", s.iterations},
      {"relative_residual", s.relative_residual},
      {"error_estimate", s.error_estimate},
      {"error_bound", s.error_bound},
      {"seconds", s.seconds.total()},
      {"seconds_network", s.seconds.network},
      {"seconds_setup", s.seconds.setup},
      {"seconds_estimate", s.seconds.estimate},
      {"seconds_" + to_string(method), s.seconds.multigrid},
      {"flow_into_faces", s.flows.into},
      {"source", s.flows.source},
      {"imbalance", s.flows.imbalance()},
  });
  if (s.bounds) {
    members["error_lower"] = s.bounds->lower;
    members["error_upper"] = s.bounds->upper;
  }
  if (s.start.network_grid) {
    members["network_grid"] = s.start.network_grid->name();
    members["network_precision"] = precision_name(s.start.precision);
    members["network_used"] = s.start.from_network;
    members["start_relative_residual"] = s.start.relative_residual;
    members["start_error_estimate"] = s.start.from_network ? Json(s.start.error_estimate) : Json();
  }
  if (s.start.spread) members["network_spread"] = *s.start.spread;
  return members;
}

}  // namespace voxcycle

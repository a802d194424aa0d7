// SPDX-License-Identifier: BSD-3-Clause
// What voxcycle solve tells of a solution: lines, JSON.
#pragma once

#include "voxcycle/evaluate/slices.hpp"
#include "voxcycle/solver/image_conductivity.hpp"
#include "voxcycle/solver/solver.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

struct SolveReport {
  std::string nu;  ///< where the coefficient lies
  SolveMethod method = SolveMethod::multigrid;
  std::string model;    ///< "none", or the checkpoint
  std::string network;  ///< its name and sizes
  std::string boundary;
  double fill = 0.0;  ///< of u where there is no equation
  int max_iterations = 0;
  double tolerance = 0.0;
  std::array<double, 3> origin{};  ///< of the box
  Solution solution;
  std::optional<Solution> from_lift{};  ///< the same problem solved from the lift, to compare
  std::optional<ImageFigures> conductivity{};
  std::optional<SliceRanges> slices{};  ///< of the pictures, if there are some
};

/// A dozen lines, a name and a value each: what each part cost, what was reached, what the network
/// saved.
std::vector<std::pair<std::string, std::string>> solve_lines(SolveReport const& report);
/// The same for a terminal.
std::string solve_text(SolveReport const& report);
std::string solve_json(SolveReport const& report);

}  // namespace voxcycle

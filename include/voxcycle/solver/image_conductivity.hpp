// SPDX-License-Identifier: BSD-3-Clause
// What a segmented image conducts, and the numbers that are made of it.
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/solver/conductivity.hpp"
#include "voxcycle/solver/network_conductivity.hpp"
#include "voxcycle/solver/periodic_tensor.hpp"

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Of one axis. Infinity where nothing flows.
struct AxisFigures {
  int axis = 0;
  AxisConductivity conductivity{};
  double effective_diffusivity = 0.0;  ///< conductivity.mean over the largest value of a voxel
  double formation_factor = 0.0;       ///< its reciprocal
  /// tau: mean of the voxels' values over conductivity.mean, >= 1 but for what conductivity.mean is
  /// too high by. Of one conducting phase with volume fraction eps and diffusivity D it is
  /// eps D / D_eff.
  double tortuosity_factor = 0.0;
  double tortuosity = 0.0;            ///< square root of tau
  double percolating_fraction = 0.0;  ///< share of the conducting voxels that lead through
  std::optional<NetworkConductivity> network{};  ///< where there is one, and something flows
};

struct ImageFigures {
  Grid3 grid{};
  double conducting_fraction = 0.0;  ///< of the voxels, those with a value > 0
  std::vector<AxisFigures> axes{};   ///< in the order asked for
  std::optional<PeriodicTensor> periodic{};
  double seconds() const;  ///< of all solves

  /// Whether all solves reached the tolerance.
  bool converged() const;
};

/// @param nu    [nx, ny, nz], float64, on the CPU, contiguous, >= 0, some > 0
/// @param axes     each 0, 1 or 2
/// @param network  for what a network says beside it, as for network_conductivity
/// @throws Error as conductivity_along and network_conductivity do.
ImageFigures image_conductivity(Grid3 const& grid, at::Tensor const& nu,
                                std::vector<int> const& axes,
                                ConductivityOptions const& options = {},
                                Solver const* network = nullptr);

/// The tensor in place of the axes. @param nu  as above, > 0
/// @throws Error as periodic_tensor does.
ImageFigures periodic_conductivity(Grid3 const& grid, at::Tensor const& nu,
                                   PeriodicTensorOptions const& options = {});

}  // namespace voxcycle

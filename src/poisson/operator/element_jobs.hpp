// SPDX-License-Identifier: BSD-3-Clause
// The jobs of poisson on GPUs, for whoever instantiates launch_elements (core/element_job.hpp).
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <tuple>
#include <utility>

#include "poisson/multigrid/black_box_points.hpp"
#include "poisson/multigrid/body_points.hpp"
#include "poisson/multigrid/transfer_points.hpp"
#include "poisson/operator/node_points.hpp"
#include "poisson/operator/stencil_points.hpp"

namespace voxcycle {

template <class T>
using NodeJobs =
    std::tuple<NodeSumJob<T>, ChebyshevJob<T>, LanczosJob<T>, NoiseJob<T>, DivideJob<T>>;

template <class T>
using MultigridJobs =
    std::tuple<RestrictJob<T>, ProlongJob<T>, AverageJob<T>, WeightedRestrictJob<T>,
               WeightedProlongJob<T>, ApplyCouplingsJob<T>, CouplingDiagonalJob<T>>;

template <class T>
using BlackBoxJobs = decltype(std::tuple_cat(
    std::declval<BlackBoxWeightJobs<T, VoxelEntries<T>>>(),
    std::declval<BlackBoxWeightJobs<T, CouplingEntries<T>>>(),
    std::declval<std::tuple<BlackBoxCouplingJob<T, VoxelEntries<T>>,
                            BlackBoxCouplingJob<T, CouplingEntries<T>>>>()));

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A trained network (averaged weights) and what it was trained for. Several solvers may share one.
struct Model {
  std::string file;  ///< where it was read from
  std::string name;  ///< the network's, with its sizes, for people
  std::shared_ptr<Network> network;
  NetworkOptions options;  ///< of the network
  Boundary boundary;
  Source source;
  /// Whether nu has a unit that the network knows: of the family (see CoefficientFamily), or by a
  /// source of one value beside unequal ones on the boundary.
  bool has_unit = false;
  at::ScalarType precision = at::kFloat;  ///< of convolutions and activations in training
  std::vector<Grid3> grids;               ///< of the training, coarsest first
  std::string training;                   ///< all that its weights depend on, a line per key
  std::mutex one_at_a_time;               ///< who runs the network: it keeps what it knows of grids
};

/// What to divide nu and f by, which changes no solution: networks know nu around 1. A power of
/// two; 1 where 1 is among the values of nu.
/// @param nu    > 0
/// @param part  that nu is on; null: nu is whole
double unit_of(at::Tensor const& nu, Space const* part = nullptr);

/// That its network runs in unless another is asked for: as it was trained, but in float32 instead
/// of float64, and, where that is slow, instead of 16 bits (on GPUs in float16 instead of
/// bfloat16).
at::ScalarType usual_precision(Model const& model, at::Device device);

}  // namespace voxcycle

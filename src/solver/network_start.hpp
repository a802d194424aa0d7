// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/solver/model.hpp"

#include <memory>
#include <optional>

#include "solver/equation.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A trained network as the start of a solve.
class NetworkStart {
 public:
  /// @param device     where it computes
  /// @param precision  of convolutions and activations, not float64; default: usual_precision
  /// @throws Error for another precision.
  NetworkStart(std::shared_ptr<Model> model, at::Device device,
               std::optional<at::ScalarType> precision);

  at::ScalarType precision() const { return precision_; }
  /// The grid itself, or the finest coarser one that the network fits, as a unit box.
  /// @throws Error if there is none.
  Grid3 network_grid(Grid3 const& grid) const;
  /// The network's solution (interpolated from network_grid) on the problem's nodes in float64,
  /// with exact Dirichlet values, on the network's device as the equation's fields are, and on the
  /// part of the grid that this process has. The problem has the model's boundary.
  /// Undefined, with a warning, where the network cannot compute on this field.
  /// Of several threads one at a time.
  /// @throws Error also for a grid that processes share out and the network does not fit, and for a
  ///         source that the network was not trained for. Where the boundary's
  ///         values are equal, one of another size is none.
  at::Tensor operator()(Equation const& e) const;

 private:
  struct SeenSource {
    at::Tensor f{};     ///< undefined if the network's inputs have none
    double gain = 1.0;  ///< the network's solution, less the boundary's datum, is this times u's
  };
  SeenSource seen_source(Equation const& e, double unit) const;
  void require_runs(Space const& space, Grid3 const& grid) const;
  at::Tensor predicted(Space const& space, Grid3 const& grid, at::Tensor const& nu,
                       at::Tensor const& f) const;

  std::shared_ptr<Model> model_;
  at::Device device_;
  at::ScalarType precision_;
  std::unique_ptr<Communicator> comm_;
};

}  // namespace voxcycle

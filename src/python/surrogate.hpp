// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/model.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A trained network as a map nu -> u with its derivative. The map is the program's own; the
/// derivative is that of the network as exported (see export_network), which computes the same and
/// is differentiable in nu, in float32.
class Surrogate {
 public:
  /// @param checkpoint  a file, or the directory of a run
  /// @param precision   of convolutions and activations in solution(): "f32", "bf16" or "f16";
  ///                    default: usual_precision
  /// @throws Error as load_model
  Surrogate(std::string const& checkpoint, std::optional<std::string> const& precision);
  ~Surrogate();

  std::shared_ptr<Model> const& model() const { return model_; }

  /// @param nu  [B, 1, nx, ny, nz], > 0, where the network is to compute
  /// @param f   shape of nu; undefined unless the model's sources are sampled
  /// @return as an exported model's, [B, 1, nx+1, ny+1, nz+1]
  /// @throws Error naming what does not fit.
  at::Tensor solution(at::Tensor const& nu, at::Tensor const& f) const;

  /// The vector-Jacobian product: gradients in nu and f (undefined without one), given that in u.
  std::pair<at::Tensor, at::Tensor> gradients(at::Tensor const& nu, at::Tensor const& f,
                                              at::Tensor const& of_u) const;

 private:
  struct Script;
  Script& script_on(at::Device device) const;
  at::Tensor units_of(at::Tensor const& nu) const;

  std::shared_ptr<Model> model_;
  std::optional<at::ScalarType> precision_;
  std::unique_ptr<Script> mutable script_;  // made when first needed
};

}  // namespace voxcycle

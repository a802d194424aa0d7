// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/dataset/mixture.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What a loss is made for: one stage of training.
struct LossProblem {
  Space space;  ///< the grid, or this process' part of it
  Boundary boundary;
  Source source{};
  at::Device device = at::kCPU;  ///< of the fields
};

/// What a loss may look at: one micro-batch of n samples, n > 0. All fields are contiguous and of
/// u's type, and right throughout this process' part.
struct LossInput {
  at::Tensor u;      ///< [n, 1, nx+1, ny+1, nz+1], float32 or float64, with exact Dirichlet values,
                     ///< measured from the boundary's datum
  at::Tensor nu;     ///< [n, 1, nx, ny, nz]
  at::Tensor f;      ///< shape of nu; undefined unless problem.source is sampled
  at::Tensor u_ref;  ///< reference solutions, shape of u, measured from the datum, too; undefined
                     ///< unless needs_reference(the loss)
  std::vector<SampleOrigin> samples{};  ///< who they are; empty where nobody knows
  at::Tensor numbers{};  ///< sample_numbers() of these, where u is; undefined: not known yet
};

/// Loss of each sample of one micro-batch, and its gradient in u; the step divides by the global
/// batch.
struct LossTerms {
  at::Tensor values;    ///< [n], float64
  at::Tensor gradient;  ///< d values / d u on free nodes, shape and dtype of u; the network's u
                        ///< does not move on Dirichlet nodes, so there any value will do. Its
                        ///< memory is its own: the step divides it in place
};

/// What training minimises, a sum over samples.
class Loss {
 public:
  virtual ~Loss() = default;
  virtual LossTerms evaluate(LossInput const& input) const = 0;
  /// What the loss wants to know that follows from the samples alone (all of input but u), float64
  /// of [n, numbers] on the host; undefined if nothing. Remembered by sample.
  virtual at::Tensor sample_numbers(LossInput const& /*input*/) const { return {}; }
};

/// Names accepted by make_loss.
std::vector<std::string> loss_names();
/// @throws Error for an unknown name, listing the valid ones, or a problem that the loss is not
/// meant for.
std::unique_ptr<Loss> make_loss(std::string const& name, LossProblem const& problem);
/// Whether training shards must hold reference solutions. @throws Error for an unknown name.
bool needs_reference(std::string const& name);
}  // namespace voxcycle

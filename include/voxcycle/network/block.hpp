// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/norm_act.hpp"
#include "voxcycle/network/scripted.hpp"
#include "voxcycle/network/unit_conv.hpp"

#include <torch/nn.h>

namespace voxcycle {

/// Two 3^3 convolutions, each with normalisation and leaky ReLU.
class Block : public torch::nn::Module, public Scripted {
 public:
  Block(std::int64_t in, std::int64_t out, Norm norm);
  Units forward(Pass const& pass, Units const& x);
  /// What forward and its backward hold (see Tape).
  static Field plan(std::int64_t in, std::int64_t out, Norm norm, Tape& tape, Field const& x);
  std::string script() const override;

 private:
  std::shared_ptr<UnitConv> conv1_;
  std::shared_ptr<NormAct> norm1_;
  std::shared_ptr<UnitConv> conv2_;
  std::shared_ptr<NormAct> norm2_;
};

}  // namespace voxcycle

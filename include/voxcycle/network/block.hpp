// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/conv.hpp"
#include "voxcycle/network/norm_act.hpp"
#include "voxcycle/network/recompute.hpp"
#include "voxcycle/network/scripted.hpp"

#include <torch/nn/module.h>

namespace voxcycle {

/// Two 3^3 convolutions, each with normalisation and leaky ReLU.
class Block : public torch::nn::Module, public Scripted {
 public:
  Block(std::int64_t in, std::int64_t out, Norm norm);

  /// Makes one field, or two whose channels go together into the block.
  using Before = std::function<Fields(ForwardContext const&, Fields const&)>;
  using After = std::function<Fields(ForwardContext const&, MicroBatches const&)>;
  static Fields nothing_more(ForwardContext const&, MicroBatches const& y) { return {y}; }
  /// after(block(before(inputs))) in two pieces, one a convolution (recompute.hpp).
  /// @param layers  holds the block and all that `before` and `after` use
  /// @param inputs  are let go of after the first piece
  Fields recomputed(ForwardContext const& context, torch::nn::Module const& layers, Fields inputs,
                    Before const& before, After const& after = nothing_more);

  Script script() const override;

 private:
  MicroBatches first(ForwardContext const& context, Fields const& x);
  MicroBatches second(ForwardContext const& context, MicroBatches const& h);

  std::shared_ptr<Conv> conv1_;
  std::shared_ptr<NormAct> norm1_;
  std::shared_ptr<Conv> conv2_;
  std::shared_ptr<NormAct> norm2_;
};

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/block.hpp"

namespace voxcycle {

Block::Block(std::int64_t in, std::int64_t out, Norm norm)
    : conv1_(register_module("conv1", std::make_shared<Conv>(ConvOptions{.in = in, .out = out}))),
      norm1_(register_module(
          "norm1", std::make_shared<NormAct>(NormOptions{.norm = norm, .channels = out}))),
      conv2_(register_module("conv2", std::make_shared<Conv>(ConvOptions{.in = out, .out = out}))),
      norm2_(register_module(
          "norm2", std::make_shared<NormAct>(NormOptions{.norm = norm, .channels = out}))) {}

MicroBatches Block::first(ForwardContext const& context, Fields const& x) {
  return norm1_->forward(context, x.size() == 1 ? conv1_->forward(context, x[0])
                                                : conv1_->forward(context, x.at(0), x.at(1)));
}

MicroBatches Block::second(ForwardContext const& context, MicroBatches const& h) {
  return norm2_->forward(context, conv2_->forward(context, h));
}

Fields Block::recomputed(ForwardContext const& context, torch::nn::Module const& layers,
                         Fields inputs, Before const& before, After const& after) {
  auto const middle = voxcycle::recomputed(
      context, layers, inputs, [this, before](ForwardContext const& p, Fields const& in) -> Fields {
        return {first(p, before(p, in))};
      });
  inputs.clear();
  return voxcycle::recomputed(context, layers, middle,
                              [this, after](ForwardContext const& p, Fields const& in) {
                                return after(p, second(p, in[0]));
                              });
}

Script Block::script() const {
  return {"Block"};
}

}  // namespace voxcycle

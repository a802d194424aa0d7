// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/block.hpp"

namespace voxcycle {

Block::Block(std::int64_t in, std::int64_t out, Norm norm)
    : conv1_(
          register_module("conv1", std::make_shared<UnitConv>(ConvOptions{.in = in, .out = out}))),
      norm1_(register_module(
          "norm1", std::make_shared<NormAct>(NormOptions{.norm = norm, .channels = out}))),
      conv2_(
          register_module("conv2", std::make_shared<UnitConv>(ConvOptions{.in = out, .out = out}))),
      norm2_(register_module(
          "norm2", std::make_shared<NormAct>(NormOptions{.norm = norm, .channels = out}))) {}

Units Block::first(Pass const& pass, Fields const& x) {
  return norm1_->forward(
      pass, x.size() == 1 ? conv1_->forward(pass, x[0]) : conv1_->forward(pass, x.at(0), x.at(1)));
}

Units Block::second(Pass const& pass, Units const& h) {
  return norm2_->forward(pass, conv2_->forward(pass, h));
}

Fields Block::recomputed(Pass const& pass, torch::nn::Module const& layers, Fields inputs,
                         Before const& before, After const& after) {
  auto const middle = voxcycle::recomputed(
      pass, layers, inputs, [this, before](Pass const& p, Fields const& in) -> Fields {
        return {first(p, before(p, in))};
      });
  inputs.clear();
  return voxcycle::recomputed(pass, layers, middle, [this, after](Pass const& p, Fields const& in) {
    return after(p, second(p, in[0]));
  });
}

std::vector<Field> Block::plan(BlockOptions const& o, Tape& tape, std::vector<Field> const& inputs,
                               PlanBefore const& before, PlanAfter const& after) {
  NormOptions const normalise{.norm = o.norm, .channels = o.out};
  auto const middle = tape.recomputed(inputs, [=](Tape& t, std::vector<Field> const& in) {
    auto const x = before(t, in);
    ConvOptions const conv{.in = o.in, .out = o.out};
    Field const y =
        x.size() == 1 ? UnitConv::plan(conv, t, x[0]) : UnitConv::plan(conv, t, x.at(0), x.at(1));
    return std::vector{NormAct::plan(normalise, t, y)};
  });
  return tape.recomputed(middle, [=](Tape& t, std::vector<Field> const& in) {
    Field const y = UnitConv::plan({.in = o.out, .out = o.out}, t, in[0]);
    return after(t, NormAct::plan(normalise, t, y));
  });
}

Field Block::plan(BlockOptions const& o, Tape& tape, Field const& x) {
  return plan(o, tape, {x}, [](Tape&, std::vector<Field> const& in) { return in; })[0];
}

std::string Block::script() const {
  return R"(
def forward(self, x: Tensor) -> Tensor:
    h = self.norm1.forward(self.conv1.forward(x))
    return self.norm2.forward(self.conv2.forward(h))
)";
}

}  // namespace voxcycle

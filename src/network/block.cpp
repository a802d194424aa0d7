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

Units Block::forward(Pass const& pass, Units const& x) {
  Units const h = norm1_->forward(pass, conv1_->forward(pass, x));
  return norm2_->forward(pass, conv2_->forward(pass, h));
}

namespace {

Field plan_inside(std::int64_t in, std::int64_t out, Norm norm, Tape& tape, Field const& x) {
  NormOptions const normalise{.norm = norm, .channels = out};
  Field const h = NormAct::plan(normalise, tape, UnitConv::plan({.in = in, .out = out}, tape, x));
  return NormAct::plan(normalise, tape, UnitConv::plan({.in = out, .out = out}, tape, h));
}

}  // namespace

Field Block::plan(std::int64_t in, std::int64_t out, Norm norm, Tape& tape, Field const& x) {
  auto const& options = tape.options();
  bool const keeps = !options.gradient || options.checkpointing == Checkpointing::none;
  if (keeps) return plan_inside(in, out, norm, tape, x);

  auto alone = options;
  alone.gradient = false;
  Tape forward(tape.ledger(), alone);
  Field const y = plan_inside(in, out, norm, forward, x);
  tape.take_in(forward);
  // Again, and backward at once, which ends with the slope of x: the one that the tape makes.
  auto inner = options;
  inner.checkpointing = Checkpointing::none;
  Field given = x;
  given.maker = -1;
  auto const recompute = [=, &ledger = tape.ledger()] {
    Tape inside(ledger, inner);
    inside.backward(plan_inside(in, out, norm, inside, given), {});
    return inside.take_gradients();
  };
  return tape.record(y, {.inputs = {x}, .kept = {x.memory}, .recompute = recompute});
}

std::string Block::script() const {
  return R"(
def forward(self, x: Tensor) -> Tensor:
    h = self.norm1.forward(self.conv1.forward(x))
    return self.norm2.forward(self.conv2.forward(h))
)";
}

}  // namespace voxcycle

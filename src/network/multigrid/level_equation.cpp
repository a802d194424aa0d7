// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/level_equation.hpp"

#include "voxcycle/core/error.hpp"

#include <array>
#include <utility>

#include "network/layers/prolongation.hpp"
#include "network/multigrid/best_correction.hpp"
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::array<std::int64_t, 3> nodes_of(Grid3 const& grid) {
  return {grid.nodes(0), grid.nodes(1), grid.nodes(2)};
}

MicroBatches lifted(NodalFrame const& frame, MicroBatches const& x) {
  return each(x, [&](at::Tensor const& micro_batch) {
    return frame.lift.expand({micro_batch.size(0), -1, -1, -1, -1});
  });
}

/// No sample: any padding has the right shape, and keeps coarser levels in the backward pass.
at::Tensor padded(at::Tensor const& u, Grid3 const& fine) {
  auto const nodes = nodes_of(fine);
  return at::constant_pad_nd(
      u, {0, nodes[2] - u.size(4), 0, nodes[1] - u.size(3), 0, nodes[0] - u.size(2)});
}

/// The same equation on every grid, for what the network sees there; trilinear interpolation.
class AveragedEquation final : public LevelEquation {
 public:
  AveragedEquation(ForwardContext const& context, FrameCache& frames)
      : context_(context), frames_(frames) {}

  MicroBatches coarsest(Grid3 const& grid, MicroBatches const& x) override {
    return lifted(frames_.at(context_, grid), x);
  }
  MicroBatches prolonged(Grid3 const& fine, MicroBatches const& coarse) override {
    MicroBatches const u = each(coarse, [&](at::Tensor const& micro_batch) {
      return micro_batch.size(0) > 0 ? voxcycle::prolonged(micro_batch, nodes_of(fine))
                                     : padded(micro_batch, fine);
    });
    return frames_.with_dirichlet_values(context_, fine, u);
  }
  MicroBatches smoothed(Grid3 const& grid, MicroBatches const& u, MicroBatches const& x) override {
    return voxcycle::smoothed(frames_.at(context_, grid), u, x);
  }
  MicroBatches corrected(Grid3 const&, MicroBatches const&, MicroBatches const&) override {
    throw Error("network.subspace needs nested levels: set network.coarse = black_box.");
  }

 private:
  ForwardContext const& context_;
  FrameCache& frames_;
};

/// One linear step of a micro-batch's u on grid `level`; its transpose in the backward pass.
using Step = at::Tensor (NestedFields::*)(int level, at::Tensor const& u) const;
template <Step Forward, Step Transposed>
struct NestedFunction : torch::autograd::Function<NestedFunction<Forward, Transposed>> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor const& u, Nested const& nested,
                            int level) {
    ctx->saved_data["nested"] = as_value(nested);
    ctx->saved_data["level"] = std::int64_t{level};
    return ((*nested).*Forward)(level, u.contiguous());
  }
  static variable_list backward(AutogradContext* ctx, variable_list const& gradients) {
    auto const& nested = nested_of(ctx->saved_data["nested"]);
    auto const level = static_cast<int>(ctx->saved_data["level"].toInt());
    return {(nested.*Transposed)(level, gradients.at(0).contiguous()), {}, {}};
  }
};
using Prolong = NestedFunction<&NestedFields::prolonged, &NestedFields::restricted>;
using Smooth = NestedFunction<&NestedFields::smooth, &NestedFields::transposed>;

/// Each coarser grid has the space of the finer one that its interpolation spans.
class NestedMicroBatches final : public LevelEquation {
 public:
  NestedMicroBatches(ForwardContext const& context, FrameCache& frames, Grid3 const& finest,
                     MicroBatches const& x, int levels)
      : context_(context), frames_(frames), finest_(finest) {
    auto const& frame = frames.at(context, finest);
    for (auto const& micro_batch : x) {
      nested_.push_back(micro_batch.size(0) > 0
                            ? frame.nested(micro_batch, solution_type(context), levels)
                            : nullptr);
    }
  }

  MicroBatches coarsest(Grid3 const& grid, MicroBatches const& x) override {
    MicroBatches u = lifted(frames_.at(context_, grid), x);
    for (std::size_t k = 0; k < u.size(); ++k) {
      if (nested_[k]) u[k] = nested_[k]->coarsest();
    }
    return u;
  }
  MicroBatches prolonged(Grid3 const& fine, MicroBatches const& coarse) override {
    MicroBatches u;
    for (std::size_t k = 0; k < coarse.size(); ++k) {
      u.push_back(nested_[k] ? Prolong::apply(coarse[k], nested_[k], level(fine))
                             : padded(coarse[k], fine));
    }
    return u;
  }
  MicroBatches smoothed(Grid3 const& grid, MicroBatches const& u, MicroBatches const&) override {
    MicroBatches smooth;
    for (std::size_t k = 0; k < u.size(); ++k) {
      smooth.push_back(nested_[k] ? Smooth::apply(u[k], nested_[k], level(grid)) : u[k]);
    }
    return smooth;
  }
  MicroBatches corrected(Grid3 const& grid, MicroBatches const& u,
                         MicroBatches const& directions) override {
    at::Tensor const& mask = frames_.at(context_, grid).mask;
    MicroBatches best;
    for (std::size_t k = 0; k < u.size(); ++k) {
      best.push_back(nested_[k]
                         ? best_correction(u[k], directions[k], mask, nested_[k], level(grid))
                         : u[k] + directions[k].to(u[k].scalar_type()).sum(1, true));
    }
    return best;
  }

 private:
  int level(Grid3 const& grid) const {
    int halvings = 0;
    for (auto n = finest_.voxels[0]; n > grid.voxels[0]; n /= 2) ++halvings;
    return halvings;
  }

  ForwardContext const& context_;
  FrameCache& frames_;
  Grid3 finest_;
  std::vector<Nested> nested_;  ///< of each micro-batch; null where it has no sample
};

}  // namespace

std::unique_ptr<LevelEquation> equation_of(ForwardContext const& context, FrameCache& frames,
                                           Grid3 const& finest, MicroBatches const& x, int levels) {
  if (!frames.at(context, finest).nested)
    return std::make_unique<AveragedEquation>(context, frames);
  return std::make_unique<NestedMicroBatches>(context, frames, finest, x, levels);
}

PlannedEquation::PlannedEquation(Tape& tape, Grid3 const& finest, int levels)
    : tape_(&tape), finest_(finest) {
  auto const& o = tape.options();
  if (o.nested.make)
    nested_ = o.nested.make(tape.ledger(), finest, o.samples, o.micro_batch, levels);
}

void PlannedEquation::meet(Grid3 const& grid) const {
  if (nested_.empty() || grid == finest_) tape_->meet(grid);
}

Field PlannedEquation::coarsest(Grid3 const& grid) const {
  return {.grid = grid,
          .channels = 1,
          .points = grid.node_count(),
          .value = tape_->options().solution_bytes};  // the lift itself, or one of nested_
}

Field PlannedEquation::prolonged(Grid3 const& fine, Field const& coarse) const {
  Field u = tape_->record(tape_->nodal(fine, coarse.value), {.inputs = {coarse}, .kept = nested_});
  bool const is_new = nested_.empty() && tape_->options().has_steps;
  return is_new ? tape_->record(tape_->nodal(fine, u.value), {.inputs = {u}}) : u;
}

Field PlannedEquation::smoothed(Field const& u, Field const& x) const {
  if (nested_.empty()) return plan_smoothed(*tape_, u, x);
  auto const smooth = [&ledger = tape_->ledger(), &o = tape_->options(), grid = u.grid] {
    o.nested.smooth(ledger, grid, o.micro_batch);
  };
  Field const made = tape_->nodal(u.grid, u.value);
  smooth();
  return tape_->record(made, {.inputs = {u}, .kept = nested_, .workspace = smooth});
}

Field PlannedEquation::corrected(Field const& u, Field const& directions) const {
  return plan_best_correction(*tape_, u, directions, nested_);
}

}  // namespace voxcycle

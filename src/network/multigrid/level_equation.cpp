// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/level_equation.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/network/spatial.hpp"
#include "voxcycle/poisson/nested_equation.hpp"
#include "voxcycle/poisson/prolongation.hpp"

#include <utility>

#include "network/multigrid/best_correction.hpp"
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

MicroBatches lifted(LevelProblem const& problem, MicroBatches const& x) {
  return each(x, [&](at::Tensor const& micro_batch) {
    return problem.lift.expand({micro_batch.size(0), -1, -1, -1, -1});
  });
}

/// No sample: any padding has the right shape, and keeps coarser levels in the backward pass.
at::Tensor padded(at::Tensor const& u, Grid3 const& fine) {
  return at::constant_pad_nd(u, {0, fine.nodes(2) - u.size(4), 0, fine.nodes(1) - u.size(3), 0,
                                 fine.nodes(0) - u.size(2)});
}

/// The same equation on every grid, for what the network sees there; trilinear interpolation.
class AveragedEquation final : public LevelEquation {
 public:
  AveragedEquation(ForwardContext const& context, LevelProblems& problems)
      : context_(context), problems_(problems) {}

  MicroBatches coarsest(Grid3 const& grid, MicroBatches const& x) override {
    return lifted(problems_.at(context_, grid), x);
  }
  MicroBatches prolonged(Grid3 const& fine, MicroBatches const& coarse) override {
    Space const here = space_on(context_, fine), below = space_on(context_, fine.coarsened());
    MicroBatches const u = each(coarse, [&](at::Tensor const& micro_batch) {
      if (micro_batch.size(0) == 0) return padded(micro_batch, here.slab().part());
      return voxcycle::prolonged(to_interpolate(here, below, micro_batch), here.slab().part());
    });
    return problems_.at(context_, fine).with_dirichlet_values(u);
  }
  MicroBatches smoothed(Grid3 const& grid, MicroBatches const& u, MicroBatches const& x) override {
    return voxcycle::smoothed(problems_.at(context_, grid), u, x);
  }
  MicroBatches corrected(Grid3 const&, MicroBatches const&, MicroBatches const&) override {
    throw Error("network.subspace needs nested levels: set network.coarse = black_box.");
  }

 private:
  ForwardContext const& context_;
  LevelProblems& problems_;
};

/// One linear step of a micro-batch's u on grid `level`; its transpose in the backward pass.
using Step = at::Tensor (NestedEquation::*)(int level, at::Tensor const& u) const;
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
using Prolong = NestedFunction<&NestedEquation::prolonged, &NestedEquation::restricted>;
using Smooth = NestedFunction<&NestedEquation::smooth, &NestedEquation::transposed>;

/// Each coarser grid has the space of the finer one that its interpolation spans.
class NestedMicroBatches final : public LevelEquation {
 public:
  NestedMicroBatches(ForwardContext const& context, LevelProblems& problems, Grid3 const& finest,
                     MicroBatches const& x, int levels)
      : context_(context), problems_(problems), finest_(finest) {
    auto const& problem = problems.at(context, finest);
    for (auto const& micro_batch : x) {
      nested_.push_back(micro_batch.size(0) > 0
                            ? problem.nested(micro_batch, levels, context.slabs.above)
                            : nullptr);
    }
  }

  MicroBatches coarsest(Grid3 const& grid, MicroBatches const& x) override {
    MicroBatches u = lifted(problems_.at(context_, grid), x);
    for (std::size_t k = 0; k < u.size(); ++k) {
      if (nested_[k]) u[k] = nested_[k]->coarsest();
    }
    return u;
  }
  MicroBatches prolonged(Grid3 const& fine, MicroBatches const& coarse) override {
    MicroBatches u;
    for (std::size_t k = 0; k < coarse.size(); ++k) {
      u.push_back(nested_[k] ? Prolong::apply(coarse[k], nested_[k], level(fine))
                             : padded(coarse[k], space_on(context_, fine).slab().part()));
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
    at::Tensor const& mask = problems_.at(context_, grid).mask;
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
  LevelProblems& problems_;
  Grid3 finest_;
  std::vector<Nested> nested_;  ///< of each micro-batch; null where it has no sample
};

}  // namespace

std::unique_ptr<LevelEquation> equation_of(ForwardContext const& context, LevelProblems& problems,
                                           Grid3 const& finest, MicroBatches const& x, int levels) {
  if (!problems.at(context, finest).is_nested())
    return std::make_unique<AveragedEquation>(context, problems);
  return std::make_unique<NestedMicroBatches>(context, problems, finest, x, levels);
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/nodal_frame.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SmoothFunction : torch::autograd::Function<SmoothFunction> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor const& u, at::Tensor const& x,
                            FieldSmoother const* smoother) {
    ctx->save_for_backward({x});
    ctx->saved_data["smoother"] = reinterpret_cast<std::int64_t>(smoother);
    return smoother->smooth(u.contiguous(), x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    auto const* smoother =
        reinterpret_cast<FieldSmoother const*>(ctx->saved_data["smoother"].toInt());
    at::Tensor const x = ctx->get_saved_variables().at(0);
    return {smoother->transposed(gradients.at(0).contiguous(), x), {}, {}};
  }
};

}  // namespace

MicroBatches smoothed(NodalFrame const& frame, MicroBatches const& u, MicroBatches const& x) {
  if (frame.smoother == nullptr) return u;
  return each(u, x, [&](at::Tensor const& micro_batch, at::Tensor const& input) {
    // No sample: nothing to smooth, and coarser levels stay in the backward pass.
    return micro_batch.size(0) == 0
               ? micro_batch
               : SmoothFunction::apply(micro_batch, input, frame.smoother.get());
  });
}

at::ScalarType solution_type(ForwardContext const& context) {
  return context.dtype == at::kDouble ? at::kDouble : at::kFloat;
}

NodalFrame const& FrameCache::at(ForwardContext const& context, Grid3 const& grid) {
  auto const type = solution_type(context);
  auto [place, is_new] = frames_.try_emplace({grid.name(), type, context.device.str()});
  if (is_new) {
    auto& frame = place->second = make_(grid, context.device);
    frame.lift = frame.lift.to(type);
    frame.mask = frame.mask.to(type);
  }
  return place->second;
}

bool has_steps(NodalFrame const& frame) {
  at::Tensor const fixed = frame.mask == 0;
  for (int axis = 2; axis < 5; ++axis) {
    std::int64_t const pairs = fixed.size(axis) - 1;
    auto const first = [&](at::Tensor const& x) { return x.narrow(axis, 0, pairs); };
    auto const second = [&](at::Tensor const& x) { return x.narrow(axis, 1, pairs); };
    at::Tensor const differ = first(frame.lift) != second(frame.lift);
    if ((first(fixed) & second(fixed) & differ).any().item<bool>()) return true;
  }
  return false;
}

MicroBatches FrameCache::with_dirichlet_values(ForwardContext const& context, Grid3 const& grid,
                                               MicroBatches const& u) {
  auto const& frame = at(context, grid);
  auto [place, is_new] = has_steps_.try_emplace(grid.name());
  // Values are the same on a small grid, which has memory in a rehearsal, too.
  if (is_new) {
    place->second = has_steps(frame.mask.is_meta() ? make_(Grid3::cube(2), at::kCPU) : frame);
  }
  if (!place->second) return u;
  at::Tensor const fixed = frame.mask == 0;
  return each(u, [&](at::Tensor const& micro_batch) {
    // torch has no where() of tensors without memory.
    return micro_batch.is_meta() ? micro_batch.masked_fill(fixed, 0.0)
                                 : at::where(fixed, frame.lift, micro_batch);
  });
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/nodal_frame.hpp"

#include <torch/torch.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SmoothFunction : torch::autograd::Function<SmoothFunction> {
  static at::Tensor forward(AutogradContext* context, at::Tensor const& u, at::Tensor const& x,
                            FieldSmoother const* smoother) {
    context->save_for_backward({x});
    context->saved_data["smoother"] = reinterpret_cast<std::int64_t>(smoother);
    return smoother->smooth(u.contiguous(), x);
  }
  static variable_list backward(AutogradContext* context, variable_list slopes) {
    auto const* smoother =
        reinterpret_cast<FieldSmoother const*>(context->saved_data["smoother"].toInt());
    at::Tensor const x = context->get_saved_variables().at(0);
    return {smoother->transposed(slopes.at(0).contiguous(), x), {}, {}};
  }
};

}  // namespace

Units smoothed(NodalFrame const& frame, Units const& u, Units const& x) {
  if (frame.smoother == nullptr) return u;
  return each(u, x, [&](at::Tensor const& unit, at::Tensor const& input) {
    // No sample: nothing to smooth, and coarser levels stay in the backward pass.
    return unit.size(0) == 0 ? unit : SmoothFunction::apply(unit, input, frame.smoother.get());
  });
}

at::ScalarType solution_type(Pass const& pass) {
  return pass.dtype == at::kDouble ? at::kDouble : at::kFloat;
}

NodalFrame const& FrameCache::at(Pass const& pass, Grid3 const& grid) {
  auto const type = solution_type(pass);
  auto [place, is_new] = frames_.try_emplace({grid.name(), type});
  if (is_new) {
    NodalFrame const frame = make_(grid);
    place->second = {frame.lift.to(type), frame.mask.to(type), frame.smoother};
  }
  return place->second;
}

}  // namespace voxcycle

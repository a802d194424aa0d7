// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/level_problem.hpp"

#include "voxcycle/network/network_input.hpp"
#include "voxcycle/network/spatial.hpp"
#include "voxcycle/poisson/nested_equation.hpp"
#include "voxcycle/poisson/smoother.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SmoothFunction : torch::autograd::Function<SmoothFunction> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor const& u, at::Tensor const& x,
                            LevelProblem const* problem) {
    ctx->save_for_backward({x});
    ctx->saved_data["problem"] = reinterpret_cast<std::int64_t>(problem);
    return problem->smooth(u.contiguous(), x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    auto const* problem = reinterpret_cast<LevelProblem const*>(ctx->saved_data["problem"].toInt());
    at::Tensor const x = ctx->get_saved_variables().at(0);
    return {problem->transposed(gradients.at(0).contiguous(), x), {}, {}};
  }
};

}  // namespace

double solution_size(Boundary const& boundary, Source const& source) {
  constexpr double of_unit_source = 1.0 / 8.0;
  double const f = source_size(source);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (Face const& face : boundary.faces) {
    if (face.kind != FaceKind::dirichlet) continue;
    low = std::min(low, face.value);
    high = std::max(high, face.value);
  }
  double const size = std::max(high > low ? high - low : 0.0, of_unit_source * f);
  return size > 0.0 ? size : 1.0;
}

LevelProblem::LevelProblem(EquationOptions const& options, Space const& space, at::ScalarType type,
                           at::Device device)
    : lift(lift_of_part(space.slab(), from_datum(options.boundary),
                        at::device(device).dtype(at::kFloat))
               .to(type)),
      mask(free_node_mask(space.slab().part(), of_part(options.boundary, space.slab()),
                          at::device(device).dtype(type))),
      datum(datum_of(options.boundary)),
      size(solution_size(options.boundary, options.source)),
      space_(space),
      boundary_(from_datum(options.boundary)),
      steps_(smoothing_steps(options.smoothing)),
      nested_(options.nested),
      source_(space, nested_ || smooths() ? options.source : Source{}, device) {}

at::Tensor LevelProblem::smooth(at::Tensor const& u, at::Tensor const& x) const {
  auto const fields = fields_of(x, u.scalar_type());
  return smoother(fields.nu).smooth(u, source_.load(fields.f, u.scalar_type()));
}

at::Tensor LevelProblem::transposed(at::Tensor const& gradient, at::Tensor const& x) const {
  return smoother(fields_of(x, gradient.scalar_type()).nu).transposed(gradient);
}

Smoother LevelProblem::smoother(at::Tensor const& nu) const {
  return {space_, mask, nu, steps_};
}

std::shared_ptr<NestedEquation const> LevelProblem::nested(at::Tensor const& x, int levels,
                                                           std::int64_t above) const {
  auto const fields = fields_of(x, lift.scalar_type());
  auto const load = source_.load(fields.f, lift.scalar_type());
  at::Tensor& coarsest_lift = coarsest_lifts_[levels];
  if (!coarsest_lift.defined()) {
    Grid3 coarsest = space_.slab().whole;
    for (int level = 1; level < levels; ++level) coarsest = coarsest.coarsened();
    coarsest_lift = voxcycle::lift(coarsest, boundary_, lift.options());
  }
  return std::make_shared<NestedEquation const>(
      space_, boundary_, fields.nu, load,
      NestedEquation::Options{levels, steps_, coarsest_lift, above});
}

MicroBatches LevelProblem::with_dirichlet_values(MicroBatches const& u) const {
  if (!boundary_.has_steps()) return u;
  at::Tensor const fixed = mask == 0;
  return each(u, [&](at::Tensor const& micro_batch) {
    // torch has no where() of tensors without memory.
    return micro_batch.is_meta() ? micro_batch.masked_fill(fixed, 0.0)
                                 : at::where(fixed, lift, micro_batch);
  });
}

MicroBatches smoothed(LevelProblem const& problem, MicroBatches const& u, MicroBatches const& x) {
  if (!problem.smooths()) return u;
  return each(u, x, [&](at::Tensor const& micro_batch, at::Tensor const& input) {
    // No sample: nothing to smooth, and coarser levels stay in the backward pass.
    return micro_batch.size(0) == 0 ? micro_batch
                                    : SmoothFunction::apply(micro_batch, input, &problem);
  });
}

at::ScalarType solution_type(ForwardContext const& context) {
  return context.dtype == at::kDouble ? at::kDouble : at::kFloat;
}

LevelProblem const& LevelProblems::at(ForwardContext const& context, Grid3 const& grid) {
  auto const type = solution_type(context);
  Space const space = space_on(context, grid);
  return problems_
      .try_emplace({grid.name(), type, context.device.str(), space.slab().processes()}, options_,
                   space, type, context.device)
      .first->second;
}

}  // namespace voxcycle

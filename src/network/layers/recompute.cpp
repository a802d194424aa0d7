// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/recompute.hpp"

#include "voxcycle/network/backward.hpp"
#include "voxcycle/network/statistics_record.hpp"

#include <numeric>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

variable_list flat(Fields const& fields) {
  variable_list all;
  for (auto const& field : fields) all.insert(all.end(), field.begin(), field.end());
  return all;
}

/// The number of micro-batches of each field.
using Counts = std::vector<std::size_t>;

Counts counts_of(Fields const& fields) {
  Counts counts;
  for (auto const& field : fields) counts.push_back(field.size());
  return counts;
}

/// The first tensors of `all` as fields.
Fields fields_of(at::TensorList all, Counts const& counts) {
  Fields fields;
  for (std::size_t const count : counts) {
    fields.push_back(all.slice(0, count).vec());
    all = all.slice(count);
  }
  return fields;
}

/// A piece with what its second run needs.
struct Recomputation : torch::CustomClassHolder {
  Recomputation(ForwardContext const& first, Piece run, Fields const& in)
      : context(first), piece(std::move(run)), inputs(counts_of(in)) {
    context.statistics = &statistics;
  }

  ForwardContext context;
  Piece piece;
  StatisticsRecord statistics;
  Counts inputs, outputs;
};
using RecomputationPtr = c10::intrusive_ptr<Recomputation>;

struct RecomputeFunction : torch::autograd::Function<RecomputeFunction> {
  /// @param tensors  the inputs, then the parameters
  static variable_list forward(AutogradContext* ctx, at::TensorList tensors,
                               RecomputationPtr const& again) {
    ctx->save_for_backward(tensors.vec());
    ctx->set_materialize_grads(false);
    ctx->saved_data["again"] = at::IValue::make_capsule(again);
    Fields const y = again->piece(again->context, fields_of(tensors, again->inputs));
    again->outputs = counts_of(y);
    return flat(y);
  }

  static variable_list backward(AutogradContext* ctx, variable_list dy) {
    auto const again =
        c10::static_intrusive_pointer_cast<Recomputation>(ctx->saved_data["again"].toCapsule());
    variable_list tensors = ctx->get_saved_variables();
    auto const inputs = std::accumulate(again->inputs.begin(), again->inputs.end(), std::size_t{0});
    variable_list wanted;
    std::vector<std::size_t> places;  // of `wanted` in `tensors`
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      bool const needed = tensors[k].requires_grad();
      if (k < inputs) tensors[k] = tensors[k].detach().requires_grad_(needed);
      if (!needed) continue;
      wanted.push_back(tensors[k]);
      places.push_back(k);
    }

    at::AutoGradMode const grad_mode(true);
    again->statistics.replay();
    variable_list y = flat(again->piece(again->context, fields_of(tensors, again->inputs)));
    variable_list const found = voxcycle::backward(std::move(y), std::move(dy), wanted);
    variable_list gradients(tensors.size() + 1);  // tensors, and the piece
    for (std::size_t k = 0; k < places.size(); ++k) gradients[places[k]] = found[k];
    return gradients;
  }
};

}  // namespace

Fields two_fields(MicroBatches a, MicroBatches b) {
  Fields fields(2);
  fields[0] = std::move(a);
  fields[1] = std::move(b);
  return fields;
}

Fields recomputed(ForwardContext const& context, torch::nn::Module const& layers,
                  Fields const& inputs, Piece const& piece) {
  if (!context.recompute || !at::GradMode::is_enabled()) return piece(context, inputs);
  variable_list tensors = flat(inputs);
  for (auto const& parameter : layers.parameters()) tensors.push_back(parameter);
  auto const again = c10::make_intrusive<Recomputation>(context, piece, inputs);
  auto const y = RecomputeFunction::apply(at::TensorList(tensors), again);
  return fields_of(y, again->outputs);
}

}  // namespace voxcycle

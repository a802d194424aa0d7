// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/recompute.hpp"

#include "voxcycle/network/statistics_record.hpp"

#include <torch/csrc/autograd/engine.h>
#include <torch/torch.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

variable_list flat(Fields const& fields) {
  variable_list all;
  for (auto const& field : fields) all.insert(all.end(), field.begin(), field.end());
  return all;
}

/// The first tensors of `all` in the shape of `like`.
Fields shaped(at::TensorList all, Fields const& like) {
  Fields fields;
  for (auto const& field : like) {
    fields.push_back(all.slice(0, field.size()).vec());
    all = all.slice(field.size());
  }
  return fields;
}

/// The number of units of each field, as empty tensors.
Fields outline(Fields const& fields) {
  Fields shape;
  for (auto const& field : fields) shape.emplace_back(field.size());
  return shape;
}

/// A piece with what its second run needs.
struct Recomputation : torch::CustomClassHolder {
  Recomputation(Pass const& first, Piece run, Fields const& in)
      : pass(first), piece(std::move(run)), inputs(outline(in)) {
    pass.statistics = &statistics;
  }

  Pass pass;
  Piece piece;
  StatisticsRecord statistics;
  Fields inputs, outputs;  ///< outlines
};
using RecomputationPtr = c10::intrusive_ptr<Recomputation>;

struct RecomputeFunction : torch::autograd::Function<RecomputeFunction> {
  /// @param tensors  the inputs, then the parameters
  static variable_list forward(AutogradContext* context, at::TensorList tensors,
                               RecomputationPtr const& again) {
    context->save_for_backward(tensors.vec());
    context->set_materialize_grads(false);
    context->saved_data["again"] = at::IValue::make_capsule(again);
    Fields const y = again->piece(again->pass, shaped(tensors, again->inputs));
    again->outputs = outline(y);
    return flat(y);
  }

  static variable_list backward(AutogradContext* context, variable_list dy) {
    auto const again =
        c10::static_intrusive_pointer_cast<Recomputation>(context->saved_data["again"].toCapsule());
    variable_list tensors = context->get_saved_variables();
    std::size_t const inputs = flat(again->inputs).size();
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
    torch::autograd::edge_list from;
    variable_list slopes;
    {
      variable_list const y = flat(again->piece(again->pass, shaped(tensors, again->inputs)));
      for (std::size_t k = 0; k < y.size(); ++k) {
        if (!dy[k].defined()) continue;
        from.push_back(torch::autograd::impl::gradient_edge(y[k]));
        slopes.push_back(std::move(dy[k]));
      }
    }  // the engine needs the graph alone: y goes
    torch::autograd::edge_list to;
    for (auto const& tensor : wanted) to.push_back(torch::autograd::impl::gradient_edge(tensor));
    variable_list const found = torch::autograd::Engine::get_default_engine().execute(
        from, slopes, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/false, to);
    variable_list gradients(tensors.size() + 1);  // tensors, and the piece
    for (std::size_t k = 0; k < places.size(); ++k) gradients[places[k]] = found[k];
    return gradients;
  }
};

}  // namespace

Fields recomputed(Pass const& pass, torch::nn::Module const& layers, Fields const& inputs,
                  Piece const& piece) {
  if (!pass.recompute || !at::GradMode::is_enabled()) return piece(pass, inputs);
  variable_list tensors = flat(inputs);
  for (auto const& parameter : layers.parameters()) tensors.push_back(parameter);
  auto const again = c10::make_intrusive<Recomputation>(pass, piece, inputs);
  auto const y = RecomputeFunction::apply(at::TensorList(tensors), again);
  return shaped(y, again->outputs);
}

}  // namespace voxcycle

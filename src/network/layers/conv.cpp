// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/conv.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/network/channel_join.hpp"
#include "voxcycle/network/spatial.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "network/layers/channel_padding.hpp"
#include "network/layers/norm_loops.hpp"
#include "network/layers/parameter_options.hpp"
#include "network/layers/part_conv.hpp"
#include "network/layers/slab_conv.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast3d;

/// [n, channels] float64. The libraries' own gradient of a bias is slow for transposed
/// convolutions.
at::Tensor sums_of_voxels(at::Tensor const& y) {
  return norm_loops::moments(y).narrow(1, 0, y.size(1));
}

/// Adds a term of the gradient of a weight or bias, by the reducer if there is one.
void add(ForwardContext const& context, at::Tensor const& parameter, at::Tensor const& term,
         at::Tensor& sum) {
  if (context.reducer != nullptr) return context.reducer->add_micro_batch(parameter, term);
  at::Tensor const gradient = term.to(parameter.scalar_type());
  sum = sum.defined() ? sum + gradient : gradient;
}

/// Of a sample as a whole, or of its parts, which come with their neighbours' planes.
slab_conv::Geometry geometry(ConvKind kind, ForwardContext const& context) {
  if (!context.in_slabs()) return kind;
  slab_conv::Geometry g(kind, slab_conv::Ends::given);
  g.shares = context.space->slab().parts();
  return g;
}

/// Tells the rehearsal how large the tensors are.
void meet(at::TensorList x, variable_list const& y) {
  for (auto const all : {x, at::TensorList(y)}) {
    for (auto const& t : all) {
      Rehearsal::current()->meet({t.numel(), t.size(1), {t.size(2), t.size(3), t.size(4)}});
    }
  }
}

/// y_k = conv(x_k, weight) + bias for every micro-batch k.
struct ConvFunction : torch::autograd::Function<ConvFunction> {
  /// @param x      the parts of the first micro-batch, those of the second, ...
  /// @param parts  tensors that hold the channels of a micro-batch
  static variable_list forward(AutogradContext* ctx, at::TensorList x, at::Tensor const& weight,
                               std::optional<at::Tensor> const& bias, ConvKind kind,
                               std::size_t parts, ForwardContext const& context) {
    at::Tensor w = weight.to(context.dtype).contiguous(context.layout);
    std::optional<at::Tensor> b =
        bias ? std::optional<at::Tensor>(bias->to(context.dtype)) : std::nullopt;
    std::int64_t const channels = weight.size(slab_conv::Geometry(kind).transposed ? 1 : 0);
    if (channel_padding::is_wanted(x.front(), w)) {
      w = channel_padding::filled_up_weight(w);
      if (b) b = channel_padding::filled_up(*b, 0, channel_padding::filled_up(channels));
    }
    variable_list y;
    for (std::size_t first = 0; first < x.size(); first += parts) {
      auto const of_geometry = geometry(kind, context);
      at::Tensor const micro_batch =
          part_conv::are_several(context)
              ? part_conv::forward(context, of_geometry, x.slice(first, parts), w, b)
              : slab_conv::forward(of_geometry, x.slice(first, parts), w, b);
      // float64 and empty micro-batches come back in torch's default layout.
      y.push_back(channel_padding::cut_back(micro_batch, 1, channels).contiguous(context.layout));
    }
    if (x.front().is_meta()) meet(x, y);
    variable_list saved(x.begin(), x.end());
    saved.insert(saved.end(), {weight, w});
    if (bias) saved.push_back(*bias);
    ctx->save_for_backward(saved);
    ctx->saved_data["kind"] = static_cast<std::int64_t>(kind);
    ctx->saved_data["parts"] = static_cast<std::int64_t>(parts);
    ctx->saved_data["bias"] = bias.has_value();
    ctx->saved_data["pass"] = as_value(context);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list const& dy) {
    auto const kind = static_cast<ConvKind>(ctx->saved_data["kind"].toInt());
    auto const parts = static_cast<std::size_t>(ctx->saved_data["parts"].toInt());
    bool const has_bias = ctx->saved_data["bias"].toBool();
    ForwardContext const context = context_of(ctx->saved_data["pass"]);
    auto const saved = ctx->get_saved_variables();
    at::TensorList const all(saved);
    std::size_t const inputs = dy.size() * parts;
    bool const several = part_conv::are_several(context);
    at::Tensor const& weight = saved[inputs];
    at::Tensor const& w = saved[inputs + 1];
    at::Tensor const bias = has_bias ? saved[inputs + 2] : at::Tensor();

    variable_list gradients(inputs + 5);  // inputs, weight, bias, kind, parts, pass
    at::Tensor dw_sum;
    at::Tensor db_sum;
    for (std::size_t k = 0; k < dy.size(); ++k) {
      auto const x = all.slice(k * parts, parts);
      auto const dx = gradients.begin() + static_cast<std::ptrdiff_t>(k * parts);
      bool const needs_dx = ctx->needs_input_grad(k * parts);
      if (x.front().size(0) == 0) {
        if (needs_dx) {
          std::transform(x.begin(), x.end(), dx, [](auto& part) { return at::zeros_like(part); });
        }
        continue;
      }
      at::Tensor const gradient = dy[k].contiguous(context.layout);
      auto const of_geometry = geometry(kind, context);
      if (needs_dx) {
        auto found = several ? part_conv::input_gradient(context, of_geometry, gradient, x, w)
                             : slab_conv::input_gradient(of_geometry, gradient, x, w);
        std::move(found.begin(), found.end(), dx);
      }
      if (!context.counts()) continue;
      if (!weight.requires_grad()) continue;  // frozen, and the bias with it
      std::int64_t const most =
          context.micro_batch_size > 0 ? context.micro_batch_size : gradient.size(0);
      auto const add_terms = [&](at::Tensor const& dy_part, at::TensorList x_part) {
        for (auto const& dw : slab_conv::weight_gradients(of_geometry, dy_part, x_part, w, most))
          add(context, weight, channel_padding::cut_back_weight(dw, weight), dw_sum);
        if (!has_bias) return;
        for (auto const& sums : sums_of_voxels(dy_part).split(most))
          add(context, bias, sums.sum(0), db_sum);
      };
      several ? part_conv::for_terms(context, of_geometry, gradient, x, add_terms)
              : add_terms(gradient, x);
    }
    if (context.reducer != nullptr && weight.requires_grad()) {
      context.reducer->close(weight);
      if (has_bias) context.reducer->close(bias);
    }
    gradients[inputs] = dw_sum;
    gradients[inputs + 1] = db_sum;
    return gradients;
  }
};

std::array<std::int64_t, 5> weight_shape(ConvOptions const& o) {
  switch (o.kind) {
    case ConvKind::point:
      return {o.out, o.in, 1, 1, 1};
    case ConvKind::same:
      return {o.out, o.in, 3, 3, 3};
    case ConvKind::down:
    case ConvKind::node:
      return {o.out, o.in, 2, 2, 2};
    case ConvKind::up:
      return {o.in, o.out, 2, 2, 2};
    case ConvKind::wide_down:
      return {o.out, o.in, 4, 4, 4};
    case ConvKind::wide_up:
      return {o.in, o.out, 4, 4, 4};
  }
  throw Error("unknown kind of convolution.");
}

/// Whether a result depends on planes next to its own.
bool reaches_beyond(ConvKind kind) {
  return slab_conv::Geometry(kind).padding > 0;
}

}  // namespace

Conv::Conv(ConvOptions const& options) : options_(options) {
  // NaN marks values that initialise_uniform has to draw.
  double const start = options.start == Start::zero ? 0.0 : std::nan("");
  // Channels last, as convolutions want it: no step then permutes weights or their gradients.
  weight = register_parameter(
      "weight",
      at::full(weight_shape(options), start, parameter_options()).contiguous(kChannelsLast));
  if (options.bias == Bias::yes) {
    bias = register_parameter("bias", at::full({options.out}, start, parameter_options()));
  }
}

MicroBatches Conv::run(ForwardContext const& context, MicroBatches const& parts_of_micro_batches,
                       std::size_t parts) {
  MicroBatches const x = reaches_beyond(options_.kind) ? with_halo(context, parts_of_micro_batches)
                                                       : parts_of_micro_batches;
  std::optional<at::Tensor> const b =
      bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt;
  return ConvFunction::apply(at::TensorList(x), weight, b, options_.kind, parts, context);
}

MicroBatches Conv::forward(ForwardContext const& context, MicroBatches const& x) {
  return run(context, x, 1);
}

MicroBatches Conv::forward(ForwardContext const& context, MicroBatches const& a,
                           MicroBatches const& b) {
  MicroBatches parts;
  for (std::size_t k = 0; k < a.size(); ++k) parts.insert(parts.end(), {a[k], b[k]});
  int const processes = context.in_slabs() ? context.space->slab().processes() : 1;
  bool const in_slabs =
      context.layout == kChannelsLast && slab_conv::goes_in_slabs(parts, processes);
  return in_slabs ? run(context, parts, 2) : run(context, join_channels(context, a, b), 1);
}

Script Conv::script() const {
  slab_conv::Geometry const g = options_.kind;
  return {"Conv", {{"stride", g.stride}, {"padding", g.padding}, {"transposed", g.transposed}}};
}

MicroBatches as_features(ForwardContext const& context, MicroBatches const& fields) {
  return each(fields, [&](at::Tensor const& x) {
    at::Tensor const y = x.to(context.dtype).contiguous(context.layout);
    if (y.size(1) != 1 || context.layout != kChannelsLast) return y;
    // One channel is plain and channels last at once; strides that only the latter has keep the
    // convolution from handing back plain features.
    return y.as_strided(y.sizes(), {y.stride(0), 1, y.stride(2), y.stride(3), y.stride(4)});
  });
}

void initialise_uniform(torch::nn::Module& module, std::uint64_t seed) {
  at::NoGradGuard const no_grad;
  for (auto& entry : module.named_modules("", /*include_self=*/false)) {
    auto* conv = dynamic_cast<Conv*>(entry.value().get());
    if (conv == nullptr) continue;
    auto const& w = conv->weight;
    // Fan in as torch counts it: input channels (dimension 1) times kernel size.
    double const bound = 1.0 / std::sqrt(static_cast<double>(w.numel() / w.size(0)));
    for (auto& parameter : conv->named_parameters()) {
      at::Tensor& values = parameter.value();
      if (values.is_meta() || values.numel() == 0 || !values.flatten()[0].isnan().item<bool>())
        continue;
      std::uint64_t name = seed;
      for (char c : entry.key() + "." + parameter.key()) {
        name = hash_bits({name, static_cast<std::uint64_t>(c)});
      }
      at::Tensor drawn = at::empty(values.sizes(), at::kFloat);
      auto* data = drawn.mutable_data_ptr<float>();
      for (std::int64_t i = 0; i < drawn.numel(); ++i) {
        double const u = hash_uniform({name, static_cast<std::uint64_t>(i)});
        data[i] = static_cast<float>(bound * (2.0 * u - 1.0));
      }
      values.copy_(drawn);
    }
  }
}

}  // namespace voxcycle

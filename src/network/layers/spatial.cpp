// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/spatial.hpp"

#include "voxcycle/comm/halo.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A linear map between fields of a group, and its transpose in the backward pass.
using Map = at::Tensor (*)(Communicator const&, at::Tensor const&);
template <Map Forward, Map Transposed>
struct SpatialFunction : torch::autograd::Function<SpatialFunction<Forward, Transposed>> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor const& x, Communicator const* spatial,
                            at::MemoryFormat layout) {
    ctx->saved_data["space"] = reinterpret_cast<std::int64_t>(spatial);
    ctx->saved_data["layout"] = static_cast<std::int64_t>(layout);
    return Forward(*spatial, x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list const& gradients) {
    auto const& spatial = *reinterpret_cast<Communicator const*>(ctx->saved_data["space"].toInt());
    auto const layout = static_cast<at::MemoryFormat>(ctx->saved_data["layout"].toInt());
    return {Transposed(spatial, gradients.at(0).contiguous(layout)), {}, {}};
  }
};

template <Map Forward, Map Transposed>
MicroBatches mapped(ForwardContext const& context, MicroBatches const& x) {
  if (!context.in_slabs) return x;
  return each(x, [&](at::Tensor const& micro_batch) {
    return SpatialFunction<Forward, Transposed>::apply(micro_batch, context.spatial,
                                                       context.layout);
  });
}

}  // namespace

ForwardContext pass_on(ForwardContext const& context, Grid3 const& grid) {
  ForwardContext here = context;
  here.in_slabs = context.spatial != nullptr && context.slabs.cut(grid);
  return here;
}

MicroBatches with_halo(ForwardContext const& context, MicroBatches const& slabs) {
  return mapped<voxcycle::with_halo, halo_added>(context, slabs);
}

MicroBatches own_slabs(ForwardContext const& context, MicroBatches const& whole) {
  return mapped<own_planes, gathered_planes>(context, whole);
}

MicroBatches gathered(ForwardContext const& context, MicroBatches const& slabs) {
  return mapped<gathered_planes, own_planes>(context, slabs);
}

MicroBatches gathered_nodes(ForwardContext const& context, MicroBatches const& slabs) {
  return mapped<voxcycle::gathered_nodes, own_nodes>(context, slabs);
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/spatial.hpp"

#include "voxcycle/comm/halo.hpp"

#include <functional>
#include <utility>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A linear map between fields of a group.
using Map = std::function<at::Tensor(at::Tensor const&)>;

struct KeptMap : torch::CustomClassHolder {
  explicit KeptMap(Map map_in) : map(std::move(map_in)) {}
  Map map;
};

struct SpatialFunction : torch::autograd::Function<SpatialFunction> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor const& x, Map const& map,
                            Map const& transposed) {
    ctx->saved_data["map"] = c10::IValue::make_capsule(c10::make_intrusive<KeptMap>(transposed));
    return map(x);
  }
  static variable_list backward(AutogradContext* ctx, variable_list const& gradients) {
    auto const& transposed = static_cast<KeptMap const&>(*ctx->saved_data["map"].toCapsule()).map;
    return {transposed(gradients.at(0)), {}, {}};
  }
};

MicroBatches mapped(MicroBatches const& x, Map const& map, Map const& transposed) {
  return each(x, [&](at::Tensor const& micro_batch) {
    return SpatialFunction::apply(micro_batch, map, transposed);
  });
}

/// The grid below the level under way as its features have it.
Space features_below(Space const& space) {
  return space.coarsened(space.slab().whole.coarsened()).with_halo(0);
}

}  // namespace

Space space_on(ForwardContext const& context, Grid3 const& grid) {
  return part_of_processes(context.spatial, context.slabs, grid);
}

ForwardContext pass_on(ForwardContext const& context, Grid3 const& grid) {
  ForwardContext here = context;
  Space const space = space_on(context, grid);
  here.space = space.slab().parts() == 1 ? nullptr : std::make_shared<Space const>(space);
  return here;
}

MicroBatches with_halo(ForwardContext const& context, MicroBatches const& features) {
  if (!context.in_slabs()) return features;
  auto const* const spatial = context.spatial;
  auto const layout = context.layout;
  return mapped(
      features, [=](at::Tensor const& x) { return voxcycle::with_halo(spatial, x); },
      [=](at::Tensor const& g) {
        // Without another handle to it, so that it may be overwritten.
        if (g.is_contiguous(layout)) return halo_added(spatial, g);
        return halo_added(spatial, g.contiguous(layout));
      });
}

MicroBatches own_features(ForwardContext const& context, MicroBatches const& voxels) {
  if (!context.in_slabs()) return voxels;
  Space const here = *context.space;
  auto const layout = context.layout;
  return mapped(
      voxels, [=](at::Tensor const& x) { return here.own_voxels(x).contiguous(layout); },
      [=](at::Tensor const& g) { return here.with_halo(0).voxels_on(here, g.contiguous()); });
}

MicroBatches gathered_below(ForwardContext const& context, MicroBatches const& features) {
  Space const below = features_below(*context.space), all(below.slab().whole);
  auto const layout = context.layout;
  return mapped(
      features, [=](at::Tensor const& x) { return below.voxels_on(all, x); },
      [=](at::Tensor const& g) { return all.voxels_within(below, g).contiguous(layout); });
}

MicroBatches own_below(ForwardContext const& context, MicroBatches const& features) {
  Space const below = features_below(*context.space), all(below.slab().whole);
  auto const layout = context.layout;
  return mapped(
      features, [=](at::Tensor const& x) { return all.voxels_within(below, x).contiguous(layout); },
      [=](at::Tensor const& g) { return below.voxels_on(all, g.contiguous(layout)); });
}

MicroBatches own_nodes_to_part(ForwardContext const& context, MicroBatches const& nodes) {
  if (!context.in_slabs()) return nodes;
  Space const here = *context.space, own = here.with_halo(0);
  auto const layout = context.layout;
  return mapped(
      nodes, [=](at::Tensor const& x) { return own.nodes_on(here, x); },
      [=](at::Tensor const& g) {
        at::Tensor own_g = here.nodes_within(own, g).contiguous(layout);
        if (!here.slab().is_last()) own_g.select(2, own_g.size(2) - 1).zero_();
        return own_g;
      });
}

MicroBatches pooled(ForwardContext const& context, Grid3 const& fine, MicroBatches const& voxels) {
  Space const here = space_on(context, fine), below = space_on(context, fine.coarsened());
  return each(voxels, [&](at::Tensor const& micro_batch) {
    at::Tensor const halved = at::avg_pool3d(micro_batch, {2, 2, 2});
    return here.is_whole() ? halved : here.coarsened(fine.coarsened()).voxels_on(below, halved);
  });
}

at::Tensor to_interpolate(Space const& fine, Space const& coarse, at::Tensor const& u) {
  if (fine.is_whole()) return u;
  Space const halved = fine.coarsened(coarse.slab().whole);
  return SpatialFunction::apply(
      u, [=](at::Tensor const& x) { return coarse.nodes_within(halved, x); },
      [=](at::Tensor const& g) { return halved.nodes_on(coarse, g.contiguous()); });
}

at::Tensor with_gradient_on_part(Space const& space, at::Tensor const& nodes) {
  if (space.is_whole()) return nodes;
  return SpatialFunction::apply(
      nodes, [](at::Tensor const& x) { return x; },
      [=](at::Tensor const& g) {
        at::Tensor gradient = g.clone(at::MemoryFormat::Contiguous);
        space.refresh_nodes(gradient);
        return gradient;
      });
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of a micro-batch that is shared out in fixed parts (Slab::own_parts): each part by
// itself, with its neighbours' planes, in the same shapes whoever has it. So values and gradients
// have the same bits on any number of processes.
#pragma once

#include "voxcycle/network/forward_context.hpp"

#include <functional>
#include <optional>
#include <vector>

#include "network/layers/slab_conv.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle::part_conv {

/// Whether this process has more than one part; else slab_conv does all at once.
bool are_several(ForwardContext const& context);

// x comes with the planes next to this process' own where kernels reach beyond
// (network/spatial.hpp).

at::Tensor forward(ForwardContext const& context, slab_conv::Geometry const& g, at::TensorList x,
                   at::Tensor const& w, std::optional<at::Tensor> const& b);

/// @return as x is given
std::vector<at::Tensor> input_gradient(ForwardContext const& context, slab_conv::Geometry const& g,
                                       at::Tensor const& gradient, at::TensorList x,
                                       at::Tensor const& w);

/// Hands out the parts of a gradient, and of x, that make one term of a weight's gradient each.
void for_terms(ForwardContext const& context, slab_conv::Geometry const& g,
               at::Tensor const& gradient, at::TensorList x,
               std::function<void(at::Tensor const& gradient, at::TensorList x)> const& take);

}  // namespace voxcycle::part_conv

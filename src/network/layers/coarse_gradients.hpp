// SPDX-License-Identifier: BSD-3-Clause
// Weight gradients on coarse grids of a CPU: there the library takes longer to start than to add
// up, once per micro-batch. All micro-batches are taken at once, in float32, each by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "network/layers/slab_conv.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle::coarse_gradients {

/// Whether that is faster; says the same of any number of samples.
bool are_wanted(slab_conv::Geometry const& g, at::Tensor const& gradient, at::Tensor const& x,
                at::Tensor const& w);

/// In the layout of w, of each micro-batch of so many samples.
std::vector<at::Tensor> of_weight(slab_conv::Geometry const& g, at::Tensor const& gradient,
                                  at::Tensor const& x, at::Tensor const& w,
                                  std::int64_t micro_batch_size);

}  // namespace voxcycle::coarse_gradients

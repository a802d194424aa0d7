// SPDX-License-Identifier: BSD-3-Clause
// One call of cuDNN's or oneDNN's convolutions, past what they cannot do or do wrong, and as such
// calls are rehearsed.
#pragma once

#include <optional>

#include "network/layers/slab_conv.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle::library_conv {

using slab_conv::Geometry;

/// conv(x, w) + b of all channels. @param cut_axes  of the first so many axes x has its own zeros
at::Tensor convolve(Geometry const& g, at::Tensor const& x, at::Tensor const& w,
                    std::optional<at::Tensor> const& b, int cut_axes);

/// Which of the two gradients: that of the fields or that of the weight.
enum class Wanted { x, w };

/// Given the gradient of what convolve returns.
at::Tensor differentiate(Geometry const& g, at::Tensor const& gradient, at::Tensor const& x,
                         at::Tensor const& w, int cut_axes, Wanted wanted);

}  // namespace voxcycle::library_conv

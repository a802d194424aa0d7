// SPDX-License-Identifier: BSD-3-Clause
// Channels filled up with zeros to a multiple of eight, as cuDNN's tensor-core convolutions take
// them in 16 bits: for the one channel of a coefficient or of a correction it may have slow kernels
// only, or none ("unable to find an engine" for gradients of three channels, cuDNN 9.20).
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle::channel_padding {

constexpr std::int64_t multiple = 8;

constexpr std::int64_t filled_up(std::int64_t channels) {
  return (channels + multiple - 1) / multiple * multiple;
}

/// What a convolution on a GPU sees of so many channels of values of so many bytes: of two, eights.
constexpr std::int64_t seen(std::int64_t channels, std::int64_t bytes) {
  return bytes == 2 ? filled_up(channels) : channels;
}

/// Whether a convolution of x with the weight w wants channels in eights and has others.
bool is_wanted(at::Tensor const& x, at::Tensor const& w);

/// x with zeros behind what it has along the axis, up to so many; what has voxels is channels last
/// then.
at::Tensor filled_up(at::Tensor const& x, std::int64_t axis, std::int64_t channels);
/// A weight with both its channels filled up to eights.
at::Tensor filled_up_weight(at::Tensor const& w);

/// The first `channels` along the axis, channels last.
at::Tensor cut_back(at::Tensor const& x, std::int64_t axis, std::int64_t channels);
/// The part of a weight's gradient that has the shape of the weight.
at::Tensor cut_back_weight(at::Tensor const& dw, at::Tensor const& weight);

}  // namespace voxcycle::channel_padding

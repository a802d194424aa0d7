// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of one micro-batch, large ones a slab of planes after the other: the libraries
// behind torch copy what they work on into layouts with channels padded to 16 (16 bytes a voxel and
// channel for the weight gradient of 4 channels), and no operation may see more than 2^31-1
// elements. A slab at a time, both stay small.
#pragma once

#include "voxcycle/network/conv.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle::slab_conv {

/// What lies beyond the first and the last plane of x.
enum class Ends {
  zeros,
  given  ///< x has the planes itself, one on each side where the kernel reaches beyond
};

/// Along every axis alike, but for the ends along x.
struct Geometry {
  Geometry(ConvKind kind, Ends ends = Ends::zeros);  // NOLINT(google-explicit-constructor)
  std::int64_t kernel = 1, stride = 1, padding = 0;
  bool transposed = false;
  std::int64_t padding_x = 0;
  /// Of a sample, of which x is one. Weight gradients, which need the most memory beside x, go in
  /// slabs where they would for the whole sample.
  std::int64_t shares = 1;
};

/// Planes along x whose results are computed together.
constexpr std::int64_t default_planes = 16;

/// Voxels of x from which on slabs pay on a CPU: below, whole convolutions are a tenth faster. GPUs
/// take whatever an operation may count, but for weight gradients.
constexpr std::int64_t many_voxels = std::int64_t{256} * 256 * 256;

/// Voxels of a plane of a weight gradient's part: the oneDNN of torch 2.11 crashes on sixteen
/// planes of 512^2.
constexpr std::int64_t max_in_plane = 256 * 256;

/// Voxels that a weight gradient on a GPU adds up at once: matrix units cut what they add
/// to a sum off, and of 512^3 voxels of one sign cuDNN 9.19 loses up to 1.6 % (of a quarter 0.02 %,
/// in the same time).
constexpr std::int64_t max_in_sum = std::int64_t{1} << 25;

/// Of `planes` of a sample as many as one of equal parts has that keep to this.
std::int64_t planes_in_sum(std::int64_t planes, std::int64_t plane_voxels);

// x of the following: its channels in one tensor, or in several that go one behind the other. In
// slabs, no more than a slab of them is ever joined. Where w has more channels, on GPUs
// (channel_padding.hpp), fields count as zero there; y and the gradient of w have those of w.

/// Whether torch takes a CPU's fields past oneDNN, through a loop many times slower that rounds
/// otherwise: a lone sample of few values in float32.
bool goes_past_onednn(at::Tensor const& x);

/// Whether a slab is worked on at a time.
bool goes_in_slabs(at::TensorList x, std::int64_t shares = 1);

/// conv(x, w) + b, channels last if x is.
at::Tensor forward(Geometry const& g, at::TensorList x, at::Tensor const& w,
                   std::optional<at::Tensor> const& b);

/// @return as x is given
std::vector<at::Tensor> input_gradient(Geometry const& g, at::Tensor const& gradient,
                                       at::TensorList x, at::Tensor const& w);
/// @return float32 where it is a sum over slabs of 16-bit fields
at::Tensor weight_gradient(Geometry const& g, at::Tensor const& gradient, at::TensorList x,
                           at::Tensor const& w);

/// Of each micro-batch of so many samples. Its bits do not depend on how many there are.
std::vector<at::Tensor> weight_gradients(Geometry const& g, at::Tensor const& gradient,
                                         at::TensorList x, at::Tensor const& w,
                                         std::int64_t micro_batch_size);

// The two ways, for tests. They agree to rounding: the library chooses its loops by shape.
at::Tensor forward_whole(Geometry const& g, at::TensorList x, at::Tensor const& w,
                         std::optional<at::Tensor> const& b);
at::Tensor forward_in_slabs(Geometry const& g, at::TensorList x, at::Tensor const& w,
                            std::optional<at::Tensor> const& b, std::int64_t planes);
std::vector<at::Tensor> input_gradient_in_slabs(Geometry const& g, at::Tensor const& gradient,
                                                at::TensorList x, at::Tensor const& w,
                                                std::int64_t planes);
/// @param rows  along y: slabs of wide planes are cut in these, too; not if there are no more
at::Tensor weight_gradient_in_slabs(Geometry const& g, at::Tensor const& gradient, at::TensorList x,
                                    at::Tensor const& w, std::int64_t planes, std::int64_t rows);

}  // namespace voxcycle::slab_conv

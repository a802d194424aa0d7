// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/forward_context.hpp"
#include "voxcycle/network/scripted.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <torch/nn/module.h>

namespace voxcycle {

/// Torch's kernels and oneDNN's count elements in 32 bits.
inline constexpr std::int64_t kMaxElements = std::numeric_limits<std::int32_t>::max();

enum class ConvKind {
  point,      ///< 1^3: [n, i, x, y, z] -> [n, o, x, y, z]
  same,       ///< 3^3, padding 1: [n, i, x, y, z] -> [n, o, x, y, z]
  down,       ///< 2^3, stride 2: halves the grid
  up,         ///< transposed 2^3, stride 2: doubles the grid
  wide_down,  ///< 4^3, stride 2, padding 1: halves the grid
  wide_up,    ///< transposed 4^3, stride 2, padding 1: doubles the grid
  node,       ///< 2^3, padding 1: voxels to nodes, [n, i, x, y, z] -> [n, o, x+1, y+1, z+1]
};

enum class Bias { no, yes };
enum class Start { uniform, zero };

struct ConvOptions {
  ConvKind kind = ConvKind::same;
  std::int64_t in = 1;   ///< channels
  std::int64_t out = 1;  ///< channels
  Bias bias = Bias::no;
  Start start = Start::uniform;
};

/// A 3D convolution micro-batch by micro-batch, in context.dtype and context.layout with float32
/// master weights; weight gradients go to context.reducer one micro-batch at a time.
class Conv : public torch::nn::Module, public Scripted {
 public:
  explicit Conv(ConvOptions const& options);
  MicroBatches forward(ForwardContext const& context, MicroBatches const& x);
  /// Of the channels of a and b together; of fine grids they are never joined as a whole.
  MicroBatches forward(ForwardContext const& context, MicroBatches const& a, MicroBatches const& b);
  Script script() const override;

  at::Tensor weight;
  at::Tensor bias;  ///< undefined without bias

 private:
  /// @param parts_of_micro_batches  `parts` tensors a micro-batch
  MicroBatches run(ForwardContext const& context, MicroBatches const& parts_of_micro_batches,
                   std::size_t parts);

  ConvOptions options_;
};

/// Fields as convolutions want them: in context.dtype and context.layout.
MicroBatches as_features(ForwardContext const& context, MicroBatches const& fields);

/// Gives every parameter of `module` that was made with Start::uniform its initial values, uniform
/// in +-1/sqrt(fan in), as a pure function of (seed, name of the parameter): a level's weights do
/// not depend on which other levels exist.
void initialise_uniform(torch::nn::Module& module, std::uint64_t seed);

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/forward_context.hpp"

#include <functional>

#include <torch/nn/module.h>

namespace voxcycle {

/// Fields that go into and come out of some layers of a network.
using Fields = std::vector<MicroBatches>;
/// {a, b} for who lets go of them: an initialiser list would hold copies.
Fields two_fields(MicroBatches a, MicroBatches b);
/// These layers; may be called more than once.
using Piece = std::function<Fields(ForwardContext const&, Fields const&)>;

/// piece(pass, inputs). With context.recompute it keeps nothing but its inputs for the backward
/// pass, which runs it again: less memory for the time of one more forward pass (Chen et al. 2016,
/// "Training deep nets with sublinear memory cost"). The second run takes the statistics of the
/// first one: values, gradients and running statistics have the same bits with and without, and
/// ranks sum nothing twice.
/// @param layers  holds all parameters that the piece uses
Fields recomputed(ForwardContext const& context, torch::nn::Module const& layers,
                  Fields const& inputs, Piece const& piece);

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/no_element_launch.hpp"

#include "network/layers/norm_channels.hpp"
#include "network/layers/norm_device.hpp"

namespace voxcycle {
namespace {

[[noreturn]] void refuse() {
  throw Error("normalisation: a tensor is on a GPU, but this voxcycle was " + cuda_problem({}));
}

}  // namespace

namespace norm_loops::on_gpu {

at::Tensor moments(at::Tensor const& /*x*/) {
  refuse();
}

void forward(at::Tensor const& /*x*/, at::Tensor const& /*scale*/, at::Tensor const& /*shift*/,
             double /*leak*/, at::Tensor const& /*y*/) {
  refuse();
}

at::Tensor backward_moments(at::Tensor const& /*dy*/, at::Tensor const& /*x*/,
                            at::Tensor const& /*scale*/, at::Tensor const& /*shift*/,
                            at::Tensor const& /*mean*/, double /*leak*/) {
  refuse();
}

at::Tensor backward(at::Tensor const& /*dy*/, at::Tensor const& /*x*/, at::Tensor const& /*scale*/,
                    at::Tensor const& /*shift*/, at::Tensor const& /*linear*/,
                    at::Tensor const& /*constant*/, double /*leak*/) {
  refuse();
}

}  // namespace norm_loops::on_gpu

template struct ElementLaunches<norm_channels::Jobs>;

}  // namespace voxcycle

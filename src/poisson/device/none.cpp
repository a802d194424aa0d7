// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"

#include "poisson/device.hpp"

namespace voxcycle::on_gpu {
namespace {

[[noreturn]] void refuse() {
  throw Error("a tensor is on a GPU, but this voxcycle was " + cuda_problem({}));
}

}  // namespace

EnergyAndGradient energy_and_gradient(at::Tensor const& /*u*/, at::Tensor const& /*nu*/,
                                      Grid3 const& /*grid*/,
                                      std::optional<at::Tensor> const& /*b*/) {
  refuse();
}

at::Tensor apply_stiffness(at::Tensor const& /*u*/, at::Tensor const& /*nu*/,
                           Grid3 const& /*grid*/) {
  refuse();
}

at::Tensor sum_at_nodes(at::Tensor const& /*voxels*/, Grid3 const& /*grid*/, double /*scale*/) {
  refuse();
}

void chebyshev_step(double /*keep*/, double /*take*/, at::Tensor const& /*inverse*/,
                    at::Tensor const& /*b*/, at::Tensor const& /*k_x*/, at::Tensor const& /*d*/,
                    at::Tensor const& /*x*/) {
  refuse();
}

void divide(at::Tensor const& /*inverse*/, at::Tensor const& /*x*/) {
  refuse();
}

}  // namespace voxcycle::on_gpu

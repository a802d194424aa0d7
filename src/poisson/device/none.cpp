// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/no_element_launch.hpp"

#include "poisson/multigrid/body_points.hpp"
#include "poisson/operator/device.hpp"

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

at::Tensor sample_dots(at::Tensor const& /*a*/, at::Tensor const& /*b*/) {
  refuse();
}

at::Tensor sum_at_nodes(at::Tensor const& /*voxels*/, Grid3 const& /*grid*/, double /*scale*/) {
  refuse();
}

void chebyshev_step(double /*keep*/, double /*take*/, at::Tensor const& /*weights*/,
                    at::Tensor const& /*b*/, at::Tensor const& /*k_x*/, at::Tensor const& /*d*/,
                    at::Tensor const& /*x*/) {
  refuse();
}

void lanczos_step(LanczosSums const& /*sums*/, at::Tensor const& /*scale*/,
                  at::Tensor const& /*k_x*/, at::Tensor const& /*y*/, at::Tensor const& /*other*/,
                  at::Tensor const& /*x*/) {
  refuse();
}

void fill_noise(at::Tensor const& /*x*/, std::int64_t /*first*/) {
  refuse();
}

void divide(at::Tensor const& /*weights*/, at::Tensor const& /*x*/) {
  refuse();
}

at::Tensor restrict_nodes(at::Tensor const& /*r*/, Grid3 const& /*coarse*/) {
  refuse();
}

void add_prolonged(at::Tensor& /*x*/, at::Tensor const& /*e*/) {
  refuse();
}

at::Tensor average_voxels(at::Tensor const& /*nu*/, Grid3 const& /*coarse*/) {
  refuse();
}

at::Tensor restrict_by_weights(at::Tensor const& /*weights*/, at::Tensor const& /*r*/) {
  refuse();
}

void add_prolonged_by_weights(at::Tensor const& /*weights*/, at::Tensor& /*x*/,
                              at::Tensor const& /*e*/) {
  refuse();
}

at::Tensor apply_couplings(at::Tensor const& /*couplings*/, at::Tensor const& /*x*/) {
  refuse();
}

at::Tensor coupling_diagonal(at::Tensor const& /*couplings*/) {
  refuse();
}

void black_box_weights(StencilSource const& /*fine*/, GridCoarsening const& /*coarsening*/,
                       at::Tensor& /*weights*/) {
  refuse();
}

void black_box_couplings(StencilSource const& /*fine*/, at::Tensor const& /*weights*/,
                         at::Tensor& /*couplings*/) {
  refuse();
}

at::Tensor dense_matrices(StencilSource const& /*source*/) {
  refuse();
}

void invert(at::Tensor& /*matrices*/) {
  refuse();
}

}  // namespace voxcycle::on_gpu

template struct voxcycle::ElementLaunches<voxcycle::BodyJobs>;

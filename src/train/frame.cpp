// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/frame.hpp"

#include "voxcycle/poisson/smoother.hpp"

#include "train/network_input.hpp"
#include "train/source_term.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Knows the samples by what the network sees of them.
class EquationSmoother final : public FieldSmoother {
 public:
  /// @param mask  of the free nodes
  EquationSmoother(LossProblem const& problem, at::Tensor mask, int steps)
      : grid_(problem.grid), mask_(std::move(mask)), source_(problem), steps_(steps) {}

  at::Tensor smooth(at::Tensor const& u, at::Tensor const& x) const override {
    auto const fields = fields_of(x, u.scalar_type());
    return smoother(fields.nu).smooth(u, source_.load({u, fields.nu, fields.f, {}}));
  }
  at::Tensor transposed(at::Tensor const& slope, at::Tensor const& x) const override {
    return smoother(fields_of(x, slope.scalar_type()).nu).transposed(slope);
  }

 private:
  Smoother smoother(at::Tensor const& nu) const {
    return {grid_, mask_.to(nu.scalar_type()), nu, steps_};
  }

  Grid3 grid_;
  at::Tensor mask_;
  SourceTerm source_;
  int steps_;
};

}  // namespace

FrameOfGrid frame_of(Boundary const& boundary, Source const& source, int smoothing) {
  return [=](Grid3 const& grid) {
    NodalFrame frame{lift(grid, boundary, at::kFloat), free_node_mask(grid, boundary, at::kFloat)};
    if (smoothing > 0) {
      frame.smoother = std::make_shared<EquationSmoother>(LossProblem{grid, boundary, source},
                                                          frame.mask, smoothing);
    }
    return frame;
  };
}

std::shared_ptr<Network> make_network(NetworkOptions const& options, Boundary const& boundary,
                                      Source const& source) {
  return make_network(options, frame_of(boundary, source, options.smoothing));
}

}  // namespace voxcycle

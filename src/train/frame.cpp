// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/frame.hpp"

#include "voxcycle/network/network_input.hpp"
#include "voxcycle/poisson/chebyshev_steps.hpp"
#include "voxcycle/poisson/nested_equation.hpp"
#include "voxcycle/poisson/smoother.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "train/source_term.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Knows the samples by what the network sees of them.
class EquationSmoother final : public FieldSmoother {
 public:
  /// @param mask  of the free nodes
  EquationSmoother(LossProblem const& problem, at::Tensor mask, ChebyshevSteps steps)
      : grid_(problem.grid), mask_(std::move(mask)), source_(problem), steps_(std::move(steps)) {}

  at::Tensor smooth(at::Tensor const& u, at::Tensor const& x) const override {
    auto const fields = fields_of(x, u.scalar_type());
    return smoother(fields.nu).smooth(u, source_.load(fields.f, u.scalar_type()));
  }
  at::Tensor transposed(at::Tensor const& gradient, at::Tensor const& x) const override {
    return smoother(fields_of(x, gradient.scalar_type()).nu).transposed(gradient);
  }

 private:
  Smoother smoother(at::Tensor const& nu) const {
    return {grid_, mask_.to(nu.scalar_type()), nu, steps_};
  }

  Grid3 grid_;
  at::Tensor mask_;
  SourceTerm source_;
  ChebyshevSteps steps_;
};

class NestedEquationFields final : public NestedFields {
 public:
  explicit NestedEquationFields(NestedEquation equation) : equation_(std::move(equation)) {}

  at::Tensor coarsest() const override { return equation_.coarsest(); }
  at::Tensor prolonged(int level, at::Tensor const& u) const override {
    return equation_.prolonged(level, u);
  }
  at::Tensor restricted(int level, at::Tensor const& gradient) const override {
    return equation_.restricted(level, gradient);
  }
  at::Tensor smooth(int level, at::Tensor const& u) const override {
    return equation_.smooth(level, u);
  }
  at::Tensor smooth_change(int level, at::Tensor const& v) const override {
    return equation_.smooth_change(level, v);
  }
  at::Tensor residual(int level, at::Tensor const& u) const override {
    return equation_.residual(level, u);
  }
  at::Tensor product(int level, at::Tensor const& v) const override {
    return equation_.product(level, v);
  }
  at::Tensor transposed(int level, at::Tensor const& gradient) const override {
    return equation_.transposed(level, gradient);
  }

 private:
  NestedEquation equation_;
};

NestedFieldsOf nested_fields_of(LossProblem const& problem, ChebyshevSteps const& steps) {
  auto const source = std::make_shared<SourceTerm const>(problem);
  return [=](at::Tensor const& x, at::ScalarType type, int levels) {
    auto const fields = fields_of(x, type);
    auto const load = source->load(fields.f, fields.nu.scalar_type());
    return std::make_shared<NestedEquationFields>(
        NestedEquation(problem.grid, problem.boundary, fields.nu, load, {levels, steps}));
  };
}

bool is_nested(NetworkOptions const& network) {
  return network.coarse == CoarseLevels::black_box;
}

}  // namespace

double solution_size(Boundary const& boundary, Source const& source) {
  constexpr double of_unit_source = 1.0 / 8.0;
  double const f = source.kind == SourceKind::sampled ? source_rms : std::abs(source.value);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (Face const& face : boundary.faces) {
    if (face.kind != FaceKind::dirichlet) continue;
    low = std::min(low, face.value);
    high = std::max(high, face.value);
  }
  double const size = std::max(high > low ? high - low : 0.0, of_unit_source * f);
  return size > 0.0 ? size : 1.0;
}

FrameOfGrid frame_of(Boundary const& given, Source const& source, NetworkOptions const& network) {
  return [=, datum = datum_of(given), size = solution_size(given, source),
          boundary = from_datum(given)](Grid3 const& grid, at::Device device) {
    auto const single = at::device(device).dtype(at::kFloat);
    NodalFrame frame{lift(grid, boundary, single), free_node_mask(grid, boundary, single)};
    LossProblem const problem{grid, boundary, source, device};
    auto const steps = smoothing_steps(network.smoothing);
    if (is_nested(network)) {
      frame.nested = nested_fields_of(problem, steps);
    } else if (!steps.empty()) {
      frame.smoother = std::make_shared<EquationSmoother>(problem, frame.mask, steps);
    }
    frame.datum = datum;
    frame.size = size;
    return frame;
  };
}

std::shared_ptr<Network> make_network(NetworkOptions const& options, Boundary const& boundary,
                                      Source const& source) {
  return make_network(options, frame_of(boundary, source, options));
}

}  // namespace voxcycle

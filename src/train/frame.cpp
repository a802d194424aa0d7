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

namespace {

/// has_steps, told by the faces: two Dirichlet faces that meet have different values.
bool has_steps(Boundary const& boundary) {
  for (int a = 0; a < 6; ++a) {
    for (int b = a + 1; b < 6; ++b) {
      auto const& first = boundary.face(a / 2, a % 2);
      auto const& second = boundary.face(b / 2, b % 2);
      bool const meet = a / 2 != b / 2;
      bool const fixed = first.kind == FaceKind::dirichlet && second.kind == FaceKind::dirichlet;
      if (meet && fixed && first.value != second.value) return true;
    }
  }
  return false;
}

}  // namespace

void plan_frames(Tape::Options& tape, Boundary const& boundary, Source const& source,
                 NetworkOptions const& network) {
  std::int64_t const bytes = tape.solution_bytes;
  bool const nested = is_nested(network), smooth = network.smoothing > 0 && !nested;
  tape.has_steps = has_steps(boundary);
  tape.frame = [=](Ledger& ledger, Grid3 const& grid) {
    // Lift and mask; where the solution is float64, the smoother keeps the float32 mask as well.
    std::int64_t a_node = 2 * bytes;
    if (smooth && bytes == 8) a_node += 4;
    bool const loads = source.kind == SourceKind::constant && !source.is_zero();
    if ((smooth || nested) && loads) a_node += 8;  // its load, float64
    return ledger.hold("frame of " + grid.label(), a_node * grid.node_count());
  };
  if (nested) {
    tape.nested.make = [=](Ledger& ledger, Grid3 const& grid, std::int64_t samples,
                           std::int64_t micro_batch, int levels) {
      return NestedEquation::plan({ledger, grid, samples, bytes}, micro_batch, levels,
                                  !source.is_zero());
    };
    tape.nested.smooth = [=](Ledger& ledger, Grid3 const& grid, std::int64_t samples) {
      NestedEquation::plan_smoothing({ledger, grid, samples, bytes});
    };
  }
  if (!smooth) return;
  tape.smoother = [=](Ledger& ledger, Grid3 const& grid, std::int64_t samples) {
    BookedFields const fields{ledger, grid, samples, bytes};
    auto const nu = fields.voxels();  // out of the network's input
    // EquationSmoother's source term, then the smoother; a float32 mask is used as it is.
    auto const mask = bytes == 8 ? fields.common().nodes() : Ledger::Held();
    auto const f = source.kind == SourceKind::sampled ? fields.voxels() : Ledger::Held();
    Smoother::plan(fields);
  };
}

std::shared_ptr<Network> make_network(NetworkOptions const& options, Boundary const& boundary,
                                      Source const& source) {
  return make_network(options, frame_of(boundary, source, options));
}

}  // namespace voxcycle

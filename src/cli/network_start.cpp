// SPDX-License-Identifier: BSD-3-Clause
#include "cli/network_start.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/instruction_set.hpp"
#include "voxcycle/evaluate/evaluation.hpp"
#include "voxcycle/grid/unit_box.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/train/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "cli/options.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// A source counts as the model's if it differs by no more than this.
constexpr double kSourceAgreement = 1e-6;

/// What to divide nu and f by, which changes no solution: networks know nu around 1. A power of
/// two; 1 where 1 is among the values of nu.
double unit_of(at::Tensor const& nu) {
  auto const [least, most] = nu.aminmax();
  if (least.item<double>() <= 1.0 && most.item<double>() >= 1.0) return 1.0;
  return std::exp2(std::round(nu.log2().mean().item<double>()));
}

double longest_edge(Grid3 const& grid) {
  return *std::max_element(grid.lengths.begin(), grid.lengths.end());
}

at::ScalarType usual_precision(Model const& model, at::Device device) {
  auto const trained = parse_precision("train.precision", model.config.text("train.precision"));
  bool const fast = device.is_cuda() || has_bfloat16();
  return trained == at::kBFloat16 && fast ? at::kBFloat16 : at::kFloat;
}

}  // namespace

NetworkStart::NetworkStart(std::string const& checkpoint, at::Device device,
                           std::optional<at::ScalarType> precision)
    : checkpoint_(checkpoint),
      model_(load_model(checkpoint)),
      precision_(precision.value_or(usual_precision(model_, device))),
      comm_(make_self_communicator()) {
  VOXCYCLE_REQUIRE(precision_ == at::kBFloat16 || precision_ == at::kFloat,
                   "a network gives a start for conjugate gradients in bf16 or f32, not in "
                       << precision_name(precision_) << ". Choose one of them.");
  model_.network->to(device);
}

Grid3 NetworkStart::network_grid(Grid3 const& grid) const {
  auto const network = network_options(model_.config);
  std::string reason;
  for (Grid3 coarse = unit_box(grid.voxels);; coarse = coarse.coarsened()) {
    try {
      require_fits(network, coarse);
      return coarse;
    } catch (Error const& problem) {
      if (reason.empty()) reason = problem.what();
    }
    VOXCYCLE_REQUIRE(coarse.divisible(1), checkpoint_ << " fits neither the grid " << grid.label()
                                                      << " nor a coarser one: " << reason
                                                      << " Or solve without a model.");
  }
}

/// What the network sees of f: undefined if its inputs have none. Networks know the unit box: with
/// lengths in units of the longest edge L and nu in units of `unit`, f becomes L^2 f / unit.
at::Tensor NetworkStart::source(Equation const& e, double unit) const {
  Source const& trained = model_.source;
  double const scale = longest_edge(e.problem.grid) * longest_edge(e.problem.grid);
  if (trained.kind == SourceKind::sampled) {
    double const factor = scale / unit;
    return (e.f.defined() ? e.f * factor : at::full_like(e.nu, e.constant * factor)).to(at::kFloat);
  }
  bool const same = !e.f.defined() && std::abs(e.constant * scale - trained.value) <=
                                          kSourceAgreement * std::abs(trained.value);
  VOXCYCLE_REQUIRE(same, checkpoint_ << " was trained for the source f = " << trained.value
                                     << " (lengths in units of the longest edge), and this "
                                        "problem has another. Solve without a model, or train "
                                        "one with sampled sources.");
  return {};
}

at::Tensor NetworkStart::operator()(Equation const& e) const {
  std::lock_guard const lock(one_at_a_time_);
  Grid3 const& fine = e.problem.grid;
  Grid3 const grid = network_grid(fine);
  std::int64_t const block = fine.voxels[0] / grid.voxels[0];
  auto const coarsened = [&](at::Tensor const& field) {
    return block == 1 ? field : at::avg_pool3d(field, {block, block, block});
  };
  // With a fixed source, or fields of the user's in training, nu has a unit already.
  Source const& trained = model_.source;
  bool const fixed = trained.kind == SourceKind::constant && trained.value != 0.0;
  double const unit = fixed || model_.config.text("data.family") == "file" ? 1.0 : unit_of(e.nu);
  at::Tensor f = source(e, unit);
  if (f.defined()) f = coarsened(f);
  at::Tensor const nu = coarsened((unit == 1.0 ? e.nu : e.nu / unit).to(at::kFloat));
  at::Tensor u = predict(*comm_, *model_.network, grid, nu, f, precision_);
  model_.network->frames()->clear();
  if (block > 1) {
    std::vector<std::int64_t> const nodes{fine.nodes(0), fine.nodes(1), fine.nodes(2)};
    u = at::upsample_trilinear3d(u, nodes, /*align_corners=*/true);
  }
  u = u.to(at::kDouble).contiguous();
  set_dirichlet_values(u, fine, model_.boundary);
  return u;
}

}  // namespace voxcycle

// SPDX-License-Identifier: BSD-3-Clause
#include "solver/network_start.hpp"

#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/instruction_set.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/grid/unit_box.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// A source counts as the model's if it differs by no more than this.
constexpr double kSourceAgreement = 1e-6;

/// Over the whole grid.
double mean_of(Space const& space, at::Tensor const& field) {
  at::Tensor const sum = space.sum_of_parts(space.own_voxels(field).sum().view({1}));
  return sum.item<double>() / static_cast<double>(space.slab().whole.voxel_count());
}

/// What to multiply f by, and u with it, where u is linear in f: networks know sources of
/// `size`. A power of two, 1 near it.
double gain_of(Space const& space, at::Tensor const& f, double size) {
  double const rms = std::sqrt(mean_of(space, f.square()));
  bool const sound = rms > 0.0 && std::isfinite(rms);
  return sound ? std::exp2(std::round(std::log2(size / rms))) : 1.0;
}

double longest_edge(Grid3 const& grid) {
  return *std::max_element(grid.lengths.begin(), grid.lengths.end());
}

}  // namespace

double unit_of(at::Tensor const& nu, Space const* part) {
  auto const [minimum, maximum] = nu.aminmax();
  double least = minimum.item<double>(), most = maximum.item<double>();
  if (part != nullptr) {
    least = part->min(least);
    most = part->max(most);
  }
  if (least <= 1.0 && most >= 1.0) return 1.0;
  at::Tensor const logarithms = nu.log2();
  return std::exp2(
      std::round(part == nullptr ? logarithms.mean().item<double>() : mean_of(*part, logarithms)));
}

at::ScalarType usual_precision(Model const& model, at::Device device) {
  bool const has_16_bits = model.precision == at::kBFloat16 || model.precision == at::kHalf;
  if (device.is_cuda() && has_16_bits) {
    auto const& gpu = cuda_report().gpus.at(static_cast<std::size_t>(device.index()));
    return has_bfloat16(gpu) ? model.precision : at::kHalf;
  }
  return model.precision == at::kBFloat16 && has_bfloat16() ? at::kBFloat16 : at::kFloat;
}

NetworkStart::NetworkStart(std::shared_ptr<Model> model, at::Device device,
                           std::optional<at::ScalarType> precision)
    : model_(std::move(model)),
      device_(device),
      precision_(precision.value_or(usual_precision(*model_, device))),
      comm_(make_self_communicator()) {
  VOXCYCLE_REQUIRE(precision_ != at::kDouble,
                   "a network gives a start for conjugate gradients in bf16, f16 or f32, not in "
                       << precision_name(precision_) << ". Choose one of them.");
  std::lock_guard const lock(model_->one_at_a_time);
  model_->network->to(device_);
}

Grid3 NetworkStart::network_grid(Grid3 const& grid) const {
  std::string reason;
  for (Grid3 coarse = unit_box(grid.voxels);; coarse = coarse.coarsened()) {
    try {
      require_fits(model_->options, coarse);
      return coarse;
    } catch (Error const& problem) {
      if (reason.empty()) reason = problem.what();
    }
    VOXCYCLE_REQUIRE(coarse.divisible(1), model_->file << " fits neither the grid " << grid.label()
                                                       << " nor a coarser one: " << reason
                                                       << " Or solve without a model.");
  }
}

/// Networks know the unit box: with lengths in units of the longest edge L and nu in units of
/// `unit`, f becomes L^2 f / unit. Where all Dirichlet values are equal, u less that value is
/// linear in f, so that f may have any size.
NetworkStart::SeenSource NetworkStart::seen_source(Equation const& e, double unit) const {
  Source const& trained = model_->source;
  bool const linear = !model_->boundary.has_different_values();
  double const scale = longest_edge(e.problem.grid) * longest_edge(e.problem.grid) / unit;
  double const value = e.constant * scale;
  if (trained.varies()) {
    at::Tensor const f = e.f.defined() ? e.f * scale : at::full_like(e.nu, value);
    double const gain = linear ? gain_of(e.problem.here(), f, source_size(trained)) : 1.0;
    return {(gain == 1.0 ? f : f * gain).to(at::kFloat), gain};
  }
  bool const uniform = !e.f.defined();
  if (uniform && linear && value != 0.0 && trained.value != 0.0) return {{}, trained.value / value};
  bool const same =
      uniform && std::abs(value - trained.value) <= kSourceAgreement * std::abs(trained.value);
  VOXCYCLE_REQUIRE(same, model_->file << " was trained for the source f = " << trained.value
                                      << " (lengths in units of the longest edge), and this "
                                         "problem has another. Solve without a model, or train "
                                         "one with sampled sources.");
  return {};
}

void NetworkStart::require_runs(Space const& space, Grid3 const& grid) const {
  Slab const& slab = space.slab();
  bool const shares = model_->options.name == "multigrid" &&
                      Slabs{.count = slab.processes()}.cut(grid) &&
                      grid.voxels == slab.whole.voxels;
  VOXCYCLE_REQUIRE(space.is_whole() || shares,
                   model_->file << " does not run on " << slab.processes() << " processes at "
                                << slab.whole.label()
                                << ": that takes network.name = multigrid and a grid above 32^3 "
                                   "that the network fits. Take one process.");
}

/// On the part of the grid that this process has, if several share it out.
at::Tensor NetworkStart::predicted(Space const& space, Grid3 const& grid, at::Tensor const& nu,
                                   at::Tensor const& f) const {
  if (space.is_whole()) return predict(*comm_, *model_->network, grid, nu, f, precision_);
  Slabs const slabs{.count = space.slab().processes()};
  ProcessGrid const together(*space.comm(), slabs);
  return predict_part(together, *model_->network, together.space(grid), nu, f, precision_);
}

at::Tensor NetworkStart::operator()(Equation const& e) const {
  std::lock_guard const lock(model_->one_at_a_time);
  if (device_of(*model_->network) != device_) model_->network->to(device_);  // for another solver
  Space const space = e.problem.here();
  Grid3 const& fine = e.problem.grid;
  Grid3 const grid = network_grid(fine);
  require_runs(space, grid);
  std::int64_t const block = fine.voxels[0] / grid.voxels[0];
  auto const coarsened = [&](at::Tensor const& field) {
    return block == 1 ? field : at::avg_pool3d(field, {block, block, block});
  };
  at::Tensor const positive = without_zeros(e.nu);
  double const unit = model_->has_unit ? 1.0 : unit_of(positive, &space);
  auto [f, gain] = seen_source(e, unit);
  if (f.defined()) f = coarsened(f);
  at::Tensor const nu = coarsened((unit == 1.0 ? positive : positive / unit).to(at::kFloat));
  at::Tensor u;
  try {
    u = predicted(space, grid, nu, f);
  } catch (Error const& problem) {  // values that float32 does not hold
    log_warning(std::string("the network has no solution here: ") + problem.what());
    return {};
  }
  model_->network->problems()->clear();
  if (block > 1) {
    std::vector<std::int64_t> const nodes{fine.nodes(0), fine.nodes(1), fine.nodes(2)};
    u = at::upsample_trilinear3d(u, nodes, /*align_corners=*/true);
  }
  u = u.to(at::kDouble).contiguous();
  if (gain != 1.0) {
    double const datum = datum_of(model_->boundary);
    u.sub_(datum).div_(gain).add_(datum);
  }
  Slab const& slab = space.slab();
  set_dirichlet_values(u, slab.part(), of_part(model_->boundary, slab));
  return u;
}

}  // namespace voxcycle

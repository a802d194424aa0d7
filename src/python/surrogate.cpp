// SPDX-License-Identifier: BSD-3-Clause
#include "python/surrogate.hpp"

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/load_model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/evaluate/export.hpp"
#include "voxcycle/grid/unit_box.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <filesystem>
#include <vector>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/script.h>

namespace voxcycle {
namespace {

std::string checkpoint_of(std::string const& path) {
  return std::filesystem::is_directory(path) ? checkpoint_path(path) : path;
}

void require_field(char const* name, at::Tensor const& field) {
  VOXCYCLE_REQUIRE(
      field.dim() == 5 && field.size(1) == 1 && field.numel() > 0,
      name << " has shape " << field.sizes() << ". Pass [nx, ny, nz] or [B, 1, nx, ny, nz].");
}

void require_inputs(Model const& model, at::Tensor const& nu, at::Tensor const& f) {
  require_field("nu", nu);
  require_fits(model.options, unit_box({nu.size(2), nu.size(3), nu.size(4)}));
  VOXCYCLE_REQUIRE(nu.gt(0).logical_and(nu.isfinite()).all().item<bool>(),
                   "nu has values that are not positive and finite (a network sees its logarithm). "
                   "Pass nu itself, without zeros; voxcycle.solve takes zeros.");
  VOXCYCLE_REQUIRE(f.defined() == model.source.varies(),
                   model.file << (f.defined() ? " takes no source: it was trained for f = " +
                                                    to_string(model.source) + ". Call model(nu)."
                                              : " was trained with a source of each sample. Call "
                                                "model(nu, f)."));
  if (!f.defined()) return;
  require_field("f", f);
  VOXCYCLE_REQUIRE(f.sizes() == nu.sizes(), "f has shape " << f.sizes() << ", nu " << nu.sizes()
                                                           << ". Pass two of one shape.");
  VOXCYCLE_REQUIRE(f.isfinite().all().item<bool>(),
                   "f has values that are not finite. Correct them.");
}

}  // namespace

struct Surrogate::Script {
  torch::jit::Module module;
};

Surrogate::Surrogate(std::string const& checkpoint, std::optional<std::string> const& precision)
    : model_(load_model(checkpoint_of(checkpoint))) {
  if (!precision) return;
  precision_ = parse_precision("precision", *precision);
  VOXCYCLE_REQUIRE(precision_ != at::kDouble,
                   "a model computes in f32, bf16 or f16, not in f64. Choose one of them.");
}

Surrogate::~Surrogate() = default;

/// unit_of each sample, [B, 1, 1, 1, 1].
at::Tensor Surrogate::units_of(at::Tensor const& nu) const {
  at::Tensor const units = at::ones({nu.size(0), 1, 1, 1, 1}, at::kFloat);
  for (std::int64_t k = 0; k < nu.size(0) && !model_->has_unit; ++k) {
    units[k] = unit_of(nu[k].to(at::kDouble));
  }
  return units.to(nu.device());
}

at::Tensor Surrogate::solution(at::Tensor const& nu, at::Tensor const& f) const {
  at::NoGradGuard const no_grad;
  at::Tensor const values = nu.to(at::kFloat).contiguous();
  require_inputs(*model_, values, f);
  std::lock_guard const lock(model_->one_at_a_time);
  if (device_of(*model_->network) != nu.device()) model_->network->to(nu.device());
  at::Tensor const unit = units_of(values);
  at::Tensor const source = f.defined() ? f.to(at::kFloat) / unit : f;
  Grid3 const grid = unit_box({nu.size(2), nu.size(3), nu.size(4)});
  auto const comm = make_self_communicator();
  at::Tensor u = predict(*comm, *model_->network, grid, values / unit, source,
                         precision_.value_or(usual_precision(*model_, nu.device())));
  model_->network->problems()->clear();
  double const datum = datum_of(model_->boundary);
  bool const linear = !model_->source.varies() && model_->source.value != 0.0;
  if (linear && !model_->has_unit) u = (u - datum) / unit + datum;
  if (datum != 0.0) set_dirichlet_values(u, grid, model_->boundary);
  return u.contiguous();
}

Surrogate::Script& Surrogate::script_on(at::Device device) const {
  if (!script_) {
    script_ = std::make_unique<Script>(script_of(*model_->network, export_options(*model_)));
  }
  script_->module.to(device);
  return *script_;
}

std::pair<at::Tensor, at::Tensor> Surrogate::gradients(at::Tensor const& nu, at::Tensor const& f,
                                                       at::Tensor const& of_u) const {
  std::lock_guard const lock(model_->one_at_a_time);
  at::AutoGradMode const with_gradients(true);
  // Optimising the graph takes longer than running it once.
  torch::jit::GraphOptimizerEnabledGuard const as_it_stands(false);
  Script& script = script_on(nu.device());
  std::vector<at::Tensor> of_nu, of_f;
  for (std::int64_t k = 0; k < nu.size(0); ++k) {  // what a sample keeps for its gradient is large
    std::vector<at::Tensor> inputs{nu.narrow(0, k, 1).detach().clone().requires_grad_()};
    if (f.defined()) inputs.push_back(f.narrow(0, k, 1).detach().clone().requires_grad_());
    at::Tensor const u = script.module.forward({inputs.begin(), inputs.end()}).toTensor();
    auto const found = torch::autograd::grad({u}, inputs, {of_u.narrow(0, k, 1).to(u.dtype())});
    of_nu.push_back(found.at(0));
    if (f.defined()) of_f.push_back(found.at(1));
  }
  return {at::cat(of_nu), f.defined() ? at::cat(of_f) : at::Tensor()};
}

}  // namespace voxcycle

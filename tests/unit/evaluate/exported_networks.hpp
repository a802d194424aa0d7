// SPDX-License-Identifier: BSD-3-Clause
// Networks with random weights, their exported models, and inputs of both.
#pragma once

#include "voxcycle/evaluate/export.hpp"
#include "voxcycle/network/network.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/script.h>

namespace voxcycle {

/// Rounding of float32 through some 40 layers, relative to the largest value.
constexpr double kRounding = 1e-5;

/// Faces that meet: shared edges, and values between which the lift is no plain line.
inline char const* const kMixedBoundary = "1, flux, 0.3, flux, -2, 3.1";

inline torch::jit::Module load(std::string const& archive, torch::jit::ExtraFilesMap& files) {
  std::istringstream stream(archive);
  return torch::jit::load(stream, c10::nullopt, files);
}

inline torch::jit::Module load(std::string const& archive) {
  torch::jit::ExtraFilesMap files;
  return load(archive, files);
}

inline Source source_of(std::int64_t inputs) {
  return inputs == 2 ? Source{SourceKind::sampled, 0.0} : Source{SourceKind::constant, -7.0};
}

/// A network of levels 4, 8, 16 or depth 2; "residual": one whose blocks see the residual.
inline NetworkOptions small_options(std::string const& name, int smoothing = 0) {
  bool const residual = name == "residual";
  return {.name = residual ? "multigrid" : name,
          .channels = {{4, 16}, {8, 8}, {16, 4}},
          .correction_scale = 4.0,
          .smoothing = residual ? 0 : smoothing,
          .residual_input = residual,
          .depth = 2,
          .base_channels = 4,
          .cycle_levels = {4, 8, 16}};
}

inline std::shared_ptr<Network> random_network(std::string const& name, Norm norm,
                                               std::int64_t inputs, Boundary const& boundary,
                                               int smoothing = 0,
                                               Adaptation adaptation = Adaptation::no,
                                               CoarseLevels coarse = CoarseLevels::averaged,
                                               std::int64_t directions = 0) {
  auto options = small_options(name, smoothing);
  options.inputs = inputs;
  options.norm = norm;
  options.coarse = coarse;
  options.subspace = directions;
  options.adaptation = adaptation;
  auto const network = make_network(options, boundary, source_of(inputs));
  at::NoGradGuard const no_grad;
  at::manual_seed(3);
  double const size = name == "published" ? 0.1 : 0.3;  // a sigmoid of more is 0 or 1
  for (auto& p : network->parameters()) p.add_(at::randn(p.sizes()), size);
  for (auto& [name_of, b] : network->named_buffers())
    b.copy_(name_of.ends_with("_var") ? at::rand(b.sizes()) + 0.5 : at::randn(b.sizes()));
  return network;
}

inline ExportOptions options_of(Boundary const& boundary, std::int64_t inputs = 1,
                                int smoothing = 0) {
  return {.boundary = boundary,
          .source = source_of(inputs),
          .smoothing = smoothing_steps(smoothing),
          .levels = {8, 16},
          .network = "a \"small\" one",
          .weights = "averaged",
          .version = "1.2.3",
          .config = "network.name = x\n"};
}

/// Cubic voxels.
inline Grid3 box(std::int64_t nx, std::int64_t ny, std::int64_t nz) {
  double const n = static_cast<double>(std::max({nx, ny, nz}));
  auto const length = [&](std::int64_t voxels) { return static_cast<double>(voxels) / n; };
  return {{nx, ny, nz}, {length(nx), length(ny), length(nz)}};
}

struct Fields {
  at::Tensor nu, f;
};

/// Three samples. (A constant one would test rounding: norms of a sample divide by its variance.)
inline Fields random_fields(Grid3 const& grid, std::int64_t inputs) {
  auto const& n = grid.voxels;
  at::Tensor const nu = at::randn({3, 1, n[0], n[1], n[2]}).exp();
  return {nu, inputs == 2 ? at::randn(nu.sizes()) * 8 : at::Tensor()};
}

/// What the model says of its input; "" if it takes it.
inline std::string refusal(torch::jit::Module& model, std::vector<c10::IValue> const& arguments) {
  try {
    model.forward(arguments);
  } catch (std::exception const& error) {
    return error.what();
  }
  return "";
}

}  // namespace voxcycle

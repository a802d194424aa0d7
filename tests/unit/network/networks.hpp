// SPDX-License-Identifier: BSD-3-Clause
// What the tests of networks share.
#pragma once

#include "voxcycle/network/network.hpp"

#include <functional>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle::testing {

/// Lift 1 - x and mask of the default boundary: u = 1 at x = 0, u = 0 at x = 1.
inline LevelProblem default_problem(Grid3 const& grid) {
  return {EquationOptions{}, grid, at::kFloat, at::kCPU};
}

/// Its layers alone: no smoothing, and every level on its own.
inline std::shared_ptr<Network> bare_network(NetworkOptions const& options) {
  return make_network(options, std::make_shared<LevelProblems>());
}

/// Moves every parameter off its start, so that zero heads hide nothing.
inline void perturb(Network& network) {
  at::NoGradGuard const no_grad;
  at::manual_seed(3);
  for (auto& p : network.parameters()) p.add_(at::randn(p.sizes(), p.options()) * 0.3);
  for (auto& statistic : network.buffers()) statistic.add_(0.25);
}

using Parameters = std::map<std::string, at::Tensor>;

inline Parameters named_parameters(Network const& network) {
  auto const all = network.named_parameters();
  return {all.begin(), all.end()};
}

/// The parameters of `prefix`, by their names below it.
inline Parameters below(Parameters const& parameters, std::string const& prefix) {
  Parameters found;
  for (auto const& [name, value] : parameters) {
    if (name.rfind(prefix, 0) == 0) found[name.substr(prefix.size())] = value;
  }
  return found;
}

/// convN -> batch norm of the whole batch -> leaky ReLU, with torch's own operations.
inline at::Tensor plain_conv_norm(Parameters const& p, std::string const& conv,
                                  std::string const& norm, at::Tensor const& x) {
  at::Tensor const y = at::conv3d(x, p.at(conv + ".weight"), {}, 1, 1);
  return at::leaky_relu(at::batch_norm(y, p.at(norm + ".gamma"), p.at(norm + ".beta"), {}, {}, true,
                                       0.1, 1e-5, false),
                        0.1);
}

/// A Block (see block.hpp) with torch's own operations.
inline at::Tensor plain_block(Parameters const& p, at::Tensor const& x) {
  return plain_conv_norm(p, "conv2", "norm2", plain_conv_norm(p, "conv1", "norm1", x));
}

using PlainNetwork = std::function<at::Tensor(Parameters const&, at::Tensor const& log_nu)>;

/// Five samples on 16^3 in units of two, float64: u and all gradients against `plain`, which sees
/// the whole batch and is differentiated by torch. A parameter that `plain` does not read has none.
inline void expect_equals_plain(Network& network, PlainNetwork const& plain,
                                at::MemoryFormat layout = at::MemoryFormat::ChannelsLast3d) {
  constexpr double kRounding = 1e-11;  // float64 through some 20 layers
  network.to(at::kDouble);
  at::manual_seed(9);
  at::Tensor const log_nu = at::randn({5, 1, 16, 16, 16}, at::kDouble);
  at::Tensor const du = at::randn({5, 1, 17, 17, 17}, at::kDouble);

  auto const comm = make_self_communicator();
  std::vector<at::Tensor> parameters;
  Parameters copies;
  for (auto const& [name, value] : network.named_parameters()) {
    parameters.push_back(value);
    copies[name] = value.detach().clone().requires_grad_();
  }
  GradientReducer reducer(*comm, parameters, GradientMode::exact);
  reducer.begin(3);
  ForwardContext const context{.comm = *comm,
                               .reducer = &reducer,
                               .dtype = at::kDouble,
                               .layout = layout,
                               .total_micro_batches = 3,
                               .total_samples = 5};
  MicroBatches const x{log_nu.narrow(0, 0, 2), log_nu.narrow(0, 2, 2), log_nu.narrow(0, 4, 1)};
  auto const u = network.forward(context, Grid3::cube(16), x);
  torch::autograd::backward(u, {du.narrow(0, 0, 2), du.narrow(0, 2, 2), du.narrow(0, 4, 1)});
  reducer.finish();

  at::Tensor const want = plain(copies, log_nu);
  want.backward(du);
  EXPECT_TRUE(at::allclose(at::cat(u), want, kRounding, kRounding));
  for (auto const& [name, value] : network.named_parameters()) {
    auto const& expected = copies.at(name).grad();
    ASSERT_EQ(value.grad().defined(), expected.defined()) << name;
    if (!expected.defined()) continue;
    double const scale = expected.abs().max().item<double>();
    EXPECT_LE((value.grad() - expected).abs().max().item<double>(), kRounding * scale + kRounding)
        << name;
  }
}

}  // namespace voxcycle::testing

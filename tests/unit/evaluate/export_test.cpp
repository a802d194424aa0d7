// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/export.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/train/held_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "exported_networks.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/script.h>

namespace voxcycle {
namespace export_test {

using ::testing::HasSubstr;

void expect_same_values(Network& network, torch::jit::Module& model, Grid3 const& grid,
                        std::int64_t inputs) {
  at::NoGradGuard const no_grad;
  Fields const fields = random_fields(grid, inputs);
  at::Tensor const want =
      predict(*make_self_communicator(), network, grid, fields.nu, fields.f, at::kFloat);
  std::vector<c10::IValue> arguments{fields.nu};
  if (inputs == 2) arguments.push_back(fields.f);
  at::Tensor const found = model.forward(arguments).toTensor();
  ASSERT_EQ(found.sizes(), want.sizes());
  EXPECT_EQ(found.scalar_type(), want.scalar_type());
  double const maximum = want.abs().max().item<double>();
  EXPECT_LE((found - want).abs().max().item<double>(), kRounding * maximum) << grid.name();
  // What is compared is no trivial field.
  EXPECT_GT((want[0] - want[2]).abs().max().item<double>(), 0.01 * maximum);
}

TEST(Export, ComputesWhatTheNetworkDoesOnEveryGridWithEveryNorm) {
  Boundary const boundary = parse_boundary(kMixedBoundary);
  for (std::string const name : {"multigrid", "residual", "published", "unet"}) {
    for (auto norm : {Norm::sync_batch, Norm::group, Norm::instance, Norm::none}) {
      for (std::int64_t inputs : {1, 2}) {
        SCOPED_TRACE(name + " " + to_string(norm) + " " + std::to_string(inputs));
        int const smoothing = name == "residual" ? 1 : static_cast<int>(inputs);
        auto const network = random_network(name, norm, inputs, boundary, smoothing);
        auto model = load(export_network(*network, options_of(boundary, inputs, smoothing)));
        for (auto const& grid : {Grid3::cube(8), Grid3::cube(16), box(8, 16, 12)})
          expect_same_values(*network, model, grid, inputs);
        if (name == "multigrid") expect_same_values(*network, model, box(32, 24, 24), inputs);
        if (name != "unet") expect_same_values(*network, model, box(12, 8, 8), inputs);
      }
    }
  }
}

TEST(Export, NestedGridsAreThoseOfTheNetworkAlsoFrozen) {
  for (std::string const faces : {kMixedBoundary, "1, 0, flux, flux, flux, flux"}) {
    for (std::int64_t inputs : {1, 2}) {
      SCOPED_TRACE(faces + " " + std::to_string(inputs));
      Boundary const boundary = parse_boundary(faces);
      auto const network = random_network("multigrid", Norm::none, inputs, boundary, 3,
                                          Adaptation::no, CoarseLevels::black_box);
      auto model = load(export_network(*network, options_of(boundary, inputs, 3)));
      expect_same_values(*network, model, Grid3::cube(8), inputs);
      expect_same_values(*network, model, Grid3::cube(16), inputs);
      expect_same_values(*network, model, box(8, 16, 12), inputs);
      expect_same_values(*network, model, box(32, 48, 16), inputs);  // above the finest block
      auto frozen = torch::jit::freeze(model);  // takes hours where it can write loops out
      expect_same_values(*network, frozen, Grid3::cube(8), inputs);
    }
  }
}

/// Of models whose levels are nested, too: their matrices follow nu.
TEST(Export, HasGradientsInNu) {
  Boundary const boundary{};
  auto const network = random_network("multigrid", Norm::sync_batch, 1, boundary, 2, Adaptation::no,
                                      CoarseLevels::black_box);
  auto model = load(export_network(*network, options_of(boundary, 1, 2)));
  at::manual_seed(5);
  at::Tensor const nu = at::randn({1, 1, 8, 8, 8}).exp();
  at::Tensor const way = at::randn(nu.sizes()) * nu;
  auto const mean_at = [&](double step) {
    at::NoGradGuard const no_grad;
    return model.forward({nu + step * way}).toTensor().to(at::kDouble).mean().item<double>();
  };
  at::Tensor const variable = nu.clone().set_requires_grad(true);
  model.forward({variable}).toTensor().mean().backward();
  double const gradient = (variable.grad() * way).sum().item<double>();
  constexpr double step = 1e-2;  // larger ones bend, smaller ones drown in float32
  double const difference = (mean_at(step) - mean_at(-step)) / (2 * step);
  EXPECT_GT(std::abs(gradient), 1e-4);
  EXPECT_NEAR(gradient, difference, 0.02 * std::abs(gradient));
}

TEST(Export, CombinesDirectionsAsTheNetworkDoes) {
  Boundary const boundary = parse_boundary(kMixedBoundary);
  for (std::int64_t inputs : {1, 2}) {
    SCOPED_TRACE(inputs);
    auto const network = random_network("multigrid", Norm::none, inputs, boundary, 3,
                                        Adaptation::no, CoarseLevels::black_box, 3);
    auto model = load(export_network(*network, options_of(boundary, inputs, 3)));
    for (std::int64_t n : {4, 8, 16}) expect_same_values(*network, model, Grid3::cube(n), inputs);
    expect_same_values(*network, model, box(8, 16, 12), inputs);
    expect_same_values(*network, model, box(32, 64, 48), inputs);  // above the finest block
  }
}

TEST(Export, LiftAndMaskAreThoseOfTheBoundary) {
  for (std::string const text :
       {"1, 0, flux, flux, flux, flux", kMixedBoundary, "flux, flux, flux, flux, flux, flux",
        "1, 2, 3, 4, 5, 6", "flux, 0.1, flux, flux, flux, 0.7"}) {
    SCOPED_TRACE(text);
    Boundary const boundary = parse_boundary(text);
    auto const network = random_network("unet", Norm::none, 1, boundary);
    auto const model = load(export_network(*network, options_of(boundary)));
    auto frame = model.attr("network").toModule().attr("frame").toModule();
    for (Grid3 const& grid : {Grid3::cube(4), box(4, 8, 6)}) {
      auto const& n = grid.voxels;
      at::Tensor const x = at::zeros({2, 1, n[0], n[1], n[2]});
      at::Tensor const mask = frame.run_method("mask", x).toTensor();
      at::Tensor const lifted = frame.run_method("lift", x).toTensor();
      at::Tensor const want = lift(grid, from_datum(boundary), at::kFloat);
      EXPECT_TRUE(at::equal(mask, free_node_mask(grid, boundary, at::kFloat)));
      EXPECT_TRUE(at::allclose(lifted, want, 1e-6, 1e-6));  // rounding of float32
      at::Tensor const fixed = mask == 0;
      EXPECT_TRUE(at::equal(lifted.masked_select(fixed), want.masked_select(fixed)));
    }
  }
}

/// `steps` Chebyshev-Jacobi steps with the kernel of K u - b, in float64: x_{k+1} = x_k + d_k with
/// the three-term recurrence of the Chebyshev polynomials T_k(centre / radius).
at::Tensor smoothed(at::Tensor u, Grid3 const& grid, Boundary const& boundary, at::Tensor const& nu,
                    at::Tensor const& b, int steps) {
  constexpr double kTop = 1.5;  // of D^-1 K for cubic voxels
  constexpr double kCentre = (kTop + kTop / 4) / 2;
  constexpr double kRadius = (kTop - kTop / 4) / 2;
  at::Tensor const mask = free_node_mask(grid, boundary, at::kDouble);
  at::Tensor const scale = mask / stiffness_diagonal(nu, grid);
  auto const chebyshev = [](int k) { return std::cosh(k * std::acosh(kCentre / kRadius)); };
  at::Tensor before = u;
  for (int k = 0; k < steps; ++k) {
    at::Tensor const z = -energy_and_gradient(u.contiguous(), nu, grid, b).gradient * scale;
    double const a = 2 * kCentre / kRadius * chebyshev(k) / chebyshev(k + 1);
    at::Tensor const after = k == 0 ? u + z / kCentre : before + a * (u - before) + a / kCentre * z;
    before = u;
    u = after;
  }
  return u;
}

TEST(Export, SmoothsWithTheStiffnessMatrix) {
  // The same polynomial in float32, divided by h.
  for (bool const sampled : {false, true}) {
    std::int64_t const inputs = sampled ? 2 : 1;
    constexpr int kSteps = 3;
    auto options = options_of(parse_boundary(kMixedBoundary), inputs);
    options.smoothing = smoothing_steps(kSteps);
    auto const network = random_network("unet", Norm::none, inputs, options.boundary);
    auto const model = load(export_network(*network, options));
    auto frame = model.attr("network").toModule().attr("frame").toModule();
    for (Grid3 const& grid : {Grid3::cube(4), box(4, 8, 6)}) {
      Fields const fields = random_fields(grid, 2);
      at::Tensor x = fields.nu.log();
      if (sampled) x = at::cat({x, fields.f / source_rms}, 1);
      at::Tensor const f =
          sampled ? fields.f.to(at::kDouble) : at::full(fields.nu.sizes(), -7.0, at::kDouble);
      at::Tensor const u = at::randn(grid.node_shape(3), at::kDouble);
      at::Tensor const want = smoothed(u, grid, options.boundary, fields.nu.to(at::kDouble),
                                       load_of_source(f, grid), kSteps);
      at::Tensor const found = frame.run_method("smooth", u.to(at::kFloat), x).toTensor();
      double const maximum = want.abs().max().item<double>();
      EXPECT_LE((found - want).abs().max().item<double>(), kRounding * maximum) << grid.name();
      EXPECT_GT((u - want).abs().max().item<double>(), 0.1 * maximum);
      at::Tensor const fixed =
          (free_node_mask(grid, options.boundary, at::kFloat) == 0).expand_as(u);
      EXPECT_TRUE(at::equal(found.masked_select(fixed), u.to(at::kFloat).masked_select(fixed)));
    }
  }
}

TEST(Export, DirichletValuesAreExact) {
  Boundary const boundary = parse_boundary(kMixedBoundary);
  auto const network = random_network("multigrid", Norm::group, 1, boundary);
  auto model = load(export_network(*network, options_of(boundary)));
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const u = model.forward({random_fields(grid, 1).nu}).toTensor();
  at::Tensor const fixed = (free_node_mask(grid, boundary, at::kFloat) == 0).expand_as(u);
  at::Tensor const want = lift(grid, boundary, u.scalar_type()).expand_as(u);
  EXPECT_TRUE(at::equal(u.masked_select(fixed), want.masked_select(fixed)));
}

TEST(Export, RefusesInputsThatItCannotTake) {
  auto const keyed = random_network("multigrid", Norm::none, 1, Boundary{});
  auto model = load(export_network(*keyed, options_of(Boundary{})));
  EXPECT_EQ(refusal(model, {at::ones({1, 1, 16, 8, 8}, at::kDouble)}), "");
  EXPECT_THAT(refusal(model, {at::ones({1, 1, 32, 32, 32})}),
              HasSubstr("no level for grid 32x32x32. Its largest number of voxels along an axis "
                        "must be one of 4, 8, 16."));
  EXPECT_THAT(refusal(model, {at::ones({1, 1, 16, 6, 8})}), HasSubstr("a multiple of 4."));
  EXPECT_THAT(refusal(model, {at::ones({8, 8, 8})}), HasSubstr("nu has shape [8, 8, 8]"));
  EXPECT_THAT(refusal(model, {at::ones({1, 2, 8, 8, 8})}), HasSubstr("expected [B, 1, nx"));
  EXPECT_THAT(refusal(model, {at::ones({1, 1, 8, 8, 8}, at::kLong)}), HasSubstr("float32"));
  double const infinity = std::numeric_limits<double>::infinity();
  for (double value : {0.0, -1.0, std::nan(""), infinity}) {
    at::Tensor const nu = at::ones({2, 1, 8, 8, 8});
    nu[1][0][3][4][5] = value;
    EXPECT_THAT(refusal(model, {nu}), HasSubstr("not positive and finite")) << value;
  }
  auto const unet = random_network("unet", Norm::instance, 2, Boundary{});
  auto other = load(export_network(*unet, options_of(Boundary{}, 2)));
  auto const cube = [](std::int64_t n) { return at::ones({1, 1, n, n, n}); };
  EXPECT_EQ(refusal(other, {cube(8), cube(8)}), "");
  EXPECT_THAT(refusal(other, {cube(8), cube(16)}), HasSubstr("must be equal"));
  EXPECT_THAT(refusal(other, {cube(6), cube(6)}), HasSubstr("must be a multiple of 4."));
  EXPECT_THAT(refusal(other, {cube(4), cube(4)}), HasSubstr("too coarse"));
  EXPECT_NE(refusal(other, {cube(8)}), "");
}

TEST(Export, DeepenedUnetUsesTheStagesUpToTheGrid) {
  auto const network = random_network("published", Norm::none, 1, {}, 2, Adaptation::deepen);
  auto model = load(export_network(*network, options_of({}, 1, 2)));
  for (std::int64_t n : {4, 8, 16}) expect_same_values(*network, model, Grid3::cube(n), 1);
  EXPECT_THAT(refusal(model, {at::ones({1, 1, 32, 32, 32})}), HasSubstr("double it, up to 16."));
}

TEST(Export, RefusesTheSameGridsAsTheNetwork) {
  std::pair<std::string, int> const cases[]{
      {"multigrid", 0}, {"multigrid", 1}, {"published", 0}, {"unet", 0}};
  for (auto const& [name, smoothing] : cases) {
    auto const network = random_network(name, Norm::sync_batch, 1, Boundary{}, smoothing);
    auto model = load(export_network(*network, options_of(Boundary{})));
    for (std::int64_t nx : {1, 2, 4, 6, 8, 12, 16, 24, 32}) {
      for (std::int64_t ny : {2, 4, 8, 16}) {
        std::string want;
        try {
          require_fits(small_options(name, smoothing), box(nx, ny, 8));
        } catch (Error const& error) {
          want = error.what();
        }
        EXPECT_EQ(refusal(model, {at::ones({1, 1, nx, ny, 8})}).empty(), want.empty())
            << name << ' ' << smoothing << ' ' << nx << ' ' << ny << ' ' << want;
      }
    }
  }
}

TEST(Export, SaysWhatItIs) {
  Boundary const boundary = parse_boundary(kMixedBoundary);
  auto const network = random_network("multigrid", Norm::sync_batch, 1, boundary);
  auto const options = options_of(boundary);
  torch::jit::ExtraFilesMap files{{"metadata.json", ""}, {"config.txt", ""}};
  auto const model = load(export_network(*network, options), files);
  EXPECT_EQ(files["config.txt"], options.config);
  auto metadata = Json::parse(files["metadata.json"]);
  EXPECT_EQ(metadata["config_hash"].get<std::string>().size(), 16U);
  metadata.erase("config_hash");
  EXPECT_EQ(metadata, Json::object({{"levels", {8, 16}},
                                    {"boundary", "1, flux, 0.3, flux, -2, 3.1"},
                                    {"source", "-7"},
                                    {"source_rms", 8.0},
                                    {"network", "a \"small\" one"},
                                    {"weights", "averaged"},
                                    {"voxcycle_version", "1.2.3"}}));
  EXPECT_EQ(model.attr("levels").toIntVector(), options.levels);
  EXPECT_EQ(model.attr("boundary").toStringRef(), kMixedBoundary);
  EXPECT_EQ(model.attr("weights").toStringRef(), "averaged");
  EXPECT_THAT(files["metadata.json"], HasSubstr(model.attr("config_hash").toStringRef()));
  EXPECT_FALSE(model.is_training());
  auto const named = network->named_parameters();
  std::map<std::string, at::Tensor> const values(named.begin(), named.end());
  for (auto const& parameter : model.named_parameters()) {
    ASSERT_EQ(parameter.name.rfind("network.", 0), 0U);
    auto const found = values.find(parameter.name.substr(8));
    ASSERT_NE(found, values.end()) << parameter.name;
    EXPECT_TRUE(at::equal(parameter.value, found->second));
    EXPECT_FALSE(parameter.value.requires_grad());
  }
  EXPECT_EQ(model.named_parameters().size(), values.size());
  EXPECT_EQ(export_network(*network, options), export_network(*network, options));
}

}  // namespace export_test
}  // namespace voxcycle
